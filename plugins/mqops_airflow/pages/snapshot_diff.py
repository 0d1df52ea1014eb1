"""The page `snapshot_diff`: what a snapshot has otherwise than an earlier one."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from mqops.errors import SettingsError
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.run_row import run_line
from mqops.look.runs import Runs
from mqops.look.snapshot_diff import compared
from mqops.look.words import snapshot_diff as words
from mqops.look.words.text import NOTHING
from mqops.observe.recorded import OBSERVED
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.which_run import Asked, asked_by, asked_run
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

MOST_MESSAGES = 500_000
"""Messages of both snapshots that a page compares: about two seconds of the API server."""
MOST_BEFORE = 20
"""Earlier snapshots that are looked at; of those that the person may see `MOST_SHOWN` are offered."""
MOST_SHOWN = 5
_compared = shared(compared)


def router(page: Page) -> APIRouter:
    """The route of the page."""
    routes, of = APIRouter(), asked_by(page.right)

    @routes.get(page.path)
    def whole(request: Request, old: str = "", found: tuple[Reader, Asked] = of) -> HTMLResponse:
        who, asked = found
        new = asked.run
        if not OBSERVED.exists(new):
            raise HTTPException(404, "This run has no snapshot: it took none, or it was removed.")
        before = _before(who, new)
        earlier: RunFolder | None
        if old:
            earlier = asked_run(who, queue_manager=new.queue_manager, run=old, dag_id="", run_id="").run
        else:
            earlier = RunFolder.at(lake(who.estate), new.queue_manager, before[0].run) if before else None
        query = {"queue_manager": new.queue_manager, "run": new.run}
        return render_page(
            *(request, page, who, new.queue_manager),
            run=new.run,
            told=_Told(Runs(lake(who.estate), new.queue_manager), earlier, new) if earlier is not None else None,
            no_other=words.NONE_BEFORE,
            others=words.with_another(before, query) if len(before) > 1 or (old and before) else NOTHING,
        )

    return routes


class _Told:
    """The comparison in words. Raises `HTTPException` 404: one of the snapshots was removed, or no queue is in both."""

    def __init__(self, runs: Runs, old: RunFolder, new: RunFolder) -> None:
        self.groups = self.examples = None
        self.remarks: list[str] = []
        self.same = ""
        if not OBSERVED.exists(old):
            raise HTTPException(404, f"Run {old.run} has no snapshot: it took none, or it was removed.")
        messages = OBSERVED.read(old).messages + OBSERVED.read(new).messages
        if messages > MOST_MESSAGES:
            self.sums = words.too_large(old.run, new.run, messages)
            return
        try:
            found = _compared(old.path, new.path)
        except SettingsError as error:
            raise HTTPException(404, str(error)) from error
        self.sums = words.compared(found, new.queue_manager)
        self.groups, self.examples = words.groups(found), words.examples(found, new.queue_manager)
        self.remarks = found.remarks(runs.named)
        self.same = "" if found.total else words.SAME


def _before(who: Reader, run: RunFolder) -> list[RunLine]:
    """The newest earlier snapshots of one of its queues, of whatever workflow, whose files are there and which the
    person may see."""
    line, place = run_line(run), lake(who.estate)
    before = Runs(place, run.queue_manager).snapshots_before(line, MOST_BEFORE)
    return [one for one in before if _may_see(who, RunFolder.at(place, run.queue_manager, one.run))][:MOST_SHOWN]


def _may_see(who: Reader, run: RunFolder) -> bool:
    """Whether the snapshot of a run is there, and the person may read the run's DAG. Raises `LakeError`."""
    dag_id = (HANDED_ON.find(run) or NO_DAG_RUN).dag_id
    return run.snapshot.is_dir() and (not dag_id or who.may_read(dag_id))
