"""Where things stand: the estate file, the Spark entry points, the switches that the environment carries."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import get_parsing_context

from mqops.estate import EstateFile, load

ROOT = Path(__file__).resolve().parents[2]


def estate_path() -> Path:
    """The estate file: $MQOPS_ESTATE, else `include/estate.yaml`."""
    return Path(os.environ.get("MQOPS_ESTATE") or ROOT / "include" / "estate.yaml")


def estate_file() -> EstateFile:
    """The estate as it stands now.

    Raises:
        SettingsError: with every error of the file.
    """
    return load(estate_path())


def spark_job(name: str) -> str:
    """Path of a Spark entry point."""
    return str(ROOT / "spark_jobs" / f"{name}.py")


def asked_for(dag_id: str) -> bool:
    """Whether the DAG is made: by the DAG processor each one, by a task only its own ("Optimizing DAG parsing delays
    during execution" of Airflow's manual). A large estate does not make each task start more slowly."""
    return get_parsing_context().dag_id in (None, dag_id)


def schedule_of(schedule: str | timedelta | None) -> str | timedelta | None:
    """The schedule, or None while MQOPS_SCHEDULES=off holds all of them back (demonstration, maintenance)."""
    return None if os.environ.get("MQOPS_SCHEDULES") == "off" else schedule


def lake(estate: EstateFile) -> Path:
    """The folder of snapshots, plans and ledgers."""
    return estate.lake(os.environ)
