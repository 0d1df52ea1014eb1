"""The page `triggers`: what triggers on a queue manager, each queue with its conditions and the MQSC that mends it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops_airflow.pages.render import render
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.table import Page
from mqops_airflow.reach import connection_for

if TYPE_CHECKING:
    from mqops.trigger.audit import Audit

KEPT = 10.0
"""Seconds that an audit is shown again: readers do not make the queue manager work."""


class Looked(NamedTuple):
    """An audit. Parameters: `at` when it was made, `tried` the last try, seconds since 1970; `problem` of that try."""

    audit: Audit | None
    at: float
    tried: float
    problem: str = ""


_looked: dict[str, Looked] = {}
_one_at_a_time = threading.Lock()


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", queue: str = "", who: Reader = sees) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        found = look(name, who.estate)
        queues = found.audit.queues if found.audit else ()
        return render(
            request,
            page.name,
            page=page,
            who=who,
            queue_manager=name,
            queue=queue,
            found=found,
            age=time.time() - found.at,
            chosen=next((one for one in queues if one.queue == queue), None),
        )

    return routes


def look(name: str, estate: EstateFile) -> Looked:
    """The audit of a queue manager, not older than `KEPT`; the last one where it does not answer now."""
    with _one_at_a_time:
        before = _looked.get(name, Looked(None, 0.0, 0.0))
        if time.time() - before.tried < KEPT:
            return before
        found = _look(name, estate, before)
        _looked[name] = found
        return found


def _look(name: str, estate: EstateFile, before: Looked) -> Looked:
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
    from mqops.trigger.audit import audit  # noqa: PLC0415

    try:
        with connect(connection_for(name, estate)) as session:
            made = audit(session)
    except MqopsError as error:
        return before._replace(tried=time.time(), problem=str(error))
    now = time.time()
    return Looked(made, now, now)
