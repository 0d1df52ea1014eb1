"""The page that says why there is no other: no login, no right, too many requests."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from mqops_airflow.pages.headers import HEADERS
from mqops_airflow.pages.render import render

SAID = {
    401: ("Please log in", "You are not logged in to Airflow, or your session is over."),
    403: ("Not allowed", "You may not see this."),
    404: ("Not found", "There is no such page."),
    429: ("Too many requests", "Try again in a minute."),
    503: ("This cannot be shown now", "Try again in a minute."),
}


def refusal(request: Request, error: HTTPException) -> HTMLResponse:
    """The answer in place of a page."""
    title, text = SAID.get(error.status_code, ("This did not work", ""))
    known = str(error.detail) if error.status_code != 401 else text
    log_in = {"log_in": True} if error.status_code == 401 else {}
    response = render(request, "error", status=error.status_code, title=title, text=known or text, **log_in)
    response.headers.update(HEADERS)
    return response
