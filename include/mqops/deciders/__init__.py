"""The workflows on the command line: each is the five steps with its own way to decide."""
