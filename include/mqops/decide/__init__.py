"""Decide: a snapshot and a rules table give a plan. In one process here, on Spark in `spark`; `core` is pure."""
