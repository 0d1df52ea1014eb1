"""Retention: what of old runs is removed from the lake, and what never is. `core` decides; the shells remove."""
