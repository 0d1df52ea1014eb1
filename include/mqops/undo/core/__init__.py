"""What can be undone. Pure."""
