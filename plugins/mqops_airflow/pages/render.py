"""From values to HTML: Jinja2 with escaping, and the filters of the templates.

Every text that a template shows passes `visible` and is escaped, unless a filter of this file made it.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from mqops.counted import counted
from mqops_airflow.pages import charts, shown, tables, told
from mqops_airflow.pages.security import Reader
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import PAGES, PREFIX, Page
from mqops_airflow.ui.views import address, airflow_path

FOLDER = Path(__file__).parent


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A template with its values.

    Parameters: `template` its name without `.html`; `status` the HTTP status.
    """
    return answered(request, made(root_of(request), template, **values), status=status)


def made(root: str, template: str, **values: Any) -> Markup:
    """What a template makes of its values. Parameters: `root` as of `root_of`; `template` as of `render`."""
    found = _environment().get_template(f"{template}.html")
    who = values.get("who")
    given = {"page": None, "lake": str(lake(who.estate)) if who else "", **values}
    text = found.render(root=root, airflow=airflow_path(), menu=PAGES, version=_version(), **given)
    return Markup(text)  # noqa: S704 - the template has escaped its values


def root_of(request: Request) -> str:
    """Where the pages lie: the path before that of each page."""
    return str(request.scope.get("root_path", "").rstrip("/"))


def answered(request: Request, text: str, *, status: int = 200) -> HTMLResponse:
    """The answer that has this text, or that nothing in it is new to the reader (304)."""
    state = f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'
    if status == 200 and request.headers.get("if-none-match") == state:  # a live part of which nothing is new
        return HTMLResponse(status_code=304, headers={"ETag": state})
    return HTMLResponse(text, status_code=status, headers={"ETag": state})


def render_page(
    request: Request,
    page: Page,
    who: Reader,
    queue_manager: str,
    *,
    template: str = "",
    status: int = 200,
    **values: Any,
) -> HTMLResponse:
    """A page of the table, or its live part where the path asks for that.

    Parameters: `queue_manager` that it is about, "" for all; `template` of another part.
    """
    named = {"page": page, "who": who, "queue_manager": queue_manager}
    part = f"{page.name}_live" if request.scope["path"].endswith("/live") else page.name
    return render(request, template or part, status=status, **named, **values)


def line_of_markdown(text: str) -> Markup:
    """A line of the note of a run, as `of_markdown` shows it, without a paragraph of its own."""
    return Markup(_markdown().renderInline(_with_paths(text)))  # noqa: S704 - markup of the text itself is escaped


def of_markdown(text: str) -> Markup:
    """The Markdown that a task wrote for the note of its run, with tables. Only links to our own pages are links
    (`is_own_page`); in the note they have the host."""
    return Markup(_markdown().render(_with_paths(text)))  # noqa: S704 - markup of the text itself is escaped


def _with_paths(note: str) -> str:
    """A note with the paths of our own pages in place of their addresses."""
    return note.replace(f"]({address('').removesuffix('?')}", f"]({airflow_path()}{PREFIX}/")


def is_own_page(url: str) -> bool:
    """Whether a link leads to one of our pages, however a browser reads it: it has no host, and each part of its path
    is a plain name, so no step up, no backslash, and none of these in another spelling."""
    own = f"{airflow_path()}{PREFIX}/"
    if not url.startswith(own):
        return False
    page, *parts = re.split(r"[?#]", url.removeprefix(own), maxsplit=1)[0].split("/")
    return page in OWN and all(_NAME.fullmatch(unquote(part)) for part in parts)


OWN = frozenset({*(page.name for page in PAGES), "data_docs"})
"""The first part of the path of every page of ours."""
_NAME = re.compile(r"(?!\.+$)[\w.~:+@,=-]+")


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    made.validateLink = is_own_page
    scrolls = '<div class="scrolls" role="region" aria-label="Table of the note" tabindex="0"><table>'
    made.add_render_rule("table_open", lambda *_rest: scrolls)
    made.add_render_rule("table_close", lambda *_rest: "</table></div>")
    return made


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,  # it would look at each file of a page each time
        undefined=StrictUndefined,
        finalize=shown.finish,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        {one.__name__: one for one in (*shown.FILTERS, *told.FILTERS, line_of_markdown, of_markdown, counted)}
    )
    made.globals.update({one.__name__: one for one in (*told.GLOBALS, tables.rows, charts.sparkline, shown.options)})
    return made


@cache
def _version() -> str:
    """Names the state of the static files, so that a browser keeps none of before."""
    content = b"".join(path.read_bytes() for path in sorted((FOLDER / "static").iterdir()))
    return hashlib.sha256(content).hexdigest()[:12]
