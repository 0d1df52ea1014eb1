"""`<queue manager>_trigger_monitor`: trigger messages start the DAGs that PROCESS definitions name."""

from mqops_airflow.dag_files import trigger_monitor

globals().update(trigger_monitor.dags())
