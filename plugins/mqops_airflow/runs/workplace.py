"""Where things stand: the estate file, the DAGs that follow from it, and the switches that the environment carries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
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

    from mqops_airflow.airflow_private.dag import ScheduleArg

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


def schedule_of(dag_id: str, schedule: str | timedelta | None) -> ScheduleArg:
    """The schedule of a DAG: that of the DAG file (`own_schedules`), else of the estate; None while MQOPS_SCHEDULES=off
    holds all of them back (demonstration, maintenance).

    :param schedule: what the estate says.
    """
    own = _OWN.get()
    _MET.get().add(dag_id)
    return None if os.environ.get("MQOPS_SCHEDULES") == "off" else own.get(dag_id, schedule)


_OWN: ContextVar[Mapping[str, ScheduleArg]] = ContextVar("own schedules", default=MappingProxyType({}))
_MET: ContextVar[set[str]] = ContextVar("DAGs that were asked for", default=set())  # noqa: B039 - nobody reads this one


@contextmanager
def own_schedules(schedules: Mapping[str, ScheduleArg]) -> Iterator[None]:
    """DAGs that are made meanwhile have these schedules.

    :param schedules: id of a DAG → any schedule of Airflow's; None for runs by hand only.

    Raises:
        SettingsError: one of them is for a DAG that was not made, or that has no schedule.
    """
    met: set[str] = set()
    given, asked = _OWN.set(schedules), _MET.set(met)
    try:
        yield
    finally:
        _OWN.reset(given)
        _MET.reset(asked)
    whole = get_parsing_context().dag_id is None  # a task makes its own DAG alone
    if whole and (unknown := sorted({*schedules} - met)):
        there = f"; there are {', '.join(sorted(met))}" if met else ""
        raise SettingsError(f"schedules: no DAG with a schedule is called {', '.join(unknown)} here{there}")


def lake(estate: EstateFile) -> Path:
    """The folder of snapshots, plans and ledgers."""
    return estate.lake(os.environ)
