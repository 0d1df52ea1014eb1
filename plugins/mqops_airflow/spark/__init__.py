"""Spark entry points: submitted, or run in the task as clients of a Spark Connect server."""
