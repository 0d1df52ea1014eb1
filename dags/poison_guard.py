"""`<queue manager>_poison_guard`: messages that loop on the input queues of each queue manager of the estate."""

from mqops_airflow.dag_files import poison_guard

globals().update(poison_guard.dags())
