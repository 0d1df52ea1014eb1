"""Which estate, lake and run folder a DAG run has, and the files of its plan."""
