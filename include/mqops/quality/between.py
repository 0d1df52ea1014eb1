"""What is expected between messages, between queues, and between a queue and a file: one function an expectation.

1. They see the whole snapshot, as an Arrow table of the columns they need, also where the rest is checked by Spark.
2. A queue that was not looked at, and a file that cannot be read, is a check that is not met: it says so.
3. Sums are exact: a number of a payload has at most 15 digits (`mqops.quality.payload`), and files are read as text.
4. A file is of the day of the snapshot: its name may have the codes of strftime, such as `payments_%Y%m%d.csv` (UTC).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mqops.counted import counted
from mqops.given_file import opener
from mqops.quality.summary import NO_VALUE
from mqops.quality.where import Condition, chosen
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.message_checks import CheckResult

MOST_BYTES = 1 << 30
"""Bytes of a file that is compared with."""


class Incomparable(ValueError):
    """The other queue, or the file, is not there: which, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a comparison is about.

    Attributes: `table` the snapshot; `rows` the places of the rows that the check is about; `column` their column, if
    it has one; `other` that of the other queue; `given` the arguments; `queues` that were looked at; `day` of the
    snapshot; `folder` of the suite; `before` the results of the check in good snapshots, the newest first
    (`mqops.quality.learned`).
    """

    table: pa.Table
    rows: pa.Array
    column: str
    other: str
    given: Mapping[str, Any]
    queues: tuple[str, ...]
    day: datetime | None
    folder: Path
    before: tuple[CheckResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What was found: the places of the rows that fail, or for the whole whether it is met, and both sides.

    Attributes: `limits` what was asked for, where only history tells; `skipped` why nothing was compared; `checked`
    messages that have a value, and `least` how many a number is made of that `observed` tells, each None where that is
    every message.
    """

    rows: pa.Array | None = None
    met: bool = True
    observed: str = ""
    limits: str = ""
    skipped: str = ""
    checked: int | None = None
    least: int | None = None


def groups_complete(about: Compared) -> Difference:
    """Every message of an MQ group of which a message is missing: a number between 1 and the last, or the last."""
    names = ["queue", "group_id", "msg_seq_number", "msg_flags"]
    groups: dict[tuple[str, str], tuple[set[int], list[int], list[int]]] = {}
    rows = about.table.select(names).take(about.rows).to_pylist()
    for place, row in zip(about.rows.to_pylist(), rows, strict=True):
        if not row["msg_flags"] & (c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP):
            continue
        numbers, last, places = groups.setdefault((row["queue"], row["group_id"]), (set(), [], []))
        numbers.add(row["msg_seq_number"])
        places.append(place)
        if row["msg_flags"] & c.MQMF_LAST_MSG_IN_GROUP:
            last.append(row["msg_seq_number"])
    failing = [
        place
        for numbers, last, places in groups.values()
        if not last or min(numbers) < 1 or max(numbers) > max(last) or len(numbers) < max(last)
        for place in places
    ]
    return Difference(rows=pa.array(sorted(failing), pa.int64()))


def found_in_queue(about: Compared) -> Difference:
    """The rows whose value no message of another queue has, in the same column or in another one."""
    other = _of_queue(about)
    return _not_among(about, _texts(about.table[about.other].take(other)))


def found_in_file(about: Compared) -> Difference:
    """The rows whose value a column of a file does not have."""
    return _not_among(about, _of_file(about))


def same_count_in_queue(about: Compared) -> Difference:
    """Whether another queue has as many messages."""
    return _equal(len(about.rows), len(_of_queue(about)), str(about.given["in_queue"]))


def same_count_in_file(about: Compared) -> Difference:
    """Whether a file has as many rows."""
    return _equal(len(about.rows), len(_read(_path(about), None)), _path(about).name)


def same_sum_in_queue(about: Compared) -> Difference:
    """Whether the sum of a column is that of another queue."""
    there = _texts(about.table[about.other].take(_of_queue(about)))
    return _equal_sums(_mine(about), there, str(about.given["in_queue"]), of_messages=True)


def same_sum_in_file(about: Compared) -> Difference:
    """Whether the sum of a column is that of a column of a file."""
    return _equal_sums(_mine(about), _of_file(about), _path(about).name, of_messages=False)


