"""Airflow's tables and the words of their columns: in the API server, and in listeners that see the database."""

from __future__ import annotations

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, State, TaskInstanceState
from airflow.utils.types import DagRunType

__all__ = [
    "DagModel",
    "DagRun",
    "DagRunState",
    "DagRunType",
    "Log",
    "State",
    "TaskInstance",
    "TaskInstanceState",
    "XComModel",
    "create_session",
]
