"""`<queue manager>_expiry_scan` at the interval of the estate, and `mq_refresh_expiry` by hand."""

from mqops_airflow.dag_files import expiry_scan

globals().update(expiry_scan.dags())
