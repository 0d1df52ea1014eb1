"""The assets that workflows produce, so that other DAGs can be scheduled on them."""

from __future__ import annotations

from airflow.sdk import Asset

from mqops.estate_sections import dag_prefix

KINDS = ("snapshot", "plan", "report")


def workflow_asset(queue_manager: str, workflow: str, kind: str) -> Asset:
    """The asset of one kind (`KINDS`) of one workflow on one queue manager; a run's summary is its event's extra."""
    if kind not in KINDS:
        raise ValueError(f"{kind} is not one of {', '.join(KINDS)}")
    prefix = dag_prefix(queue_manager)
    return Asset(name=f"{prefix}_{workflow}_{kind}", uri=f"x-mqops://{prefix}/{workflow}/{kind}", group="mqops")
