"""The page `quality`: each check over the runs, the messages that fail it, and the Data Docs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from mqops.counted import counted
from mqops.errors import LedgerBroken
from mqops.estate_sections import dag_prefix
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine, checks_in_words
from mqops.look.words.run_name import name_of
from mqops.look.words.text import NOTHING, Breaks, Link, Text
from mqops.message_checks import QualitySummary
from mqops.quality import words
from mqops.quality.failed_keys import newest_by_suite
from mqops.quality.failed_messages import FailedMessage, OfCheck, by_check, failed_messages
from mqops.quality.not_in_order import critical_left
from mqops.quality.results import verdict_of
from mqops.quality.trend import CheckTrend, checks_of, dag_run, quality_run, quality_runs, trends, with_all_suites
from mqops_airflow.pages import data_docs
from mqops_airflow.pages.chosen import Every, Form
from mqops_airflow.pages.of_all import all_shown, means_all, quality_of_all
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.which_run import newest_at_work
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

EVERY = 5
"""Seconds until the page asks again whether a run has checked messages."""
MOST_OFFERED = 20
"""Checks whose messages can be chosen at once, those with most."""
MOST = 100
"""Failures on one page of their list."""


class Known(NamedTuple):
    """The values of the page. Parameters: `runs` the newest; `chosen` the result that is shown; `beside` all checks of
    the same snapshot; `trends` of the checks over the runs; `failures` one page of the messages that fail;
    `all_failures` the number of all messages that fail; `of_checks` by queue and check, of the newest run and of suites
    that were not checked again; `left` as of `mqops.quality.words.taken_since`, None where the ledger cannot be
    read."""

    runs: list[QualitySummary]
    chosen: QualitySummary | None
    beside: list[QualitySummary]
    trends: list[CheckTrend]
    failures: list[FailedMessage]
    all_failures: int
    of_checks: tuple[OfCheck, ...] = ()
    left: int | None = None


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    @routes.get(f"{page.path}/live")
    def shown(request: Request, asked: Asked = asked_for, who: Reader = sees) -> HTMLResponse:
        if means_all(who, asked.queue_manager, asked.run):
            return all_shown(request, page, who, quality_of_all(who.estate, who.queue_managers))
        name = who.queue_manager(asked.queue_manager)
        known = _known(lake(who.estate), name, asked.run, asked.check, asked.after)
        chosen = known.chosen
        if asked.run and chosen is None:
            raise HTTPException(404, "No quality run has this key: it has checked nothing, or it was removed.")
        return render_page(
            *(request, page, who, name),
            every=EVERY,
            known=known,
            runs=known.runs,
            asked=asked,
            most=MOST,
            name_of=_name_of,
            chosen=chosen,
            live_part=Link("", "quality/live", asked.query(name)),
            words=_InWords(who, known, chosen, asked) if chosen else None,
            dag_id=(dag_id := _dag(who, name)),
            at_work=newest_at_work(who, dag_id, "a quality run", "Its checks are"),
            may_start=bool(dag_id) and who.may_start(dag_id),
        )

    return routes


@dataclass(frozen=True, slots=True)
class Asked:
    """The query of the address of the page. Parameters: `run` "" for the newest; `check` of the run, "" for its
    verdict; `after` the number of failures before the first one that is listed."""

    queue_manager: str = ""
    run: str = ""
    check: str = ""
    after: int = 0

    def query(self, queue_manager: str) -> dict[str, str]:
        """The query of the address of the page's live part."""
        query = {"queue_manager": queue_manager, "run": self.run, "check": self.check, "after": str(self.after or "")}
        return {name: value for name, value in query.items() if value}


def _asked(queue_manager: str = "", run: str = "", check: str = "", after: Annotated[int, Query(ge=0)] = 0) -> Asked:
    return Asked(queue_manager, run, check, after)


asked_for = Depends(_asked)


