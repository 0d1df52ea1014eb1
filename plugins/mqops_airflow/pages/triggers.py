"""The page `triggers`: what triggers on a queue manager, each queue with its conditions and the MQSC that mends it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.estate_values import MQ_NAME
from mqops.look.figures import awaits
from mqops.look.words import of_all
from mqops.look.words import triggers as words
from mqops.look.words.of_all import OfAll, TriggersOf
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import Answer, Answers
from mqops_airflow.pages.of_all import all_shown, means_all
from mqops_airflow.pages.queue_figures import silence
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.shown import age
from mqops_airflow.ui.table import Page

if TYPE_CHECKING:
    from mqops.trigger.audit import Audit
    from mqops.trigger.core import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The last audit of a queue manager. Parameters: `audit` None where none was made; `at` when it was made, seconds
    since 1970; `problem` why there is no later audit."""

    audit: Audit | None = None
    at: float = 0.0
    problem: str = ""


class Explained(NamedTuple):
    """A queue that is in no audit. Parameters: `found` None where it cannot be explained; `problem` then says why."""

    found: Explanation | None = None
    problem: str = ""


AUDIT_KEPT = 60.0
"""Seconds for which an audit is good where many are shown: it asks more of a queue manager than its figures do."""
ANSWERS: Answers[Looked] = Answers(10.0)
EXPLAINED: Answers[Explained] = Answers(10.0)
_last: dict[tuple[str, str], Looked] = {}


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(f"{page.path}/live")
    def live(request: Request, who: Reader = sees) -> HTMLResponse:
        return all_shown(request, page, who, _of_all(who.estate, who.queue_managers))

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", queue: str = "", who: Reader = sees) -> HTMLResponse:
        if means_all(who, queue_manager, queue):
            return all_shown(request, page, who, _of_all(who.estate, who.queue_managers))
        name, queue = who.queue_manager(queue_manager), queue.strip()
        answer = audits(who.estate, [name])[name]
        found = answer.value or Looked()
        if answer.overdue or answer.value is None:
            found = replace(found, problem=f"{silence(answer)}.")
        queues = found.audit.queues if found.audit else ()
        chosen = next((one for one in queues if one.queue == queue), None)
        unexplained = ""
        if queue and chosen is None and found.audit:
            chosen, unexplained = _explained(who.estate, name, queue)
        ago, awaited = time.time() - found.at, awaits(found.problem)
        return render_page(
            *(request, page, who, name),
            queue=queue,
            found=found,
            age=ago,
            chosen=chosen,
            unexplained=unexplained,
            problem=words.silent(found.problem, age(ago), shown=found.audit is not None, awaited=awaited),
            awaited=awaited,
            conditions=words.conditions(chosen) if chosen else None,
            queues=words.queues(found.audit, name) if found.audit else None,
            warnings=tuple(words.warnings(found.audit)) if found.audit else (),
        )

    return routes


def audits(
    estate: EstateFile, names: Sequence[str], *, kept: float = 0.0, wait: float | None = None
) -> dict[str, Answer[Looked]]:
    """The last audit of each queue manager. Parameters: as of `Answers.of`."""
    asked = {name: partial(_look, name, estate) for name in names}
    return ANSWERS.of(asked, scope=str(estate.path), kept=kept, wait=wait)


@shared
def _of_all(estate: EstateFile, names: tuple[str, ...]) -> OfAll:
    """The table of these queue managers."""
    rows = []
    for name, answer in audits(estate, names, kept=AUDIT_KEPT).items():
        looked = answer.value or Looked(problem=silence(answer))
        at = datetime.fromtimestamp(looked.at, UTC).isoformat()
        rows.append(TriggersOf(name, looked.audit, at, looked.problem, awaits(looked.problem)))
    return of_all.triggers(rows)


def _explained(estate: EstateFile, name: str, queue: str) -> Explained:
    """The explanation of a queue that is in no audit: without TRIGGER and initiation queue, an alias, a wrong name."""
    if not MQ_NAME.fullmatch(queue):
        return Explained(problem=f"{queue} is no name of a queue: 1 to 48 letters, digits and . _ / %")
    asked = {f"{name} {queue}": partial(_explain, name, queue, estate)}
    answer = EXPLAINED.of(asked, scope=str(estate.path), lane=name)[f"{name} {queue}"]
    if not answer.waiting and answer.value is None:
        return Explained(problem="Too many queues are asked about just now: try again in a minute")
    return answer.value or Explained(problem=f"The queue manager was asked {max(1, round(answer.waiting))} s ago")


def _explain(name: str, queue: str, estate: EstateFile) -> Explained:
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
    from mqops.trigger.core import explain  # noqa: PLC0415
    from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415

    try:
        with connect(connection_for(name, estate)) as session:
            return Explained(explain(triggered_queue(session, queue, manager(session))))
    except MqopsError as error:
        return Explained(problem=str(error))


def _look(name: str, estate: EstateFile) -> Looked:
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
    from mqops.trigger.audit import audit  # noqa: PLC0415

    key = str(estate.path), name
    try:
        with connect(connection_for(name, estate)) as session:
            _last[key] = Looked(audit=audit(session), at=time.time())
            return _last[key]
    except MqopsError as error:
        return replace(_last.get(key, Looked()), problem=str(error))
