"""`mq_lake_retention`: what old runs no longer need is removed from the lake, as `retention` of the estate says."""

from mqops_airflow.dag_files import lake_retention

globals().update(lake_retention.dags())
