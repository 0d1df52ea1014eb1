"""A sentence for people as a value: words of ours, and between them names, times, links and labels.

1. The words are constants of ours. Text of others (names, reasons, errors) is a value in a hole of them, so that a page
   shows it as text, whatever is in it. A hole says what its value is: `{}`, `{:name}`, `{:time}` (`STYLES`).
2. A page makes markup of a sentence in one place (`mqops_airflow.pages.told`); `str` makes plain text of it.
3. A table is a value, too: headings, and rows of sentences. No template asks what stands in a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Name(str):
    """A name of an object, a person or a file, which a page may break."""


class StrongName(Name):
    """A name that stands out."""


class ShortName(Name):
    """A long name, such as the key of a run, in a narrow place: its beginning and its end."""


class Key(Name):
    """The key of a run, which stands back: a run is called by what it is (`mqops.look.words.run_name`)."""


class Breaks(str):
    """Words that a page may break where a name breaks, with no element of their own."""


class Time(str):
    """A moment, ISO 8601 UTC, blank where it is not known."""

    def __str__(self) -> str:
        return super().__str__() or "–"


class Ago(Time):
    """How long ago a moment was."""


class Code(str):
    """A command or a word of a file."""


class FileLine(str):
    """A line of a file, with its blanks."""


class Strong(str):
    """A figure or a word that stands out."""


class Quiet(str):
    """Words that stand back."""


class Discards(str):
    """Words about messages that are discarded, in the colour that they have everywhere."""


STYLES: Mapping[str, type[str]] = {
    "name": Name,
    "strong_name": StrongName,
    "short_name": ShortName,
    "key": Key,
    "breaks": Breaks,
    "time": Time,
    "ago": Ago,
    "code": Code,
    "file_line": FileLine,
    "strong": Strong,
    "discards": Discards,
}
"""What a hole of a sentence is called → what its value is."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words with something that a page makes of them."""

    said: str

    def __str__(self) -> str:
        return self.said


@dataclass(frozen=True, slots=True)
class Label(Words):
    """A word with a colour. Parameters: `kind` good, bad, warn, note or quiet."""

    kind: str = "quiet"


@dataclass(frozen=True, slots=True)
class Link(Words):
    """A link to a page of ours.

    Parameters: `page` the path of the page without its first slash, "" for the page on which it stands; `query` name →
    value; `place` the element of the page; `title` what more is said where a mouse rests on it; `kind` as of a page's
    style: mono, name.
    """

    page: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    title: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class AirflowLink(Words):
    """A link to a page of Airflow's own. Parameters: `path` with a first slash, its parts quoted."""

    path: str


@dataclass(frozen=True, slots=True)
class Tick(Words):
    """A box that chooses a message of a list. Parameters: `said` what it chooses; `msg_id` in hex; `queue` of the
    message."""

    msg_id: str
    queue: str


@dataclass(frozen=True, slots=True)
class OfRun:
    """A run, with the link to its page. Parameters: `said` the words for it, with a hole where a page has its name and,
    small, its key, and plain text has its key; `short` whether it stands in a cell of a table."""

    queue_manager: str
    run: str
    said: str = "run {}"
    short: bool = False

    def __str__(self) -> str:
        return self.said.format(self.run)


