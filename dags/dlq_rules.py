"""`<queue manager>_dlq_rules`: the dead-letter queue of each queue manager of the estate, by its rules table."""

from mqops_airflow.dag_files import dlq_rules

globals().update(dlq_rules.dags())
