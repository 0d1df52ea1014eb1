"""The page `runs`: every run of the lake, a page of rows at a time; its address says which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from mqops.clock import utc_now
from mqops.deciders.registry import names as names_of_deciders
from mqops.look.runs_page import PageOfRuns, Place, WantedRuns, page_of_runs
from mqops.look.words import run_name
from mqops.look.words import runs as words
from mqops.look.words.run_name import ASKERS
from mqops.look.words.state import RunState
from mqops.look.words.text import Table
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.which_run import at_work
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

MOST = 100
"""Rows of a page."""
LONGEST = 200
"""Characters of a field."""
LONGEST_PLACE = 300
"""Characters of a time and the key of a run."""
Field = Annotated[str, Query(max_length=LONGEST)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The query of the address. Parameters: "" for all; `state` a word of `RunState`; `day` UTC, YYYY-MM-DD;
    `msg_id` hex, from 8 digits on; `behind` where the page begins (`Place`)."""

    queue_manager: str
    queue: str
    workflow: str
    state: str
    person: str
    day: str
    msg_id: str
    behind: str

    @property
    def query(self) -> dict[str, str]:
        """The query of the first page of the same runs."""
        names = ("queue_manager", "queue", "workflow", "state", "person", "day", "msg_id")
        return {name: value for name in names if (value := getattr(self, name))}

    @property
    def filters(self) -> dict[str, str]:
        """The query without the queue manager, which is chosen by itself."""
        return {name: value for name, value in self.query.items() if name != "queue_manager"}


def _asked(
    *,
    queue_manager: Field = "",
    queue: Field = "",
    workflow: Field = "",
    state: RunState | Annotated[str, Query(max_length=0)] = "",
    person: Field = "",
    day: date | Annotated[str, Query(max_length=0)] = "",
    msg_id: Annotated[str, Query(pattern="^([0-9a-fA-F]{8,48})?$")] = "",
    behind: Annotated[str, Query(max_length=LONGEST_PLACE)] = "",
) -> Asked:
    return Asked(
        queue_manager=queue_manager,
        queue=queue.strip(),
        workflow=workflow,
        state=str(state),
        person=person.strip(),
        day=str(day),
        msg_id=msg_id.lower(),
        behind=behind,
    )


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def shown(request: Request, asked: Asked = Depends(_asked), who: Reader = sees) -> HTMLResponse:  # noqa: B008
        names = (who.queue_manager(asked.queue_manager),) if asked.queue_manager else who.queue_managers
        person = next((kind for kind, said in ASKERS.items() if said == asked.person), asked.person)
        wanted = WantedRuns(
            queue=asked.queue,
            workflow=asked.workflow,
            person=person,
            state=RunState(asked.state) if asked.state else None,
            day=date.fromisoformat(asked.day) if asked.day else None,
            msg_id=asked.msg_id,
        )
        found, table = _found(lake(who.estate), tuple(names), wanted, asked.behind)
        return render_page(
            *(request, page, who, asked.queue_manager),
            asked=asked,
            states=[(one.value, "not in order" if one is RunState.FAILED else one.value) for one in RunState],
            kinds=run_name.kinds((*names_of_deciders(), asked.workflow)),
            askers=list(ASKERS.values()),
            shown=words.shown(
                len(found.runs),
                asked.queue_manager,
                more=bool(found.behind),
                first=not asked.behind,
                fits=bool(asked.filters),
            ),
            problems=tuple(words.unreadable(found.problems, found.damaged)),
            runs=table,
            pages=words.pages(asked.query, str(found.behind or ""), first=not asked.behind),
        )

    return routes


@shared
def _found(place: Path, names: tuple[str, ...], wanted: WantedRuns, behind: str) -> tuple[PageOfRuns, Table]:
    found = page_of_runs(place, names, wanted, most=MOST, behind=Place.of(behind))
    working = at_work(place, words.just_begun(found.runs))
    return found, words.table(found.runs, utc_now(), ASKERS, part=bool(behind or found.behind), working=working)
