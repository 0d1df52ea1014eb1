"""The type of a DAG's schedule: a cron text, an interval, a timetable, assets. For type checkers alone."""

from __future__ import annotations

from airflow.sdk.definitions.dag import ScheduleArg

__all__ = ["ScheduleArg"]
