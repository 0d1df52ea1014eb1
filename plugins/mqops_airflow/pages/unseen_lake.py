"""Whether the API server sees the lake of the tasks: a run of Airflow that worked with files has a folder there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sqlalchemy import select, tuple_

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.lake.shared import MOUNT
from mqops.look.estate.problem import Problem
from mqops_airflow.airflow_private.database import DagRun, TaskInstance, TaskInstanceState, create_session
from mqops_airflow.pages.not_yet import BEHIND_THE_FIRST
from mqops_airflow.pages.security import own_dags
from mqops_airflow.pages.shared import shared
from mqops_airflow.runs.run_folder import folders, run_key
from mqops_airflow.runs.workplace import lake

LOOKED_AT = 50
"""Runs of Airflow, the newest ones: a lake that is not shared has none of them."""


def unseen(estate: EstateFile, names: tuple[str, ...]) -> Mapping[str, Problem]:
    """Queue manager → that the lake of its tasks is another one than the pages', by its newest run that has worked with
    files."""
    own = own_dags(estate)
    dags = tuple((dag_id, name) for name in names for dag_id in own[name])
    return _unseen(lake(estate), dags)


@shared
def _unseen(place: Path, dags: tuple[tuple[str, str], ...]) -> Mapping[str, Problem]:
    """Parameters: `place` the lake; `dags` each DAG with its queue manager."""
    of = dict(dags)
    found: dict[str, Problem] = {}
    seen = set[str]()
    for dag_id, run_id in _newest(tuple(of)):
        name = of[dag_id]
        if name in seen:
            continue
        seen.add(name)
        with suppress(MqopsError):  # told as a problem of its own
            if not folders(place, name, run_key(dag_id, run_id)):
                what = (
                    f"These pages do not see the files of run {run_id} of {dag_id}, with which its tasks have worked: "
                    "the lake of Airflow's API server is not the one of the tasks, so what stands here may be wrong"
                )
                found[name] = Problem(what=what, remedy=f"{MOUNT}. Or somebody removed the run's folder")
    return found


def _newest(dag_ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """The newest runs of these DAGs that have worked with files: DAG and run, the newest first."""
    if not dag_ids:
        return []
    with create_session() as session:
        newest = select(DagRun.dag_id, DagRun.run_id).where(DagRun.dag_id.in_(dag_ids))
        runs = [(row.dag_id, row.run_id) for row in session.execute(newest.order_by(DagRun.id.desc()).limit(LOOKED_AT))]
        worked = select(TaskInstance.dag_id, TaskInstance.run_id).where(
            tuple_(TaskInstance.dag_id, TaskInstance.run_id).in_(runs),
            TaskInstance.task_id.in_(BEHIND_THE_FIRST),
            TaskInstance.state == TaskInstanceState.SUCCESS,
        )
        have = {(row.dag_id, row.run_id) for row in session.execute(worked)} if runs else set()
    return [run for run in runs if run in have]