@shared
def _known(place: Path, name: str, run: str, check: str, after: int) -> Known:
    runs = quality_runs(place, name)
    chosen = quality_run(place, name, run, check) if run else next(iter(runs), None)
    beside = checks_of(place, chosen) if chosen else []
    failures, number = failed_messages(chosen, MOST, after) if chosen and chosen.failures else ([], 0)
    newest = chosen is not None and bool(runs) and chosen == runs[0]
    of_checks = _chosen_alike(place, chosen) if chosen and newest and number else ()
    left = None
    with suppress(LedgerBroken):  # the page Estate tells that
        left = critical_left(place, chosen) if chosen and number else None
    return Known(runs, chosen, beside, trends(with_all_suites(place, runs)), failures, number, of_checks, left)


def _chosen_alike(place: Path, shown: QualitySummary) -> tuple[OfCheck, ...]:
    """What fails each check, where mq_recover takes the messages of the same result: a suite may have been checked
    again since."""
    newest = newest_by_suite(place, shown.queue_manager)
    same = {suite for suite, one in newest.items() if (one.run, one.check) == (shown.run, shown.check)}
    return tuple(one for one in by_check(shown.failures, shown.checked_at) if one.suite in same)


class _InWords:
    """A result in words."""

    def __init__(self, who: Reader, known: Known, chosen: QualitySummary, asked: Asked) -> None:
        shown, number = len(known.failures), known.all_failures
        self.found = checks_in_words(chosen)
        self.docs = _docs(who, chosen)
        whole = chosen.messages["critical"]
        since = words.taken_since(whole, known.left) if known.left is not None else ""
        self.told = [Breaks(text) for text in (*chosen.told, since) if text]
        self.beside = tuple(words.beside([(one, checks_in_words(one)) for one in known.beside], chosen))
        self.checks = words.checks(known.trends, len(known.runs))
        self.not_checked = words.not_checked(chosen)
        may_choose = who.may_start(RECOVER)
        self.failures = words.failures(chosen, known.failures, number, ticks=may_choose)
        every = tuple(map(_all_of, known.of_checks[:MOST_OFFERED]))
        list_of = f"{chosen.run}-{asked.after}"
        self.choose = Form(list_of, chosen.queue_manager, every, may=may_choose, with_mqdlh=False)  # no result tells
        self.pages_of_failures = words.pages_of_failures(
            chosen, asked.check, after=asked.after, shown=shown, number=number, most=MOST
        )


def _name_of(one: QualitySummary) -> str:
    """The run of a result by what it is."""
    line = RunLine(run=one.run, queue_manager=one.queue_manager, workflow=one.workflow, at=one.checked_at)
    return name_of(line, seconds=True)


def _all_of(one: OfCheck) -> Every:
    """The choice of all messages of a queue that failed a check when it was checked last."""
    said = f"all {counted(one.messages, 'message')} of {one.queue} that fail {one.suite}.{one.expectation}"
    return Every(said, {"queue": one.queue, "failed": f"{one.suite}:{one.expectation}"})


def _dag(who: Reader, name: str) -> str:
    """The DAG that checks messages of a queue manager, "" where the estate has none."""
    section = who.estate.estate.queue_managers[name].snapshot_quality
    return f"{dag_prefix(name)}_snapshot_quality" if section else ""


def _docs(who: Reader, summary: QualitySummary) -> Markup | Text:
    """The link to the Data Docs of a run that Airflow made; nothing for a result that is not the verdict of the run."""
    verdict = verdict_of(RunFolder.at(lake(who.estate), summary.queue_manager, summary.run))
    dag_id, run_id = dag_run(lake(who.estate), summary)
    same = verdict is not None and verdict.check == summary.check
    if not (same and summary.docs and dag_id and run_id):
        return NOTHING
    return Markup('<a href="{}">Data Docs of this run</a>').format(data_docs.address(dag_id, run_id))
