"""From the sentences of `mqops.look.words` to markup: the one place where a name, a time or a link becomes an element.

Every text passes `visible` and is escaped. What a part of a sentence is decides how it is shown, and never what is in
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from mqops.clock import utc_now
from mqops.look.run_named import run_named
from mqops.look.words import text as words
from mqops.look.words.run_name import ASKERS
from mqops.look.words.text import AirflowLink, Label, Lines, Link, OfRun, Part, ShortName, Text, Tick, Trend, Value
from mqops.printable import visible
from mqops_airflow.pages.charts import sparkline
from mqops_airflow.pages.elements import attributes, element, in_a_row
from mqops_airflow.pages.shown import breaks, dated, lines, moment, shortened, since

COMMANDS = ("mqops ", "ALTER ", "DEFINE ", "DELETE ", "DISPLAY ", "SET ", "START ", "REFRESH ", "RESET ")
"""What a command of ours, and one of MQSC, begins with."""
Where: TypeAlias = Context | Mapping[str, str]
"""Where the pages lie: `root`, and `airflow` its own; and `lake`, "" where no run is named
(`mqops_airflow.pages.render`)."""


@pass_context
def told(context: Where, text: Value | None) -> Markup | str:
    """A sentence, or a part of a sentence, as markup; None is a dash."""
    if isinstance(text, Text):
        return in_a_row([_shown(context, part) for part in text.parts])
    if text is None:
        return "–"
    return f"{text:,}" if isinstance(text, int) else _shown(context, text)


def _shown(context: Where, part: Part) -> Markup:
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
        return element("a", visible(part.said), attributes({"href": path, "data-airflow-page": ""}))
    return _drawn(context, part)


def _drawn(context: Where, part: Tick | Trend | Lines) -> Markup:
    if isinstance(part, Trend):
        return sparkline(part.numbers, label=part.said)
    return _tick(part) if isinstance(part, Tick) else _lines(context, part)


def _lines(context: Where, lines: Lines) -> Markup:
    kind = _kind(lines.kind)
    return in_a_row([element("div", told(context, text), kind) for text in lines.texts])


def _tick(tick: Tick) -> Markup:
    of = {"name": "message_ids", "value": tick.msg_id, "data-listed": "", "data-queue": tick.queue}
    return Markup("<input{}>").format(attributes({"type": "checkbox", **of, "aria-label": visible(tick.said)}))


_ELEMENTS: Mapping[type[str], tuple[str, str, Callable[[str], str]]] = {
    words.Name: ("span", "name", breaks),
    words.StrongName: ("strong", "name", visible),
    words.Breaks: ("", "", breaks),
    words.Strong: ("strong", "", visible),
    words.Discards: ("span", "discards", visible),
    words.Quiet: ("span", "quiet", visible),
    words.FileLine: ("code", "line", lambda line: lines([line])),
    words.Code: ("code", "", visible),
    words.Time: ("", "", moment),
    words.Ago: ("", "", since),
}
"""What a part of a sentence is → its element, "" for none, the class of that, and what makes its words."""


def _styled(part: str) -> Markup:
    if isinstance(part, words.Key):
        return element("span", breaks(part), attributes({"class": "key"}))
    if isinstance(part, ShortName):
        return element("span", breaks(shortened(part)), attributes({"title": visible(part), "class": "name"}))
    if isinstance(part, words.Code) and part.startswith(COMMANDS):
        return to_copy(part)
    name, kind, shown = _ELEMENTS.get(type(part), ("", "", dated))
    return element(name, shown(part), _kind(kind)) if name else escape(shown(part))


def _of_run(context: Where, of: OfRun) -> Markup:
    """A run by what it is, with the link to its page; its key is small. Of a run that the lake has no more the key is
    all there is, and whole."""
    query = {"queue_manager": of.queue_manager, "run": of.run}
    before, hole, behind = of.said.partition("{}")
    if not hole:
        return _link(context, Link("", "run", query), dated(before))
    place = context.get("lake")
    name = run_named(Path(place), of.queue_manager, of.run, utc_now(), ASKERS) if place else ""
    to = Link("", "run", query, title=of.run, kind="name")
    if not name:
        return _link(context, to, in_a_row([dated(before), _styled(words.Key(of.run)), dated(behind)]))
    key = _key("div" if of.short else "span", of.run)
    if of.short:
        return _link(context, to, breaks(name)) + key
    return in_a_row([_link(context, to, in_a_row([dated(before), breaks(f'"{name}"'), dated(behind)])), " ", key])


def _key(kind: str, run: str) -> Markup:
    """The key of a run: small, its beginning and its end. Parameters: `kind` of element."""
    return element(kind, breaks(shortened(run)), attributes({"class": "key", "title": visible(run)}))


def copies(text: str, what: str) -> Markup:
    """A button that copies a text. Parameters: `what` the text is."""
    told = {"data-copy": visible(text), "aria-label": f"Copy {what} {visible(text)}"}
    return in_a_row([" ", element("button", "Copy", attributes({"type": "button", "class": "copy", **told}))])


def to_copy(text: str) -> Markup:
    """A command, with the button that copies it."""
    return element("code", visible(text)) + copies(text, "command")


_NO_KIND = Markup("")


def _kind(kind: str) -> Markup:
    return attributes({"class": kind}) if kind else _NO_KIND


def _link(context: Where, link: Link, words: Markup) -> Markup:
    title = visible(link.title) if link.title else None
    made = element("a", words, attributes({"class": link.kind or None, "href": address(context, link), "title": title}))
    return made + copies(link.query["msg_id"], "MsgId") if link.page == "messages/one" else made


@pass_context
def address(context: Where, link: Link) -> str:
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
def said(context: Where, texts: Value | Iterable[Value] | None, kind: str = "", word: str = "") -> Markup:
    """A paragraph for each sentence; nothing without a sentence.

    Parameters: `kind` as of the style sheet, such as `problem note`; `word` in front of each sentence.
    """
    before = element("strong", f"{word}:") + " " if word else ""
    of = _kind(kind)
    return in_a_row([element("p", in_a_row([before, told(context, one)]), of) + "\n" for one in _each(texts)])


@pass_context
def listed(context: Context, texts: Iterable[Value]) -> Markup:
    """A list of sentences; nothing without a sentence."""
    items = [element("li", told(context, one)) + "\n" for one in texts]
    return element("ul", in_a_row(["\n", *items])) + "\n" if items else Markup("")


def _each(texts: Value | Iterable[Value] | None) -> Iterable[Value]:
    if not texts:
        return ()
    return texts if isinstance(texts, list | tuple) else (texts,)


def label(word: str, kind: str = "quiet") -> Markup:
    """A word with a colour. Parameters: `kind` as of `mqops.look.words.text.Label`."""
    return element("span", visible(word), attributes({"class": f"badge {kind}"}))


def empty(text: str) -> Markup:
    """The sentence in place of a table without rows."""
    return element("p", visible(text), _kind("empty")) + "\n"


@pass_context
def to_airflow(context: Context, path: str, words: str) -> Markup:
    """A link to a page of Airflow. Parameters: `path` with a first slash, its parts quoted."""
    return _shown(context, AirflowLink(words, path))


FILTERS = (told, attributes, address)
GLOBALS = (said, listed, label, empty, to_airflow, to_dag, to_page, copies, to_copy)
"""What templates call."""
