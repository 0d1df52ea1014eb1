"""The routes of all pages as one FastAPI application, and what it answers when something is wrong."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mqops.errors import MqopsError
from mqops.printable import printable
from mqops_airflow.pages import chosen, data_docs, message_one, queue_names
from mqops_airflow.pages.headers import HEADERS
from mqops_airflow.pages.not_yet import NotYet
from mqops_airflow.pages.refusal import refusal
from mqops_airflow.pages.render import FOLDER, render
from mqops_airflow.pages.security import person
from mqops_airflow.ui.table import PAGES, page

log = logging.getLogger(__name__)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def application() -> FastAPI:
    """The application with every page of the table."""
    made = FastAPI(title="mqops", docs_url=None, redoc_url=None, openapi_url=None)
    for one in PAGES:
        made.include_router(import_module(f"mqops_airflow.pages.{one.name}").router(one))
    made.include_router(message_one.router(page("messages")))
    for other in (data_docs, chosen, queue_names):
        made.include_router(other.router())
    logged_in = Depends(person)

    @made.get("/", dependencies=[logged_in])
    def first(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}{PAGES[0].path}")

    @made.get("/static/{name}", dependencies=[logged_in])
    def static(name: str) -> Response:
        found = {path.name: path for path in (FOLDER / "static").iterdir()}.get(name)
        if found is None:
            raise HTTPException(404, "There is no such file")
        headers = {"Cache-Control": "private, max-age=86400"}
        return FileResponse(found, media_type=TYPES[found.suffix], headers=headers)

    made.add_middleware(_WithHeaders)
    made.add_exception_handler(StarletteHTTPException, _refused)
    made.add_exception_handler(RequestValidationError, _misspelt)
    made.add_exception_handler(MqopsError, _failed)
    made.add_exception_handler(Exception, _broken)
    return made


class _WithHeaders:
    """Adds the headers of every answer. A middleware of Starlette's own kind (`middleware("http")`) would cost each
    answer a task and a queue."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


def _refused(request: Request, error: Any) -> Response:
    if isinstance(error, NotYet):
        text = str(error.detail)
        return render(request, "not_yet", status=error.status_code, page=page("run"), text=text, missing=error)
    return refusal(request, error)


def _misspelt(request: Request, error: Any) -> Response:
    problems = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    return render(request, "error", status=422, title="This address is not complete", text=problems)


def _failed(request: Request, error: Any) -> Response:
    """The answer to an error of mqops: the lake, the estate or a queue manager does not answer as it should."""
    return render(request, "error", status=503, title="This cannot be shown now", text=str(error))


def _broken(request: Request, error: Any) -> Response:
    log.error("page %s failed", printable(request.url.path), exc_info=error)
    text = "The page has an error. The log of Airflow's API server has the details."
    response = render(request, "error", status=500, title="This page is broken", text=text)
    response.headers.update(HEADERS)  # an error of this kind passes no middleware
    return response
