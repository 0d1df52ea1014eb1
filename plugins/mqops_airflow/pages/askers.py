"""The words for who or what asks for a run where no person is named."""

from __future__ import annotations

from collections.abc import Mapping

from mqops_airflow.airflow_private.database import DagRunType

ASKERS: Mapping[str, str] = {
    DagRunType.SCHEDULED: "its schedule",
    DagRunType.MANUAL: "a person whom Airflow does not name",
    DagRunType.BACKFILL_JOB: "a backfill",
    DagRunType.ASSET_TRIGGERED: "the event of an asset",
    DagRunType.OPERATOR_TRIGGERED: "a task of another DAG",
}
"""Kind of run, which stands for a person where none started it (`approval.four_eyes.requester`) → words."""
