"""From the sentences of `mqops.look.words` to markup: the one place where a name, a time or a link becomes an element.

Every text passes `visible` and is escaped. What a part of a sentence is decides how it is shown, and never what is in
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from mqops.look.words import text as words
from mqops.look.words.shown_table import ShownCell, shown_table
from mqops.look.words.text import AirflowLink, Label, Lines, Link, OfRun, Part, ShortName, Text, Tick, Trend, Value
from mqops.printable import visible
from mqops_airflow.pages.charts import sparkline
from mqops_airflow.pages.shown import breaks, dated, lines, moment, shortened, since

COMMANDS = ("mqops ", "ALTER ", "DEFINE ", "DELETE ", "SET ", "START ", "REFRESH ", "RESET ")
"""What a command of ours, and one of MQSC, begins with."""


@pass_context
def told(context: Context, text: Value | None) -> Markup | str:
    """A sentence, or a part of a sentence, as markup; None is a dash."""
    if isinstance(text, Text):
        return Markup("").join(_shown(context, part) for part in text.parts)
    if text is None:
        return "–"
    return f"{text:,}" if isinstance(text, int) else _shown(context, text)


def _shown(context: Context, part: Part) -> Markup:
    if isinstance(part, str):
        return _styled(part)
    if isinstance(part, Label):
        return label(part.said, part.kind)
    if isinstance(part, OfRun):
        return _of_run(context, part)
    if isinstance(part, Link):
        return _link(context, part, dated(part.said) if part.kind == "" and " " in part.said else breaks(part.said))
    if isinstance(part, AirflowLink):
        path = f"{context['airflow']}{part.path}"
        return Markup('<a href="{}" data-airflow-page>{}</a>').format(path, visible(part.said))
    return _drawn(context, part)


def _drawn(context: Context, part: Tick | Trend | Lines) -> Markup:
    if isinstance(part, Trend):
        return sparkline(part.numbers, label=part.said)
    return _tick(part) if isinstance(part, Tick) else _lines(context, part)


def _lines(context: Context, lines: Lines) -> Markup:
    made = (Markup("<div{}>{}</div>").format(_kind(lines.kind), told(context, text)) for text in lines.texts)
    return Markup("").join(made)


def _tick(tick: Tick) -> Markup:
    of = {"name": "message_ids", "value": tick.msg_id, "data-listed": "", "data-queue": tick.queue}
    return Markup('<input type="checkbox"{}>').format(attributes({**of, "aria-label": visible(tick.said)}))


_ELEMENTS: Mapping[type[str], tuple[Markup, Callable[[str], str]]] = {
    words.Name: (Markup('<span class="name">{}</span>'), breaks),
    words.StrongName: (Markup('<strong class="name">{}</strong>'), visible),
    words.Breaks: (Markup("{}"), breaks),
    words.Strong: (Markup("<strong>{}</strong>"), visible),
    words.Discards: (Markup('<span class="discards">{}</span>'), visible),
    words.Quiet: (Markup('<span class="quiet">{}</span>'), visible),
    words.FileLine: (Markup('<code class="line">{}</code>'), lambda line: lines([line])),
    words.Code: (Markup("<code>{}</code>"), visible),
    words.Time: (Markup("{}"), moment),
    words.Ago: (Markup("{}"), since),
}
"""What a part of a sentence is → its element, and what makes its words."""


def _styled(part: str) -> Markup:
    if isinstance(part, ShortName):
        return Markup('<span title="{}" class="name">{}</span>').format(visible(part), breaks(shortened(part)))
    if isinstance(part, words.Code) and part.startswith(COMMANDS):
        return to_copy(part)
    element, shown = _ELEMENTS.get(type(part), (Markup("{}"), dated))
    return element.format(shown(part))


def _of_run(context: Context, of: OfRun) -> Markup:
    query = {"queue_manager": of.queue_manager, "run": of.run}
    if of.short:
        return _link(context, Link("", "run", query, title=of.run), breaks(shortened(of.run)))
    before, hole, behind = of.said.partition("{}")
    words = dated(before) + (breaks(of.run) if hole else "") + dated(behind)
    return _link(context, Link("", "run", query, kind="name" if hole else ""), words)


def copies(text: str, what: str) -> Markup:
    """A button that copies a text. Parameters: `what` the text is."""
    told = {"data-copy": visible(text), "aria-label": f"Copy {what} {visible(text)}"}
    return Markup(' <button type="button" class="copy"{}>Copy</button>').format(attributes(told))


def to_copy(text: str) -> Markup:
    """A command, with the button that copies it."""
    return Markup("<code>{}</code>{}").format(visible(text), copies(text, "command"))


def _kind(kind: str) -> Markup:
    return Markup(' class="{}"').format(kind) if kind else Markup("")


def _link(context: Context, link: Link, words: Markup) -> Markup:
    title = Markup(' title="{}"').format(visible(link.title)) if link.title else ""
    made = Markup('<a{} href="{}"{}>{}</a>').format(_kind(link.kind), address(context, link), title, words)
    return made + copies(link.query["msg_id"], "MsgId") if link.page == "messages/one" else made


@pass_context
def address(context: Context, link: Link) -> str:
    """The address that a link leads to."""
    path = f"{context['root']}/{link.page}" if link.page else ""
    query = "&".join(f"{name}={quote(value, safe='/')}" for name, value in link.query.items())
    return f"{path}{'?' if query else ''}{query}{'#' if link.place else ''}{quote(link.place, safe='')}"


@pass_context
def to_page(context: Context, page: str, words: str, *, place: str = "", kind: str = "", **query: Any) -> Markup:
    """A link to one of our pages for the queue manager of the page. Parameters: `query` name → value, without the
    values that are None or blank; `queue_manager` in it names another one."""
    named = {"queue_manager": context["queue_manager"], **query}
    kept = {name: str(value) for name, value in named.items() if value not in {None, ""}}
    return _shown(context, Link(words, page, kept, place, kind=kind))


@pass_context
def to_dag(context: Context, dag_id: str, words: str = "") -> Markup:
    """A link to a DAG in Airflow."""
    return _shown(context, AirflowLink(words or dag_id, f"/dags/{quote(dag_id, safe='/')}"))


@pass_context
def cell(context: Context, column: words.Column, shown: ShownCell) -> Markup:
    """A cell of a table. Parameters: `shown` what stands in the column."""
    value = shown.value
    words = breaks(value) if column.kind == "name" and type(value) is str else told(context, value)
    by = shown.by if shown.by != str(value) else None
    more = attributes({"data-value": by, "data-nil": "" if shown.nil else None})
    if column.heads:
        return Markup('<th{} scope="row"{}>{}</th>\n').format(_kind(column.kind), more, words)
    return Markup("<td{}{}>{}</td>\n").format(_kind(column.kind), more, words)


@pass_context
def said(context: Context, texts: Value | Iterable[Value] | None, kind: str = "", word: str = "") -> Markup:
    """A paragraph for each sentence; nothing without a sentence.

    Parameters: `kind` as of the style sheet, such as `problem note`; `word` in front of each sentence.
    """
    before = Markup("<strong>{}:</strong> ").format(word) if word else Markup("")
    made = (Markup("<p{}>{}{}</p>\n").format(_kind(kind), before, told(context, one)) for one in _each(texts))
    return Markup("").join(made)


@pass_context
def listed(context: Context, texts: Iterable[Value]) -> Markup:
    """A list of sentences; nothing without a sentence."""
    items = [Markup("<li>{}</li>\n").format(told(context, one)) for one in texts]
    return Markup("<ul>\n{}</ul>\n").format(Markup("").join(items)) if items else Markup("")


def _each(texts: Value | Iterable[Value] | None) -> Iterable[Value]:
    if not texts:
        return ()
    return texts if isinstance(texts, list | tuple) else (texts,)


def label(word: str, kind: str = "quiet") -> Markup:
    """A word with a colour. Parameters: `kind` as of `mqops.look.words.text.Label`."""
    return Markup('<span class="badge {}">{}</span>').format(kind, visible(word))


def empty(text: str) -> Markup:
    """The sentence in place of a table without rows."""
    return Markup('<p class="empty">{}</p>\n').format(visible(text))


@pass_context
def to_airflow(context: Context, path: str, words: str) -> Markup:
    """A link to a page of Airflow. Parameters: `path` with a first slash, its parts quoted."""
    return _shown(context, AirflowLink(words, path))


def attributes(of: Mapping[str, object]) -> Markup:
    """The attributes of an element, each with a blank before it. Parameters: `of` name → value; None leaves the
    attribute out, and a blank value gives an attribute without one."""
    shown = (
        Markup(" {}").format(name) if value == "" else Markup(' {}="{}"').format(name, value)
        for name, value in of.items()
        if value is not None and value is not False
    )
    return Markup("").join(shown)


FILTERS = (told, attributes, address, cell, shown_table)
GLOBALS = (said, listed, label, empty, to_airflow, to_dag, to_page, copies, to_copy)
"""What templates call."""
