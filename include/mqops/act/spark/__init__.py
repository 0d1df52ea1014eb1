"""Act on Spark: the lanes of the approved plan, spread over the tasks."""
