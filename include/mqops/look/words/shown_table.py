"""A table as a page shows it: columns that say nothing of a row become sentences above it, and each cell has the value
by which its column is sorted. Pure.

1. A column that has no value in any row, or the same value in each, is a sentence. The sentence is about the rows of
   this table: where a page has some of the rows only, it says so. A filter hides rows and changes no sentence, which
   stays true of those that are left.
2. The headings of the rows, ticks, numbers other than 0, a single row, and the last column that is left are not folded.
3. A column is sorted by numbers where each of its values is one, with or without words behind it; lengths of time and
   sizes by their units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mqops.counted import counted
from mqops.look.words.text import Ago, Cell, Column, Lines, Table, Text, Tick, Value, joined, said

MANY = 10
"""Rows from which on a table has a filter, and on a telephone a button for the others."""
_NONE = {"", "–"}
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_NUMBER = re.compile(r"(?:at most |about )?([+-]?\d[\d,]*(?:\.\d+)?)(?: .*)?", re.DOTALL)


class ShownCell(NamedTuple):
    """A cell. Parameters: `by` what it is sorted by; `nil` whether it is nothing or 0, which a card leaves out."""

    value: Cell
    by: str
    nil: bool


class ShownColumn(NamedTuple):
    """A column that is left. Parameters: `by` number or text."""

    column: Column
    by: str


class ShownTable(NamedTuple):
    """A table to be shown. Parameters: `alike` the sentences in place of columns; `ids` of the rows, if they
    have any; `many` whether it has a filter."""

    caption: str
    alike: tuple[Text, ...]
    columns: list[ShownColumn]
    rows: list[list[ShownCell]]
    ids: Sequence[str]
    many: bool


def shown_table(table: Table) -> ShownTable:
    """The table with its columns folded."""
    columns, rows = table.columns, [list(row) for row in table.rows]
    of = [[row[place] for row in rows] for place in range(len(columns))]
    folds = [len(rows) > 1 and _folds(column, cells) for column, cells in zip(columns, of, strict=True)]
    if all(folds):
        folds[0] = False
    kept = [place for place, fold in enumerate(folds) if not fold]
    by = {place: _sorted_by(of[place]) for place in kept}
    return ShownTable(
        table.caption,
        _alike([(columns[place], of[place][0]) for place, fold in enumerate(folds) if fold], table),
        [ShownColumn(columns[place], by[place]) for place in kept],
        [[_cell(row[place], by[place]) for place in kept] for row in rows],
        table.ids,
        len(rows) > MANY,
    )


def _folds(column: Column, cells: list[Cell]) -> bool:
    if column.heads or column.stays or any(isinstance(part, Tick) for cell in cells for part in _parts(cell)):
        return False
    if all(map(_nothing, cells)):
        return True
    same = all(cell == cells[0] and type(cell) is type(cells[0]) for cell in cells)
    return same and (column.kind != "number" or _nil(cells[0]))


def _alike(folded: list[tuple[Column, Cell]], table: Table) -> tuple[Text, ...]:
    rows = f"{counted(len(table.rows), 'row')}{' of this page' if table.part else ''}"
    same = [said("{}: {}", column.heading, _in_sentence(cell)) for column, cell in folded if not _nothing(cell)]
    stop = "" if same and str(same[-1]).endswith(".") else "."  # a cell may be a sentence
    empty = ", ".join(column.heading for column, cell in folded if _nothing(cell))
    return (
        *((said("The same in all {}. {}{}", rows, joined("; ", same), stop),) if same else ()),
        *((said("Empty in all {}: {}.", rows, empty),) if empty else ()),
    )


def _in_sentence(cell: Cell) -> Text:
    """A value in a line: what stands in lines below each other is separated by semicolons."""
    parts = [joined("; ", part.texts) if isinstance(part, Lines) else part for part in _parts(cell)]
    return joined("", parts)


def _parts(cell: Cell) -> tuple[Value, ...]:
    if isinstance(cell, Text):
        return cell.parts
    return () if cell is None else (cell,)


def _nothing(cell: Cell) -> bool:
    return cell is None or str(cell).strip() in _NONE


def _nil(cell: Cell) -> bool:
    return _nothing(cell) or str(cell).strip() in {"0", "+0", "0 %"}


def _number(cell: Cell) -> str:
    text = str(cell).strip()
    words = text.removeprefix("-").replace(",", "").split(" ")
    if all(word in _UNITS for word in words[1::2]) and len(words) % 2 == 0:
        with suppress(ValueError):
            measured = sum(float(one) * _UNITS[unit] for one, unit in zip(words[::2], words[1::2], strict=True))
            return f"{-measured if text.startswith('-') else measured:.15g}"
    found = _NUMBER.fullmatch(text)
    return found[1].replace(",", "") if found else ""


def _sorted_by(cells: list[Cell]) -> str:
    values = [cell for cell in cells if not _nothing(cell)]
    return "number" if values and all(map(_number, values)) else "text"


def _cell(cell: Cell, by: str) -> ShownCell:
    nothing = _nothing(cell)
    ago = [str(part) for part in _parts(cell) if isinstance(part, Ago)]
    key = "" if nothing else ago[0] if ago else _number(cell) if by == "number" else str(cell)
    return ShownCell(cell, key, _nil(cell) if by == "number" else nothing)
