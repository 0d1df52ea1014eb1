"""Who may see what: Airflow's own login and its rights for each DAG.

1. Without a login every route answers 401.
2. A person sees a queue manager if he may read one of its DAGs: the page's right (`Right`), as Airflow's auth manager
   has it. Who sees none gets 403, and so does who names one that he does not see or that the estate does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.configuration import conf
from fastapi import Depends, HTTPException, Request

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.estate import EstateFile
from mqops.estate_block import Section
from mqops.estate_parts import MANAGERS, SECTIONS
from mqops.estate_sections import dag_prefix
from mqops.kept import kept
from mqops.look.words.text import Name, Text, joined, said
from mqops_airflow.airflow_private.database import DagModel
from mqops_airflow.airflow_private.server import (
    BaseUser,
    DagAccessEntity,
    DagDetails,
    ResourceMethod,
    bearer_scheme,
    get_auth_manager,
    get_user,
)
from mqops_airflow.pages.frames import USER
from mqops_airflow.pages.shared import shared
from mqops_airflow.runs.dags_for_all import FOR_ALL
from mqops_airflow.runs.workplace import estate_to_look
from mqops_airflow.ui.table import Right

NOT_YOURS = "You may not see this queue manager, or the estate has none of this name."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A person who has logged in, with the person's rights.

    Parameters: `queue_managers` of the estate that the person may see with the page's right; at least one. `problems`
    of the estate file that the person may see; `left_out` the queue managers that the person may see and whose settings
    are not valid.
    """

    user: Any
    right: Right
    estate: EstateFile
    queue_managers: tuple[str, ...] = field(default=())
    problems: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def queue_manager(self, name: str = "") -> str:
        """The queue manager of that name, the first one without a name.

        Raises:
            HTTPException: 403, the person may not see it.
            SettingsError: its settings are not valid.
        """
        if name in self.left_out:
            raise SettingsError(*self.problems)
        if name and name not in self.queue_managers:
            raise HTTPException(403, NOT_YOURS)
        return name or self.queue_managers[0]

    def of_dag(self, dag_id: str) -> str:
        """The queue manager of a DAG, "" for a DAG of none or of several queue managers. Raises `HTTPException` 403."""
        for name, dags in own_dags(self.estate).items():
            if dag_id in dags:
                self.must_read(dag_id)
                return self.queue_manager(name)
        return ""

    @property
    def left_out_parts(self) -> list[str]:
        """The parts of the estate that are not valid and that the person may see: queue managers, sections."""
        seen = {*self.queue_managers, *self.left_out}
        parts = [part for part in self.estate.left_out if part[:1] != (MANAGERS,) or part[1] in seen]
        return [" ".join(part[1:] or part) for part in parts]

    @property
    def what_holds(self) -> Text:
        """The sentence about what follows from errors in the estate file."""
        if self.estate.outdated:
            return said(
                "It cannot be used. These pages show the estate as it was read last, no DAG but mq_stop can be "
                "started, and nobody sees a payload."
            )
        parts = joined(", ", map(Name, self.left_out_parts))
        return said("What is not valid has no DAGs and no pages until it is mended: {}.", parts)

    def must_read(self, dag_id: str) -> None:
        """Raises `HTTPException` 403 unless the person may read this DAG with the page's right."""
        if not self.may_read(dag_id):
            raise HTTPException(403, "You may not read this DAG.")

    def may_read(self, dag_id: str) -> bool:
        """Whether the person may read this DAG with the page's right."""
        return may(self.user, dag_id, entity=self.right)

    def may_start(self, dag_id: str) -> bool:
        """Whether the person may start runs of a DAG: pages show the form only then. Airflow's API asks again."""
        return may(self.user, dag_id, method="POST", entity="RUN")

    def may_clear(self, dag_id: str) -> bool:
        """Whether the person may clear tasks of a DAG's runs."""
        return may(self.user, dag_id, method="PUT", entity="TASK_INSTANCE")

    def may_answer(self, dag_id: str) -> bool:
        """Whether he may answer the questions of a DAG."""
        return may_answer(self.user, dag_id)


async def person(request: Request) -> BaseUser:
    """The person: whom the API server has let in and named in the scope (`mqops_airflow.pages.frames`), else who logs
    in with the request itself. No `dependency_overrides` of FastAPI: with one, each request makes all dependencies of
    its route anew. Raises `HTTPException` 401."""
    if USER in request.scope:
        found: BaseUser = get_auth_manager().deserialize_user(request.scope[USER])
        return found
    return await get_user(request, None, await bearer_scheme(request))


def reader(right: Right) -> Any:
    """The dependency of a route that needs this right: the person with the rights."""
    return Depends(_reader(right))


def _reader(right: Right) -> Callable[..., Reader]:
    def found(user: Any = Depends(person)) -> Reader:  # noqa: B008 - FastAPI's way
        estate = estate_to_look()
        managers = own_dags(estate)
        seen = tuple(
            name
            for name, dags in managers.items()
            if any(may(user, dag_id, entity=right) for dag_id in dags or FOR_ALL)
        )
        if not seen:
            raise HTTPException(403, "You may not see any queue manager of the estate.")
        left_out = tuple(name for name in estate.named if name not in managers and _may_see_left_out(user, name, right))
        problems = _problems(estate, {*seen, *left_out})
        return Reader(user=user, right=right, estate=estate, queue_managers=seen, problems=problems, left_out=left_out)

    return found


def _may_see_left_out(user: Any, name: str, right: Right) -> bool:
    """Whether a person may read one of the DAGs that a queue manager can have. Which DAGs it has cannot be known."""
    return any(may(user, f"{dag_prefix(name)}_{workflow}", entity=right) for workflow in sorted(SECTIONS))


def _problems(estate: EstateFile, seen: Collection[str]) -> tuple[str, ...]:
    """The problems of the estate file; of queue managers that the person may not see only their number."""
    told, others = [], 0
    for text, place in zip(estate.problems, estate.places, strict=True):
        if place[:1] == (MANAGERS,) and len(place) > 1 and place[1] not in seen:
            others += 1
        else:
            told.append(text)
    hidden = f"{counted(others, 'more error')} of queue managers that you may not see"
    return (*told, hidden) if others else tuple(told)


@kept(most=4)
def own_dags(estate: EstateFile) -> Mapping[str, tuple[str, ...]]:
    """Queue manager → the ids of the DAGs that are its alone. As long as the estate file has the same text, it is the
    same `EstateFile`: each page asks for the DAGs of all queue managers."""
    return {
        name: tuple(f"{dag_prefix(name)}_{workflow}" for workflow, _ in settings.workflows(Section))
        for name, settings in estate.estate.queue_managers.items()
    }


def may_answer(user: Any, dag_id: str) -> bool:
    """Whether the person may answer the questions of a DAG."""
    return may(user, dag_id, method="PUT", entity="HITL_DETAIL")


def may(user: Any, dag_id: str, *, method: ResourceMethod = "GET", entity: str = "") -> bool:
    """Whether Airflow's auth manager lets a person use a method on a DAG.

    Parameters: `entity` a name of Airflow's `DagAccessEntity`, "" for the DAG itself.
    """
    team = DagModel.get_team_name(dag_id) if _has_teams() else None
    return get_auth_manager().is_authorized_dag(
        method=method,
        access_entity=DagAccessEntity[entity] if entity else None,
        details=DagDetails(id=dag_id, team_name=team),
        user=user,
    )


@shared
def _has_teams() -> bool:
    """Whether DAGs have teams. A page asks for the rights on hundreds of DAGs."""
    return bool(conf.getboolean("core", "multi_team"))
