"""Names of queues for the fields of forms: those that are offered, and what is said of one before a form is sent."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from mqops.counted import counted
from mqops.estate_values import MQ_NAME
from mqops.look.figures import Figures
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.queue_named import why_no_destination_now
from mqops_airflow.pages.render import render
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.ui.table import Right

PATH = "/queue_names"
NO_NAME = "is no name of a queue: 1 to 48 letters, digits and . _ / %"


class Offered(NamedTuple):
    """A name that a field offers. Parameters: `said` its depth, "" where that is not known."""

    name: str
    said: str


def router() -> APIRouter:
    """The routes: the names, and the check of one."""
    routes, sees = APIRouter(), reader(Right.RUN)

    @routes.get(PATH)
    def offered(request: Request, queue_manager: str = "", who: Reader = sees) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        return render(request, "queue_names", names=offered_names(figures_now(who.estate, [name])[name]))

    @routes.get(f"{PATH}/check")
    def checked(queue_manager: str = "", queue: str = "", who: Reader = sees) -> JSONResponse:
        name, queue = who.queue_manager(queue_manager), queue.strip()
        if not MQ_NAME.fullmatch(queue):
            return JSONResponse({"problem": f"{queue or 'A blank'} {NO_NAME}"})
        return JSONResponse({"problem": why_no_destination_now(who.estate, name, queue) or ""})

    return routes


def offered_names(figures: Figures) -> list[Offered]:
    """The local queues that are known, by name, with the messages that they had when they were asked last."""
    full = [Offered(one.name, f"{one.depth:,} of {counted(one.max_depth, 'message')}") for one in figures.queues]
    return sorted([*full, *(Offered(one, "no messages") for one in figures.other_names)])
