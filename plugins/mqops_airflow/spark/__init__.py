"""Spark entry points: how they are submitted, or sent to a Spark Connect server."""
