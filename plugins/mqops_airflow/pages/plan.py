"""The page `plan`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops_airflow.pages.render import render
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.table import Page


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", who: Reader = sees) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        return render(request, page.name, page=page, who=who, queue_manager=name)

    return routes
