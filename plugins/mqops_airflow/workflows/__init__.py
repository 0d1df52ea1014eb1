"""What the DAG files are made of: the tasks of a workflow with a plan, their documentation, assets and retries."""
