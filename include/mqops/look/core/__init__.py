"""What the files of a run, and the bytes of a message, mean. Pure."""