def of_message(queue_manager: str, run: str, msg_id: str, *, queue: str = "", position: str = "") -> Link:
    """A message, with the link to its page. Parameters: `queue` and `position` where the MsgId alone may not do."""
    of = {"queue_manager": queue_manager, "run": run, "queue": queue, "msg_id": msg_id, "position": position}
    return Link(msg_id, "messages/one", {name: value for name, value in of.items() if value}, kind="mono name")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines below each other, as in a cell of a table. Parameters: `kind` as of a page's style, such as `quiet`."""

    texts: Sequence[Value]
    kind: str = ""

    def __str__(self) -> str:
        return "\n".join(map(str, self.texts))


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence, or some. Nothing is said where it has no parts."""

    parts: tuple[Part, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def __add__(self, other: Text) -> Text:
        return Text(self.parts + other.parts)


@dataclass(frozen=True, slots=True)
class Trend(Words):
    """Numbers one after another, drawn small. Parameters: `said` what they are; `numbers` None for one that is not
    known."""

    numbers: Sequence[int | None]


Part = str | Label | OfRun | Link | AirflowLink | Tick | Lines | Trend
Value = Text | Part | int
"""What stands in a hole of a sentence."""
Cell = Value | None
"""What stands in a table: a sentence, a text of others, a number, None for what is not known."""
NOTHING = Text()
_VALUE = r"\((?!\.\.\.)(?:'(?:''|[^'])*+'|[^()'a-z])*+\)"
_KEYWORD = rf"[A-Z]++(?:{_VALUE})?+"
_MQSC = rf"(?:ALTER|DEFINE|DISPLAY|START) (?:QMGR |(?=[A-Z]+\()){_KEYWORD}(?: {_KEYWORD}(?![a-z]))*+"
_COMMAND = re.compile(rf"`([^`]+)`|\b{_MQSC}(?! ?[A-Z]*\()")
"""A command in a remedy. With a value in small letters and no quotation marks, or "...", it is none: a person has to
put another value there."""
_HOLE = re.compile(r"\{(?::(\w+))?\}")


def said(template: str, /, *values: Value) -> Text:
    """Words of ours with values in their holes. Raises `ValueError` for another number of values than of holes.

    Parameters: `template` a constant; `values` in the order of the holes, whole numbers with separators of thousands.
    """
    first, *rest = _HOLE.split(template)
    parts = list(_parts(first))
    for style, value, behind in zip(rest[::2], values, rest[1::2], strict=True):
        text = f"{value:,}" if isinstance(value, int) else value
        parts += [*_parts(STYLES[style](text) if style else text), *_parts(behind)]
    return Text(tuple(parts))


def with_commands(remedy: str) -> Text:
    """What to do, with its commands: those in backticks, and those of MQSC, which begin with a verb and an object in
    capitals. Parameters: `remedy` words of ours, in which no text of others stands but names of MQ objects."""
    parts: list[Part] = []
    at = 0
    for found in _COMMAND.finditer(remedy):
        parts += [*_parts(remedy[at : found.start()]), Code(found[1] or found[0])]
        at = found.end()
    return Text((*parts, *_parts(remedy[at:])))


def joined(between: str, texts: Iterable[Value]) -> Text:
    """Sentences, or parts of one, with words of ours between them."""
    parts: list[Part] = []
    for text in texts:
        parts += [*(_parts(between) if parts else ()), *_parts(text)]
    return Text(tuple(parts))


def sentences(*texts: Value) -> Text:
    """Sentences with a blank between them; those that say nothing are passed over."""
    return joined(" ", (text for text in texts if text))


def _parts(value: Value) -> tuple[Part, ...]:
    if isinstance(value, Text):
        return value.parts
    if isinstance(value, int):
        return (f"{value:,}",)
    return () if type(value) is str and not value else (value,)


class Column(NamedTuple):
    """A column of a table. Parameters: `kind` as of a page's style: number, name, text, mono; `heads` whether its cells
    are the headings of the rows; `stays` whether it is shown even where all rows have the same."""

    heading: str
    kind: str
    heads: bool
    stays: bool = False


class Table(NamedTuple):
    """A table. Parameters: `caption` what it is about; `headings` of its columns, as in "*Queue|name": the star where
    its cells are the headings of the rows, "!" where it stays though all rows have the same, its kind behind the
    stroke; `rows` a cell for each column; `ids` of the rows on the page, if they have any; `part` whether there are
    more rows than these."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    ids: Sequence[str] = ()
    part: bool = False

    @property
    def columns(self) -> list[Column]:
        """The columns."""
        parts = [one.partition("|") for one in self.headings]
        return [Column(words.lstrip("*!"), kind, words[:1] == "*", words[:1] == "!") for words, _, kind in parts]
