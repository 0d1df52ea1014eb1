"""`mq_daily_notice`: once a day people are told what needs one of them, as `notify.daily` of the estate says."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops.estate_sections import Notify
from mqops_airflow.forms import params
from mqops_airflow.notices.notify import usable
from mqops_airflow.operators.daily_notice import DailyNoticeOperator
from mqops_airflow.runs.workplace import estate_file, schedule_of
from mqops_airflow.workflows.dag import made
from mqops_airflow.workflows.documentation import DAILY_NOTICE

DAG_ID = "mq_daily_notice"


def build(notify: Notify, schedule: str) -> DAG:
    """The DAG of an estate. Raises `SettingsError`: its notifier is none."""
    usable(notify)
    with made(
        DAG_ID,
        "notify",
        description="Tell people what needs one of them",
        page=DAILY_NOTICE,
        schedule=schedule_of(DAG_ID, schedule),
        at_once=1,
        form={"dry_run": params.dry_run()},
    ) as dag:
        DailyNoticeOperator(task_id="tell")
    return dag


def dags() -> dict[str, DAG]:
    """The DAG by its id; none where the estate has no `notify.daily`."""
    notify = estate_file().estate.notify
    return {DAG_ID: build(notify, notify.daily.schedule)} if notify and notify.daily else {}
