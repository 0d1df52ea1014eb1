"""Observe on Spark: the data source `mq`."""
