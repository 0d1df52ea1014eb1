"""Definitions of a queue manager: its folder, its objects, name resolution, queue-sharing groups."""
