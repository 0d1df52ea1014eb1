"""`mq_trigger_explain`: why a queue triggers, or not, by hand with a form."""

from mqops_airflow.dag_files import trigger_explain

globals().update(trigger_explain.dags())
