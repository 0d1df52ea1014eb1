"""Tables on the screen: no line is longer than the terminal is wide. What goes to a pipe or a file is not folded: there
a program reads it, line by line, and a MsgId has to be whole."""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Sequence

from mqops.cli.outcome import show_line
from mqops.printable import visible

ENDLESS = 1_000_000
"""Columns where there is no terminal."""


def width() -> int:
    """Columns of the terminal (COLUMNS, else what it says), without one as many as a line needs."""
    return max(40, shutil.get_terminal_size((ENDLESS, 24)).columns)


_COUNT = re.compile(r" *\d+ +| +")
"""How a row begins: a count, or blanks."""


def show_folded(text: str, *, indent: int | None = None) -> None:
    """Print a line, folded between words. A word that is longer than a line (a digest, a path) is left whole.

    Parameters: `indent` blanks before what is folded; None: as many as stand before the row's text, with its count.
    """
    if indent is None:
        begins = _COUNT.match(text)
        indent = min(len(begins[0]) if begins else 4, width() // 2)
    lines = textwrap.wrap(
        visible(text),
        width(),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        replace_whitespace=False,
    )
    for line in lines or [""]:
        show_line(line)


def show_lines(lines: Iterable[str]) -> None:
    """Print each line as `show_folded` does."""
    for line in lines:
        show_folded(line)


def show_command(line: str, *, indent: int = 4) -> None:
    """Print a command that can be pasted into a shell as it stands: a long one goes on behind a backslash.

    Parameters: `line` as `mqops.command.command` gives it; `indent` blanks before it.
    """
    rows: list[list[str]] = [[]]
    for word in map(shlex.quote, shlex.split(line)):
        if rows[-1] and indent + len(" ".join([*rows[-1], word])) + len(" \\") > width():
            rows.append([" " * 3])  # with the blank behind it: 4 more than the first row
        rows[-1].append(word)
    for row in rows[:-1]:
        show_line(f"{'':{indent}}{' '.join(row)} \\")
    show_line(f"{'':{indent}}{' '.join(rows[-1])}")


def show_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose cells are folded where it would be too wide."""
    from rich.console import Console  # noqa: PLC0415 - only where there is a table
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="")
    for name in heading:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(width=width(), color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        show_line(line.rstrip())
