"""Decide on Spark: rules as column expressions, the same plan and digest as `mqops.decide.in_process`."""
