"""`<queue manager>_backout_reprocess`: the backout queues of each queue manager of the estate, by its rules table."""

from mqops_airflow.dag_files import backout_reprocess

globals().update(backout_reprocess.dags())
