"""The page `quality`: each check over the runs, the messages that fail it, and the Data Docs."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from mqops.estate_sections import dag_prefix
from mqops.look.core.run_state import checks_in_words
from mqops.quality.failed_messages import FailedMessage, failed_messages
from mqops.quality.summary import CheckResult, QualitySummary
from mqops.quality.trend import dag_run, quality_run, quality_runs, trends
from mqops_airflow import data_docs
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.table import Page
from mqops_airflow.pages.which_run import newest_at_work
from mqops_airflow.workplace import lake

EVERY = 5
"""Seconds until the page asks again whether a run has checked messages."""
MOST = 100
"""Failures that the page lists."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    def shown(template: str, request: Request, queue_manager: str, run: str, who: Reader) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        runs, chosen, failures, all_failures = _known(lake(who.estate), name, run)
        if run and chosen is None:
            raise HTTPException(404, "No quality run has this key: it has checked nothing, or it was removed.")
        return render_page(
            request,
            page,
            who,
            name,
            template=template,
            every=EVERY,
            runs=runs,
            run=run,
            chosen=chosen,
            found_words=checks_in_words(chosen.to_json()) if chosen else "",
            trends=trends(runs),
            expects=expects,
            failures=failures,
            all_failures=all_failures,
            docs=_docs(who, chosen) if chosen else "",
            dag_id=(dag_id := _dag(who, name)),
            at_work=newest_at_work(who, dag_id) if dag_id else None,
            may_start=bool(dag_id) and who.may_start(dag_id),
        )

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", run: str = "", who: Reader = sees) -> HTMLResponse:
        return shown("quality", request, queue_manager, run, who)

    @routes.get(f"{page.path}/live")
    def live(request: Request, queue_manager: str = "", run: str = "", who: Reader = sees) -> HTMLResponse:
        return shown("quality_live", request, queue_manager, run, who)

    return routes


@shared
def _known(
    place: Path, name: str, run: str
) -> tuple[list[QualitySummary], QualitySummary | None, list[FailedMessage], int]:
    """The newest runs, the one that is shown, the first of the messages that fail in it, and how many do."""
    runs = quality_runs(place, name)
    chosen = quality_run(place, name, run) if run else next(iter(runs), None)
    return runs, chosen, *(failed_messages(chosen, MOST) if chosen and chosen.failures else ([], 0))


def expects(check: CheckResult) -> str:
    """What a check expects of its columns, in words. A run of an earlier version does not tell the limits."""
    words = check.expect.removeprefix("column_").replace("value_lengths", "lengths").replace("_", " ")
    if check.limits and words.endswith("be between"):
        words = f"{words.removesuffix(' between')} {check.limits}"
    elif check.limits:
        words = f"{words}: {check.limits}"
    return f"{words}, where {check.where}" if check.where else words


def _dag(who: Reader, name: str) -> str:
    """The DAG that checks messages of a queue manager, "" where the estate has none."""
    section = who.estate.estate.queue_managers[name].snapshot_quality
    return f"{dag_prefix(name)}_snapshot_quality" if section else ""


def _docs(who: Reader, summary: QualitySummary) -> str:
    """The address of the Data Docs of a run that Airflow made, "" where there are none."""
    dag_id, run_id = dag_run(lake(who.estate), summary)
    return data_docs.address(dag_id, run_id) if summary.docs and dag_id and run_id else ""
