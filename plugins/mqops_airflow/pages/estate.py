"""The page `estate`: each queue manager with its queues, its runs, the questions that wait, and what is wrong.

The figures are kept for some seconds, and one request at a time asks a queue manager: many readers cost it no more
than one.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.errors import MqopsError
from mqops.look.estate_now import ManagerNow, manager_now
from mqops_airflow.pages.render import render
from mqops_airflow.pages.run import STOP
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.table import Page
from mqops_airflow.reach import connection_for
from mqops_airflow.workplace import lake

KEPT = 5.0
"""Seconds for which the figures of a queue manager are kept."""
_known: dict[tuple[str, str], tuple[float, ManagerNow]] = {}
_locks: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", dag_id: str = "", who: Reader = sees) -> HTMLResponse:
        return _shown(request, "estate", page, who, queue_manager or (who.of_dag(dag_id) if dag_id else ""))

    @routes.get(f"{page.path}/live")
    def live(request: Request, queue_manager: str = "", who: Reader = sees) -> HTMLResponse:
        return _shown(request, "estate_live", page, who, queue_manager)

    return routes


def _shown(request: Request, template: str, page: Page, who: Reader, queue_manager: str) -> HTMLResponse:
    names = (who.queue_manager(queue_manager),) if queue_manager else who.queue_managers
    managers = [_now(who, name) for name in names]
    managers.sort(key=lambda one: (not one.problems, not one.waiting, one.name))
    values: dict[str, Any] = {"page": page, "who": who, "queue_manager": queue_manager, "managers": managers}
    values["may_stop"] = who.may_start(STOP)
    return render(request, template, every=int(KEPT), **values)


def _now(who: Reader, name: str) -> ManagerNow:
    key = (str(who.estate.path), name)
    with _locks[key]:
        at, found = _known.get(key, (0.0, None))
        if found is None or time.monotonic() - at >= KEPT:
            try:
                connection: Any = connection_for(name, who.estate)
            except MqopsError as error:
                connection = str(error)
            found = manager_now(connection, lake(who.estate), name)
            _known[key] = (time.monotonic(), found)
        return found
