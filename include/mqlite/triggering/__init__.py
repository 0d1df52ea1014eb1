"""Trigger events and trigger messages."""
