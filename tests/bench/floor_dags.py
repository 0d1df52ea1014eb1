"""A DAG of bench_form.py: the tasks of a dead-letter run with its question, and none of them does anything."""

from __future__ import annotations

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, chain, task


def nothing() -> None:
    """Do nothing, in a process of a task's own: Airflow itself marks an EmptyOperator as done."""


with DAG("floor", schedule=None, params={"dry_run": False}):
    before = [task(task_id=name)(nothing)() for name in ("check", "observe", "decide", "route")]
    behind = [task(task_id=name)(nothing)() for name in ("act", "prove")]
    chain(*before, ApprovalOperator(task_id="approve", subject="Approve the plan?"), *behind)
