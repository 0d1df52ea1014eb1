"""The steps of a run in plain Python, without Spark: observe, act, prove, and all of them for `mqops dlq run`."""
