"""The page `triggers`: what triggers on a queue manager, each queue with its conditions and the MQSC that mends it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops_airflow.pages.answers import WAIT, Answer, Answers
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.table import Page
from mqops_airflow.reach import connection_for

if TYPE_CHECKING:
    from mqops.trigger.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The last audit. Parameters: `audit` None where there is none; `at` when it was made, seconds since 1970;
    `problem` why there is no later one."""

    audit: Audit | None = None
    at: float = 0.0
    problem: str = ""


EXPLAIN = "mq_trigger_explain"
"""DAG that explains any queue."""
ANSWERS: Answers[Looked] = Answers(10.0)
_last: dict[tuple[str, str], Looked] = {}


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", queue: str = "", who: Reader = sees) -> HTMLResponse:
        name, queue = who.queue_manager(queue_manager), queue.strip()
        answer = audits(who.estate, [name])[name]
        found = answer.value or Looked()
        if answer.overdue or answer.value is None:
            found = replace(found, problem=f"it was asked {max(1, round(answer.waiting))} s ago.")
        queues = found.audit.queues if found.audit else ()
        chosen = next((one for one in queues if one.queue == queue), None)
        values: dict[str, Any] = {"queue": queue, "found": found, "age": time.time() - found.at, "chosen": chosen}
        values["explain"] = EXPLAIN if who.may_start(EXPLAIN) else ""
        return render_page(request, page, who, name, **values)

    return routes


def audits(
    estate: EstateFile, names: Sequence[str], *, kept: float = 0.0, wait: float = WAIT
) -> dict[str, Answer[Looked]]:
    """The last audit of each queue manager. Parameters: as of `Answers.of`."""
    asked = {name: partial(_look, name, estate) for name in names}
    return ANSWERS.of(asked, scope=str(estate.path), kept=kept, wait=wait)


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
