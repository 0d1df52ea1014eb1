"""`mq_recover`: chosen messages are replayed, moved, copied, parked or discarded, or a run is undone, by hand."""

from mqops_airflow.dag_files import recover

globals().update(recover.dags())
