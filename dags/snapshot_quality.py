"""`<queue manager>_snapshot_quality`: messages on each queue manager's queues, by suites of expectations."""

from mqops_airflow.dag_files import snapshot_quality

globals().update(snapshot_quality.dags())
