"""Observe: what is on a queue, browsed into a snapshot. In one process here, on Spark in `spark`; `core` is pure."""
