"""The service of a queue manager (`mqlite start`): channels and timers."""
