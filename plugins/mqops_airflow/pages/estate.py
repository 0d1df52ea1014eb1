"""The page `estate`: all queue managers in a table, or one with its queues and its runs; what needs a person.

All queue managers are asked side by side, and one at a time asks each of them: many readers cost it no more than one,
and one that does not answer delays nobody (`mqops_airflow.pages.answers`). The lake is read once a second at most, of
many queue managers less often, so that it takes no more of the process than asking them does. The ledgers are verified
and what expires is counted beside that, and a reader does not wait for a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.clock import utc, utc_now
from mqops.deciders.registry import fates_of, holds_queues
from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.lake.run import folder_of
from mqops.look.accounted import LedgerNow, ledger_now, written_since
from mqops.look.core.run_state import RunLine
from mqops.look.estate.expiring import Expiring, expiring_now
from mqops.look.estate.now import ManagerNow, manager_now
from mqops.look.estate.problem import Problem
from mqops.look.estate.unfinished import approved_and_idle, quiet, unfinished_run
from mqops.look.expiry_forecast import MORNING, next_time
from mqops.look.figures import Figures, QueueFigures
from mqops.look.words import estate as words
from mqops.look.words import managers as of_all
from mqops.look.words.accounted import accounted, goes_on
from mqops.look.words.needs import by_need, needs
from mqops.look.words.run import WhoAnswers
from mqops.look.words.runs import last_runs
from mqops.look.words.text import NOTHING, AirflowLink, Link, Table, Text
from mqops.quality.not_in_order import NOT_IN_ORDER
from mqops_airflow.pages import shared as shared_answers
from mqops_airflow.pages import triggers
from mqops_airflow.pages.answers import WITHOUT_KEEPING, Answer, Answers
from mqops_airflow.pages.of_all import EXPIRING
from mqops_airflow.pages.problem_link import Forms, link_of
from mqops_airflow.pages.queue_figures import ANSWERS, figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER, STOP
from mqops_airflow.pages.security import Reader, own_dags, reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.unseen_lake import unseen
from mqops_airflow.pages.which_run import ASKERS, at_work, next_by_schedule
from mqops_airflow.pages.who_answers import Open, asks_for_four_eyes, open_questions, still_asked
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page
from mqops_airflow.ui.views import path_of_dag

LEDGERS: Answers[LedgerNow] = Answers(10.0)
NOW: Answers[ManagerNow] = Answers(shared_answers.KEPT)
"""What is known of each of many queue managers. A reader of a single one waits for what is known now."""
QUICK = 0.2
"""Seconds: a ledger whose verification takes longer is verified again after `LEDGERS.kept`, however it grows."""
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
    managers = _managers(who.estate, names)
    working = at_work(who, (key for one in managers for key in _open(one)))
    managers = [_carried_out(one, working) for one in managers]
    elsewhere = unseen(who, tuple(names))
    managers = [replace(one, problems=(*_of(elsewhere, one.name), *one.problems)) for one in managers]
    asked = still_asked(who, [(one.name, run.run) for one in managers for run in one.waiting])
    managers = [replace(one, waiting=tuple(run for run in one.waiting if run.run in asked)) for one in managers]
    morning = next_time(datetime.now(UTC), MORNING)
    managers.sort(key=by_need)
    following = next_by_schedule(who)
    return render_page(
        *(request, page, who, queue_manager),
        every=int(ANSWERS.kept),
        one=managers[0] if len(managers) == 1 else None,
        tiles=tuple(of_all.tiles(managers, one=bool(queue_manager))),
        table=of_all.table(managers, following),
        age=of_all.oldest_figures((one.figures for one in managers), utc()),
        in_order=of_all.lines_in_order(managers, following),
        needs=needs(managers, questions_of=partial(_questions, asked), link_of=partial(link_of, who.estate)),
        accounted=accounted(managers, working, _ended_early(managers, working)),
        live_part=Link("", "estate/live", {"queue_manager": queue_manager} if queue_manager else {}),
        words=words,
        form=Forms(who.estate).of,
        may_start=who.may_start,
        open_questions=_questions_of_queues(who),
        four_eyes=partial(asks_for_four_eyes, who.estate),
        morning=morning,
        state_of=partial(_state, asked),
        last_runs=lambda one: _last_runs(Same(one.runs), one.name),
        by_schedule=_by_schedule,
        next_runs=following,
        may_stop=who.may_start(STOP),
        has_dags=lambda name: bool(own_dags(name, who.estate.estate.queue_managers[name])),
    )


def _questions(asked: Mapping[str, WhoAnswers | None], manager: ManagerNow) -> list[Text]:
    """The open questions of a queue manager. Parameters: `asked` run → who may answer."""
    return [
        words.open_question(
            manager,
            run,
            fates_of(run.workflow),
            waits=waits.in_words(asked=True) if (waits := asked.get(run.run)) else NOTHING,
            may=bool(waits and waits.may),
            holds=holds_queues(run.workflow),
            by=" or ".join(dict.fromkeys((_DAG_OF_ALL.get(run.workflow, run.workflow), RECOVER))),
        )
        for run in manager.waiting
    ]


def _state(asked: Mapping[str, WhoAnswers | None], manager: ManagerNow, queue: QueueFigures) -> Text:
    """The remarkable things about a queue. Parameters: `asked` as of `_questions`."""
    held = [run.run for run in manager.held_by(queue.name) if asked.get(run.run)]
    return words.queue_state(queue, held, manager.name)


def _by_schedule(runs: Iterable[tuple[str, datetime]]) -> Text:
    return words.by_schedule([(AirflowLink(dag_id, path_of_dag(dag_id)), at.isoformat()) for dag_id, at in runs])


def _managers(estate: EstateFile, names: Sequence[str]) -> list[ManagerNow]:
    place = lake(estate)
    said = figures_now(estate, names)
    audits = triggers.audits(
        estate, [name for name in names if not said[name].unreachable], kept=triggers.AUDIT_KEPT, wait=0
    )
    looked = {name: answer.value for name, answer in audits.items() if answer.value and answer.value.audit}
    expiry = {name: partial(expiring_now, place, name) for name in names}
    EXPIRING.of(expiry, scope=str(place), wait=0)  # asked before a reader waits for the ledgers: he waits once
    verify = {name: partial(ledger_now, place, name) for name in names}
    ledgers = LEDGERS.of(verify, scope=str(place))
    grown = {name: verify[name] for name, one in ledgers.items() if _is_verified_at_once(place, name, one)}
    ledgers |= LEDGERS.of(grown, scope=str(place), kept=WITHOUT_KEEPING)
    expiring = EXPIRING.of(expiry, scope=str(place))
    told = {name: _Said.of(said[name], looked.get(name), ledgers[name].value, expiring[name].value) for name in names}
    if len(names) == 1:
        return [_now(place, name, one) for name, one in told.items()]
    looks = {name: partial(_now, place, name, one) for name, one in told.items()}
    known = NOW.of(looks, scope=str(place), kept=shared_answers.KEPT or WITHOUT_KEEPING)
    return [known[name].value or _not_looked_at(name, one.figures) for name, one in told.items()]


def _not_looked_at(name: str, figures: Figures) -> ManagerNow:
    """A queue manager whose part of the lake has not been read yet."""
    unknown = Problem(what="Its runs have not been looked at yet: this page tells them within seconds")
    return ManagerNow(name=name, figures=figures, problems=(unknown,))


def _is_verified_at_once(place: Path, name: str, known: Answer[LedgerNow]) -> bool:
    """Whether a ledger that has grown since it was verified is small: a reader waits for its next verification."""
    with suppress(MqopsError):
        return known.value is not None and known.took < QUICK and written_since(folder_of(place, name), known.value)
    return False


def _questions_of_queues(who: Reader) -> Callable[[str, str, str], list[Open]]:
    """A function of DAG, queue manager and queue that gives `open_questions`. All forms of a DAG cost one look."""
    of_all = cache(partial(open_questions, who))
    return lambda dag_id, name, queue: [one for one in of_all(dag_id, name) if queue in one.queue.split(",")]


def _open(manager: ManagerNow) -> Iterator[tuple[str, str]]:
    """The runs (queue manager and key) that were approved or begun and are not done: Airflow may be at work on them."""
    acted = manager.acted
    return ((manager.name, run.run) for run in (*manager.approved, *acted.unproved, *acted.unfinished))


def _ended_early(managers: Iterable[ManagerNow], working: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The runs that are not proved although no DAG run is at work on them. Parameters: `working` as of `at_work`."""
    now = utc()
    silent = {(one.name, run.run) for one in managers for run in one.acted.unproved if quiet(run, now)}
    return silent - set(working)


