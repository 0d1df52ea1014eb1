"""Triggering: why a queue makes a trigger message, or none."""
