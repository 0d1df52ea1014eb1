"""`mq_undo`: puts back what a run moved and discarded, by hand, after a person has approved the plan."""

from mqops_airflow.dag_files import undo

globals().update(undo.dags())