def _carried_out(manager: ManagerNow, working: Collection[tuple[str, str]]) -> ManagerNow:
    """The queue manager with one more kind of problem: a run was approved and nothing carries it out, because its act
    failed, as after a stop; and without those of runs that go on by now. Parameters: `working` as of `at_work`."""
    under_way = {unfinished_run(run) for run in manager.acted.unfinished if goes_on(run, working)}
    idle = (approved_and_idle(run) for run in manager.approved if (manager.name, run.run) not in working)
    return replace(manager, problems=(*(one for one in manager.problems if one not in under_way), *idle))


def _of(problems: Mapping[str, Problem], name: str) -> Iterator[Problem]:
    if name in problems:
        yield problems[name]


class _Moments(NamedTuple):
    """When each part of an answer was seen: ISO 8601 UTC, the audit in seconds since 1970. Parameters: `unreachable`
    why there are no later figures."""

    figures: str
    unreachable: str
    audit: float
    ledger: str
    expiring: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """The answers of a queue manager. Two values with the same moments count as equal: to compare all figures would
    take as long as to show them."""

    figures: Figures = field(compare=False)
    looked: triggers.Looked | None = field(compare=False)
    ledger: LedgerNow | None = field(compare=False)
    expiring: Expiring | None = field(compare=False)
    moments: _Moments

    @classmethod
    def of(
        cls, figures: Figures, looked: triggers.Looked | None, ledger: LedgerNow | None, expiring: Expiring | None
    ) -> _Said:
        moments = _Moments(
            figures=figures.seen_at,
            unreachable=figures.unreachable,
            audit=looked.at if looked else 0.0,
            ledger=ledger.at if ledger else "",
            expiring=expiring.at if expiring else "",
        )
        return cls(figures=figures, looked=looked, ledger=ledger, expiring=expiring, moments=moments)


@shared
def _last_runs(runs: Same[tuple[RunLine, ...]], name: str) -> Table:
    return last_runs(runs.value, name, utc_now(), ASKERS)


@shared
def _now(place: Path, name: str, said: _Said) -> ManagerNow:
    audit = said.looked.audit if said.looked else None
    return manager_now(
        said.figures,
        place,
        name,
        broken_triggers=audit.cannot_trigger if audit else {},
        switched_off=audit.switched_off if audit else (),
        not_inquired=audit.unseen if audit else (),
        ledger=said.ledger,
        expiring=said.expiring,
        more_checks=(NOT_IN_ORDER,),
    )
