"""The page `estate`: all queue managers in a table, or one with its queues and its runs; what needs a person.

What is known of them is looked up for all readers (`mqops_airflow.pages.managers_now`). What a person may see and do is
asked for each request; the live part is made once a second for people for whom that is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from mqops.clock import utc, utc_now
from mqops.deciders.registry import fates_of, holds_queues
from mqops.estate import EstateFile
from mqops.look.core.run_state import RunLine
from mqops.look.estate.now import ManagerNow
from mqops.look.expiry_forecast import MORNING, next_time
from mqops.look.figures import QueueFigures
from mqops.look.words import estate as words
from mqops.look.words import managers as of_all
from mqops.look.words.needs import Question, needs
from mqops.look.words.run import WhoAnswers
from mqops.look.words.run_name import ASKERS
from mqops.look.words.runs import just_begun, last_runs
from mqops.look.words.text import NOTHING, AirflowLink, Link, Table, Text
from mqops_airflow.pages.managers_now import Seen, seen
from mqops_airflow.pages.problem_link import Forms, form_of, link_of
from mqops_airflow.pages.queue_figures import ANSWERS
from mqops_airflow.pages.render import answered, made, render_page, root_of
from mqops_airflow.pages.run_forms import RECOVER, STOP
from mqops_airflow.pages.security import Reader, own_dags, reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.which_run import at_work, next_by_schedule
from mqops_airflow.pages.who_answers import Open, asks_for_four_eyes, open_questions, who_answers_each
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page
from mqops_airflow.ui.views import path_of_dag

_DAG_OF_ALL = {"recover": RECOVER}
"""Workflow that one DAG of all queue managers runs → the DAG, which people know it by."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    @routes.get(f"{page.path}/live")
    def shown(request: Request, queue_manager: str = "", dag_id: str = "", who: Reader = sees) -> HTMLResponse:
        return _shown(request, page, who, queue_manager or (who.of_dag(dag_id) if dag_id else ""))

    return routes


def _shown(request: Request, page: Page, who: Reader, queue_manager: str) -> HTMLResponse:
    names = (who.queue_manager(queue_manager),) if queue_manager else who.queue_managers
    known = seen(who.estate, names)
    live = _live(Same(known), _May.of(who, known), who.estate, queue_manager, root_of(request))
    if request.scope["path"].endswith("/live"):
        return answered(request, live)
    return render_page(
        *(request, page, who, queue_manager),
        every=int(ANSWERS.kept),
        live_part=Link("", "estate/live", {"queue_manager": queue_manager} if queue_manager else {}),
        live=live,
    )


class _May(NamedTuple):
    """What a person sees and may do, beside the queue managers that he sees: people who see and may do the same are
    shown the same. Parameters: `asked` queue managers and runs, and who may answer their questions; `following` as of
    `mqops_airflow.pages.which_run.next_by_schedule`; `starts` the DAGs of the page that he may start."""

    asked: tuple[tuple[tuple[str, str], WhoAnswers | None], ...]
    following: tuple[tuple[str, tuple[tuple[str, datetime], ...]], ...]
    starts: frozenset[str]

    @classmethod
    def of(cls, who: Reader, known: Seen) -> _May:
        forms = (form_of(who.estate, one.name, problem) for one in known.managers for problem in one.problems)
        dags = {STOP, *(one.dag_id for one in forms if one)}
        return cls(
            asked=tuple(who_answers_each(who, known.questions)),
            following=tuple((name, tuple(dags)) for name, dags in next_by_schedule(who).items()),
            starts=frozenset(filter(who.may_start, dags)),
        )


@shared
def _live(of: Same[Seen], may: _May, estate: EstateFile, queue_manager: str, root: str) -> Markup:
    """The live part. Nothing of a person is in it that is not in `may`."""
    managers, asked, following = of.value.managers, dict(may.asked), dict(may.following)
    return made(
        root,
        "estate_live",
        lake=str(lake(estate)),
        queue_manager=queue_manager,
        one=managers[0] if len(managers) == 1 else None,
        tiles=tuple(of_all.tiles(managers, one=bool(queue_manager))),
        table=of_all.table(managers, following),
        age=of_all.oldest_figures((one.figures for one in managers), utc()),
        in_order=of_all.lines_in_order(managers, following),
        needs=needs(managers, questions_of=partial(_questions, asked), link_of=partial(link_of, estate)),
        accounted=of.value.accounted,
        words=words,
        form=Forms(estate).of,
        may_start=may.starts.__contains__,
        open_questions=_questions_of_queues(estate),
        four_eyes=partial(asks_for_four_eyes, estate),
        morning=next_time(datetime.now(UTC), MORNING),
        state_of=partial(_state, asked),
        last_runs=lambda one: _last_runs(lake(estate), Same(one.runs), one.name),
        by_schedule=_by_schedule,
        next_runs=following,
        may_stop=STOP in may.starts,
        has_dags=lambda name: bool(own_dags(estate)[name]),
    )


def _questions(asked: Mapping[tuple[str, str], WhoAnswers | None], manager: ManagerNow) -> list[Question]:
    """The open questions of a queue manager. Parameters: `asked` queue manager and run → who may answer."""
    return [
        words.open_question(
            manager,
            run,
            fates_of(run.workflow),
            waits=waits.in_words(asked=True) if (waits := asked.get((manager.name, run.run))) else NOTHING,
            may=bool(waits and waits.may),
            holds=holds_queues(run.workflow),
            by=" or ".join(dict.fromkeys((_DAG_OF_ALL.get(run.workflow, run.workflow), RECOVER))),
        )
        for run in manager.waiting
    ]


def _state(asked: Mapping[tuple[str, str], WhoAnswers | None], manager: ManagerNow, queue: QueueFigures) -> Text:
    """The remarkable things about a queue. Parameters: `asked` as of `_questions`."""
    held = [run.run for run in manager.held_by(queue.name) if asked.get((manager.name, run.run))]
    return words.queue_state(queue, held, manager.name)


def _by_schedule(runs: Iterable[tuple[str, datetime]]) -> Text:
    return words.by_schedule([(AirflowLink(dag_id, path_of_dag(dag_id)), at.isoformat()) for dag_id, at in runs])


def _questions_of_queues(estate: EstateFile) -> Callable[[str, str, str], list[Open]]:
    """A function of DAG, queue manager and queue that gives `open_questions`. All forms of a DAG cost one look."""
    of_all = cache(partial(open_questions, estate))
    return lambda dag_id, name, queue: [one for one in of_all(dag_id, name) if queue in one.queue.split(",")]


@shared
def _last_runs(place: Path, runs: Same[tuple[RunLine, ...]], name: str) -> Table:
    return last_runs(runs.value, name, utc_now(), ASKERS, at_work(place, just_begun(runs.value)))
