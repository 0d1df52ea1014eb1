"""`<queue manager>_snapshot`: the queues of each queue manager, copied into the lake."""

from mqops_airflow.dag_files import snapshot

globals().update(snapshot.dags())
