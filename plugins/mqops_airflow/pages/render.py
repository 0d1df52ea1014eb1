"""From values to HTML: Jinja2 with escaping, and the filters of the templates.

Every text that a template shows passes `visible` and is escaped, unless a filter of this file made it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from mqops.counted import counted, length_of_time
from mqops.printable import visible
from mqops_airflow.pages import charts
from mqops_airflow.pages.security import Reader
from mqops_airflow.ui.table import PAGES, PREFIX, Page
from mqops_airflow.ui.views import address, airflow_path

FOLDER = Path(__file__).parent
SHORT = 24
"""Characters of a name that are shown where there is little room."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A template with its values.

    Parameters: `template` its name without `.html`; `status` the HTTP status.
    """
    root = request.scope.get("root_path", "").rstrip("/")
    made = _environment().get_template(f"{template}.html")
    text = made.render(root=root, airflow=airflow_path(), menu=PAGES, version=_version(), **{"page": None, **values})
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
    """A page of the table, or a part of it.

    Parameters: `queue_manager` that it is about, "" for all; `template` where it is not that of the page's name.
    """
    named = {"page": page, "who": who, "queue_manager": queue_manager}
    return render(request, template or page.name, status=status, **named, **values)


def number(value: int | None) -> str:
    """1234567 as 1,234,567; nothing known is a dash."""
    return "–" if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """Bytes as people read them."""
    if value is None:
        return "–"
    amount, unit = float(value), 0
    while amount >= 1024 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} {UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:.1f} {UNITS[unit]}"


def age(seconds: float | timedelta | None) -> str:
    """A length of time: the two largest units of it; nothing known is a dash."""
    if seconds is None:
        return "–"
    return length_of_time(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)


def since(when: str | datetime | None) -> str:
    """How long ago a time was, ISO 8601 or a datetime."""
    found = _time(when)
    return "–" if found is None else age((datetime.now(UTC) - found).total_seconds())


def moment(when: str | datetime | None) -> Markup | str:
    """A time, UTC, to the second, as an element that browsers and screen readers know for one."""
    found = _time(when)
    if found is None:
        return "–"
    return Markup('<time datetime="{}">{}</time>').format(found.isoformat(), f"{found:%Y-%m-%d %H:%M:%S} UTC")


def breaks(value: Any) -> Markup:
    """A name that a narrow column breaks behind a point, a hyphen or the like, and not within a word."""
    return Markup("–") if value is None else _broken(str(value))


def below(text: str, folder: Path) -> str:
    """A text that begins with the path of a file, with the path as it is below a folder: where the folder lies is not
    for everybody. Of a file elsewhere only the name is left."""
    if not text.startswith("/"):
        return text
    for place in (folder, folder.resolve()):
        if text.startswith(f"{place}/"):
            return text.removeprefix(f"{place}/")
    path, joint, rest = text.partition(" as run ")
    return f"{path.rsplit('/', 1)[-1]}{joint}{rest}"


def shortened(name: str) -> str:
    """The beginning and the end of a long name, for a place that is narrow: the whole name stands in its title."""
    return name if len(name) <= SHORT else f"{name[: SHORT - 9]}…{name[-6:]}"


def dated(text: str) -> Markup:
    """A text, in one line, with the times in it, ISO 8601, as `moment` shows them. What is no possible time stays."""
    parts = _TIME.split("; ".join(text.split("\n")))
    return Markup("").join(moment(part) if _time(part) else visible(part) for part in parts)


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))")


def line_of_markdown(text: str) -> Markup:
    """A line of the note of a run, as `of_markdown` shows it, without a paragraph of its own."""
    return Markup(_markdown().renderInline(_with_paths(text)))  # noqa: S704 - markup of the text itself is escaped


def of_markdown(text: str) -> Markup:
    """What a task wrote in Markdown for the note of its run, with tables; of links those to our own pages only
    (`is_own_page`), which a note has with the host."""
    return Markup(_markdown().render(_with_paths(text)))  # noqa: S704 - markup of the text itself is escaped


def _with_paths(note: str) -> str:
    """A note with the paths of our own pages in place of their addresses."""
    return note.replace(f"]({address('').removesuffix('?')}", f"]({airflow_path()}{PREFIX}/")


def is_own_page(url: str) -> bool:
    """Whether a link leads to a page of ours, however a browser reads it: no host, and in each part of its path
    nothing but a name, so no step up, no backslash, and nothing of them in another spelling."""
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


@lru_cache(maxsize=4096)
def _broken(text: str) -> Markup:
    return Markup("<wbr>").join(re.split(r"(?<=[._@,-])", visible(text)))


def _time(when: str | datetime | None) -> datetime | None:
    if not when:
        return None
    try:
        found = datetime.fromisoformat(when) if isinstance(when, str) else when
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # no time, or one that is before the year 1 or behind 9999 in UTC
        return None


def finish(value: Any) -> Any:
    """What a template is about to show: text of others in one line, nothing hidden in it; None as a dash."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return "–"
    return visible(value) if isinstance(value, str) else value


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finish,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "number": number,
        "size": size,
        "age": age,
        "since": since,
        "moment": moment,
        "breaks": breaks,
        "below": below,
        "shortened": shortened,
        "dated": dated,
        "line_of_markdown": line_of_markdown,
        "of_markdown": of_markdown,
        "counted": counted,
    }
    made.filters.update(filters)
    made.globals.update(sparkline=charts.sparkline)
    return made


@cache
def _version() -> str:
    """Names the state of the static files, so that a browser keeps none of before."""
    content = b"".join(path.read_bytes() for path in sorted((FOLDER / "static").iterdir()))
    return hashlib.sha256(content).hexdigest()[:12]
