"""Which messages make a unit of work, what its marker says, where a lane goes on. Pure."""
