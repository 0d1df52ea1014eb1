"""Which files of which runs are due to be removed. Pure."""
