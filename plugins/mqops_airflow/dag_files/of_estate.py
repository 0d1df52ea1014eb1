"""The DAGs of an estate, for a DAG file of your own. This is public: its names and meaning stay.

    from mqops_airflow import estate_dags

    globals().update(estate_dags("estate.yaml"))

They are ordinary DAGs: a task of your own before or behind theirs is put there by Airflow's own means. docs/own_dags.md
has an example.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from airflow.sdk import DAG

from mqops.errors import SettingsError
from mqops.printable import printable
from mqops_airflow.runs.workplace import estate_file, estate_path, name_estate, own_schedules

if TYPE_CHECKING:
    from mqops_airflow.airflow_private.dag import ScheduleArg

WORKFLOWS = (
    "dlq_rules",
    "backout_reprocess",
    "poison_guard",
    "expiry_scan",
    "trigger_monitor",
    "snapshot",
    "snapshot_quality",
    "recover",
    "undo",
    "stop",
    "lake_retention",
    "daily_notice",
    "trigger_explain",
)
"""Each has a module beside this one. `expiry_scan` brings `mq_refresh_expiry`, too."""
ERRORS = "estate_errors"
"""Not a workflow: has no DAG, and raises what is wrong with the estate file."""
NO_SCHEDULES: Mapping[str, ScheduleArg] = MappingProxyType({})
"""Those of the estate hold."""
KILL_SWITCH = "stop"
"""In a DAG file of its own it is there also while the estate file cannot be used."""


def estate_dags(
    estate: str | Path | None = None,
    *,
    workflows: Collection[str] = WORKFLOWS,
    schedules: Mapping[str, ScheduleArg] = NO_SCHEDULES,
) -> dict[str, DAG]:
    """The DAGs of an estate by their ids, for `globals().update(...)` in a DAG file.

    An error of a queue manager takes away the DAGs of that one alone; it is logged, and the page *Estate* shows it. A
    DAG file with `workflows=["estate_errors"]` shows it as an import error.

    :param estate: the estate file; a relative path starts at the folder of the calling DAG file. None: $MQOPS_ESTATE,
        else `estate.yaml` in Airflow's folder of DAGs. An Airflow has one estate: where the file is not that one, set
        MQOPS_ESTATE for all of its processes, since the pages have no DAG file to read.
    :param workflows: names of `WORKFLOWS`, or `estate_errors`.
    :param schedules: id of a DAG → its schedule, in place of the estate's: whatever Airflow takes (a cron text, a
        timetable, assets); None for runs by hand only.

    Raises:
        SettingsError: nothing of the estate can be used, or MQOPS_ESTATE names another file, or there is no such
            workflow, or no DAG of a name in `schedules`.
    """
    if unknown := sorted({*workflows} - {*WORKFLOWS, ERRORS}):
        raise SettingsError(f"there is no workflow {', '.join(unknown)}; there are {', '.join(WORKFLOWS)}")
    caller = Path(sys._getframe(1).f_globals.get("__file__") or ".").resolve().parent
    name_estate(estate_path().absolute() if estate is None else caller / estate)
    if {*workflows} - {ERRORS, KILL_SWITCH}:
        for problem in estate_file().problems:
            logging.getLogger(__name__).error("%s", printable(problem))
    found: dict[str, DAG] = {}
    with own_schedules(schedules):
        for name in workflows:
            found |= import_module(f"mqops_airflow.dag_files.{name}").dags()
    return found
