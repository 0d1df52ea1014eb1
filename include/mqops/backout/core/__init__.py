"""What backout reprocessing decides. Pure."""
