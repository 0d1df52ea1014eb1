"""The text format, and which messages of a file are put. Pure."""
