"""Markdown for Airflow's UI, which renders notes, questions and the DAGs' documentation with links and pictures. Pure.

1. `Markdown` is made here only, from words of ours with holes. Text of others (names, reasons, errors, fields of
   messages, values of a form) that is put into a hole becomes code, so nothing in it is a link, a picture or a heading.
   GitHub's Markdown, which Airflow speaks, makes links of bare addresses, too, but not in code.
2. What takes Markdown takes no `str`: mypy refuses a text that was put together in any other way.
3. A code span ends on the line on which it begins, and holds no backtick: a text that is cut or stands in a table keeps
   its spans closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from enum import Enum
from urllib.parse import quote

from mqops.counted import counted
from mqops.printable import visible

_PATH = re.compile(
    r"(?:\bfile:/*|(?<![\w.:/…])(?<!\]\())/(?:[^\s/`'\"|¦;,()<>]+/)*(?P<name>[^\s/`'\"|¦;,()<>]+)/?", re.IGNORECASE
)
"""An absolute path of a file. Where a link leads is none."""
_WORDS = re.compile(r"[A-Za-z0-9]+(?:(?:[,;:]? |,)[A-Za-z0-9]+)*")
_LINK = re.compile(r"\[(?P<words>[^\[\]]*)\]\([^()\s]*\)")
_OPEN_LINK = re.compile(r"\[[^\[\]`]*(?:\]\([^()\s]*)?$")
"""The beginning of a link at the end of a text; one in code is none."""


class Markdown(str):
    """A text that Airflow may render. Made by the functions of this file only."""

    __slots__ = ()


NOTHING = Markdown()


def md(template: str, /, *values: object, **named: object) -> Markdown:
    """Words of ours with values in their holes, as `str.format` counts and names them.

    Parameters: `template` Markdown, a constant, no hole of which stands in code; `values` Markdown, which stays as it
    is, numbers, lengths of time, members of an Enum of ours, and text of others, which becomes code.
    """
    return Markdown(template.format(*map(_shown, values), **{name: _shown(value) for name, value in named.items()}))


def _shown(value: object) -> str:
    match value:
        case Markdown():
            return value
        case Enum():
            return str(value.value)
        case int() | timedelta():
            return str(value)
    return code(value)


def code(text: object) -> Markdown:
    """Text of others as code in one line, without blanks around it; nothing stays nothing. What could end the code or a
    table's cell is replaced by a character that looks like it."""
    shown = visible(text).replace("`", "'").replace("|", "¦").strip()
    return Markdown(f"`{shown}`" if shown else "")


def words(text: object) -> Markdown:
    """Text as it stands where it is nothing but words and numbers (letters and digits of ASCII with blanks, commas,
    semicolons and colons between them), of which Markdown makes nothing; any other text as code."""
    found = str(text)
    return Markdown(found) if _WORDS.fullmatch(found) else code(found)


def number(count: int, one: str, many: str = "") -> Markdown:
    """`1 message`, `2 messages`. Parameters: `one` and `many` words of ours."""
    return Markdown(counted(count, one, many) if many else counted(count, one))


def thousands(count: int) -> Markdown:
    """`1,234`."""
    return Markdown(f"{count:,}")


def joined(between: str, parts: Iterable[object]) -> Markdown:
    """Parts as the values of `md`, with words of ours between them."""
    return Markdown(between.join(map(_shown, parts)))


def link(said: str, to: str) -> Markdown:
    """A link. Parameters: `said` words of ours; `to` an address of ours, whose parts are quoted."""
    return Markdown(f"[{said}]({quote(to, safe='/:?&=%#+,@.~-_')})")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Markdown:
    """A table. Parameters: `headings` words of ours; `rows` cells as the values of `md`."""
    lines = [headings, ["---"] * len(headings), *([_shown(cell) for cell in row] for row in rows)]
    return Markdown("\n".join(f"| {' | '.join(cells)} |" for cells in lines))


def plain(text: Markdown) -> str:
    """The same for a log: without the addresses of its links, and without the marks of code."""
    return _LINK.sub(r"\g<words>", text).replace("`", "")


def without_paths(text: Markdown) -> Markdown:
    """The same with the last part alone of each absolute path: where files lie on a machine is not for everybody."""
    return Markdown(_PATH.sub(r"…/\g<name>", text))


def shortened(text: Markdown, longest: int) -> Markdown:
    """The same with so many characters at most; code that is cut stays code, and a link that is cut is left off."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 2]
    if cut.rpartition("\n")[2].count("`") % 2 == 0:
        cut = _OPEN_LINK.sub("", cut)
    elif cut.endswith("`"):
        cut = cut[:-1]
    else:
        cut += "`"
    return Markdown(f"{cut}…")
