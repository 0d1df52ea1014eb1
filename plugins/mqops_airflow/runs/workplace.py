"""Where things stand: the estate file, the DAGs that follow from it, and the switches that the environment carries."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.sdk import get_parsing_context

from mqops import estate_before
from mqops.errors import SettingsError
from mqops.estate import EstateFile, load_usable
from mqops.estate_sections import Estate, QueueManager, dag_prefix
from mqops.storage import ESTATE
from mqops_airflow.connections import body_keys

if TYPE_CHECKING:
    from airflow.sdk import DAG

VARIABLE = "MQOPS_ESTATE"
body_keys.install()  # whatever reads or writes the lake in Airflow's processes finds it by way of this module


def estate_path() -> Path:
    """The estate file: $MQOPS_ESTATE, else `estate.yaml` in the folder of Airflow's DAGs. (mqops that runs from its
    sources has that of the sources.)"""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    return ESTATE if ESTATE.exists() else Path(conf.get("core", "dags_folder")) / ESTATE.name


def name_estate(path: Path) -> None:
    """Have this process, and the jobs that it starts, use this estate file.

    Raises:
        SettingsError: MQOPS_ESTATE names another one.
    """
    given = os.environ.get(VARIABLE)
    if given and Path(given).resolve() != path.resolve():
        raise SettingsError(
            f"the DAG file asks for the estate {path}, and {VARIABLE} is {given}: Airflow's pages show that one. Name "
            "the same file in both, or leave one of them out"
        )
    os.environ[VARIABLE] = str(path)


def estate_file() -> EstateFile:
    """The estate as it stands now, as far as it can be used: an error of a queue manager takes away that one alone.

    Raises:
        SettingsError: nothing of it can be used; with every error of the file.
    """
    found = load_usable(estate_path())
    estate_before.keep(found, lake(found))
    return found


def estate_to_look() -> EstateFile:
    """The estate for those who look or stop: as it could be used last where the file cannot be used now.

    Raises:
        SettingsError: it never could be.
    """
    try:
        return estate_file()
    except SettingsError as problem:
        return estate_before.before(estate_path(), os.environ, problem)


def dags_of(workflow: str, build: Callable[[str, QueueManager, Any], DAG], estate: Estate) -> dict[str, DAG]:
    """The DAGs of a workflow by their ids: one for each queue manager that has its section in the estate.

    The DAG processor gets all of them, a task only its own ("Optimizing DAG parsing delays during execution" of
    Airflow's manual). A large estate does not make each task start more slowly.

    :param workflow: its name, which is that of the section.
    :param build: makes the DAG of a queue manager from its name, its settings and the section.
    """
    found = {}
    for name, settings in estate.queue_managers.items():
        dag_id, section = f"{dag_prefix(name)}_{workflow}", getattr(settings, workflow)
        if section and get_parsing_context().dag_id in (None, dag_id):
            found[dag_id] = build(name, settings, section)
    return found


def schedule_of(schedule: str | timedelta | None) -> str | timedelta | None:
    """The schedule, or None while MQOPS_SCHEDULES=off holds all of them back (demonstration, maintenance)."""
    return None if os.environ.get("MQOPS_SCHEDULES") == "off" else schedule


def lake(estate: EstateFile) -> Path:
    """The folder of snapshots, plans and ledgers."""
    return estate.lake(os.environ)
