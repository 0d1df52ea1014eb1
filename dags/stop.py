"""`mq_stop`: the kill switch. Stops acting on a run or on a queue manager, by hand, and lets it go on."""

from mqops_airflow.dag_files import stop

globals().update(stop.dags())
