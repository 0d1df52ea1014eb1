"""A sentence for people as a value: words of ours, and between them names, times, links and labels.

1. The words are constants of ours. Text of others (names, reasons, errors) is a value in a hole of them, so that a page
   shows it as text, whatever is in it.
2. A page makes markup of a sentence in one place (`mqops_airflow.pages.told`); `str` makes plain text of it.
3. A table is a value, too: columns, and rows of sentences. No template asks what stands in a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Name:
    """A name of an object, a person or a file, which a page may break. Parameters: `strong` whether it stands out;
    `title` what more is said where a mouse rests on it."""

    text: str
    strong: bool = False
    title: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Breaks:
    """Words that a page may break where a name breaks, with no element of their own."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Time:
    """A moment. Parameters: `at` ISO 8601 UTC, blank where it is not known."""

    at: str

    def __str__(self) -> str:
        return self.at or "–"


@dataclass(frozen=True, slots=True)
class Ago:
    """How long ago a moment was. Parameters: `at` ISO 8601 UTC."""

    at: str

    def __str__(self) -> str:
        return self.at or "–"


@dataclass(frozen=True, slots=True)
class Code:
    """A command or a word of a file."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Strong:
    """A figure or a word that stands out."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Quiet:
    """Words that stand back. Parameters: `name` whether they are a name, which a page may break."""

    text: str
    name: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Label:
    """A word with a colour. Parameters: `kind` good, bad, warn, note or quiet."""

    word: str
    kind: str = "quiet"

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class OfRun:
    """A run, with the link to its page. Parameters: `said` the words for it, with its key in their hole."""

    queue_manager: str
    run: str
    said: str = "run {}"

    def __str__(self) -> str:
        return self.said.format(self.run)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a page of ours.

    Parameters: `page` the path of the page without its first slash, "" for the page on which it stands; `query` name →
    value; `place` the element of the page; `title` what more is said where a mouse rests on it; `kind` as of a page's
    style: mono, name.
    """

    said: str
    page: str = ""
    query: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    place: str = ""
    title: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return self.said


@dataclass(frozen=True, slots=True)
class AirflowLink:
    """A link to a page of Airflow's own. Parameters: `path` with a first slash, its parts quoted."""

    said: str
    path: str

    def __str__(self) -> str:
        return self.said


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines below each other, as in a cell of a table. Parameters: `kind` as of a page's style, such as `quiet`."""

    texts: tuple[Text, ...]
    kind: str = ""

    def __str__(self) -> str:
        return "\n".join(map(str, self.texts))


Part = str | Name | Breaks | Time | Ago | Code | Strong | Quiet | Label | OfRun | Link | AirflowLink | Lines


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


NOTHING = Text()
Value = Text | Part | int
"""What stands in a hole of a sentence."""


def said(template: str, /, *values: Value) -> Text:
    """Words of ours with values in their holes, `{}`. Raises `ValueError` for another number of values than of holes.

    Parameters: `template` a constant; `values` in the order of the holes, whole numbers with separators of thousands.
    """
    words = template.split("{}")
    parts = list(_parts(words[0]))
    for value, behind in zip(values, words[1:], strict=True):
        parts += [*_parts(value), *_parts(behind)]
    return Text(tuple(parts))


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
    return () if value == "" else (value,)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Parameters: `kind` as of a page's style: number, name, text, mono; `heads` whether its cells
    are the headings of the rows; `title` what more is said where a mouse rests on its heading."""

    heading: str
    kind: str = ""
    heads: bool = False
    title: str = ""


Cell = Text | Part | int | None
"""What stands in a table: a sentence, a text of others, a number, None for what is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. Parameters: `caption` what it is about; `rows` a cell for each column; `ids` the element of each row,
    empty where no link leads to a row."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    ids: Sequence[str] = ()
