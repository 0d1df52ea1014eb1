"""`mq_daily_notice`: once a day people are told what needs one of them, as `notify.daily` of the estate says."""

from mqops_airflow.dag_files import daily_notice

globals().update(daily_notice.dags())