BETWEEN: Mapping[str, Callable[[Compared], Difference]] = MappingProxyType(
    {
        "groups_to_be_complete": groups_complete,
        "column_values_to_be_found_in_queue": found_in_queue,
        "column_values_to_be_found_in_file": found_in_file,
        "table_row_count_to_equal_queue": same_count_in_queue,
        "table_row_count_to_equal_file": same_count_in_file,
        "column_sum_to_equal_queue": same_sum_in_queue,
        "column_sum_to_equal_file": same_sum_in_file,
    }
)


def _equal(here: Decimal | int, there: Decimal | int, where: str) -> Difference:
    return Difference(met=here == there, observed=f"{here:,} here, {there:,} in {where}")


def _equal_sums(mine: list[str | None], others: list[str | None], where: str, *, of_messages: bool) -> Difference:
    """Parameters: `of_messages` whether the other side is of messages, too, whose single values are not shown."""
    here, there = (sum(one is not None for one in side) for side in (mine, others))
    if not here and not there:
        return Difference(skipped=NO_VALUE, checked=0)
    least = min(one for one in (here, there if of_messages else 0) if one) if here or of_messages else None
    return replace(_equal(_sum(mine), _sum(others), where), checked=here, least=least)


def _not_among(about: Compared, known: list[str | None]) -> Difference:
    mine = pa.array(_texts(about.table[about.column].take(about.rows)), pa.string())
    missing = pc.and_(
        pc.is_valid(mine), pc.invert(pc.is_in(mine, pa.array({one for one in known if one is not None}, pa.string())))
    )
    return Difference(rows=about.rows.filter(missing))


def _mine(about: Compared) -> list[str | None]:
    return _texts(about.table[about.column].take(about.rows))


def _of_queue(about: Compared) -> pa.Array:
    """The places of the rows of the other queue. Raises `Incomparable`."""
    name = str(about.given["in_queue"])
    if name not in about.queues:
        raise Incomparable(f"looked at no message: {name} was not looked at")
    return chosen(about.table, (Condition(column="queue", operator="equals", value=name),))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """Values as texts that can be compared: a number without trailing zeros."""
    return [None if value is None else _text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    return _plain(Decimal(repr(value))) if isinstance(value, float) else str(value)


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _sum(texts: list[str | None]) -> Decimal:
    try:
        return sum((Decimal(text) for text in texts if text), Decimal(0))
    except InvalidOperation as error:
        raise Incomparable("looked at no message: a value of the other side is not a number") from error


def _path(about: Compared) -> Path:
    name = str(about.given["file"])
    return about.folder / (about.day.strftime(name) if about.day and "%" in name else name)


def _of_file(about: Compared) -> list[str | None]:
    """The values of a column of the file, numbers without trailing zeros where the column is one. Raises
    `Incomparable`."""
    texts = _read(_path(about), str(about.given["file_column"]))
    if pa.types.is_string(about.table[about.column].type):
        return texts
    try:
        return [None if not text else _plain(Decimal(text)) for text in texts]
    except InvalidOperation as error:
        raise Incomparable(f"looked at no message: {_path(about).name} has a value that is not a number") from error


def _read(path: Path, column: str | None) -> list[str | None]:
    try:
        stat = os.stat(path)
        if stat.st_size > MOST_BYTES:
            raise Incomparable(f"looked at no message: {path.name} has more than {counted(MOST_BYTES, 'byte')}")
        return _kept(path, column, stat.st_mtime_ns)
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        why = (
            error.strerror
            if isinstance(error, OSError) and error.strerror
            else "it is no CSV or Parquet with the column"
        )
        raise Incomparable(f"looked at no message: {path.name} cannot be read: {why}") from error


@lru_cache(maxsize=4)
def _kept(path: Path, column: str | None, _changed: int) -> list[str | None]:
    """A column of a file as texts; without one, a None for each row."""
    with open(path, "rb", opener=opener) as stream:
        if path.suffix == ".parquet":
            file = pq.ParquetFile(stream)
            if column is None:
                return [None] * file.metadata.num_rows
            return [None if one is None else str(one) for one in file.read([column])[column].to_pylist()]
        options = pa.csv.ConvertOptions(column_types={column: pa.string()} if column else None)
        table = pa.csv.read_csv(stream, convert_options=options)
    return [None] * table.num_rows if column is None else table[column].to_pylist()
