"""What reading the bodies of a batch of messages shows, as Arrow columns: in this process, and in Spark's workers.

Nothing but the answers is kept of a body, and few bodies at a time are Python objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mqops.quality.body import Message, look, place
from mqops.quality.columns import COLUMNS, ColumnKind, Source, of_source
from mqops.quality.payload import Asked, Payload
from mqops.quality.probes import asked_of
from mqwire.errors import WireError
from mqwire.headers import Chain, walk

if TYPE_CHECKING:
    import pyarrow as pa

BODY_INPUT = Message._fields
"""The columns of a snapshot that are read for the answers."""
_AT_A_TIME, _OF_BYTES = 64, 1 << 20
"""Bodies that are Python objects together: at most so many, and on average of at most so many bytes in all."""


def needs_body(wanted: Iterable[str], asked: Sequence[Asked] = ()) -> bool:
    """Whether the bodies are read for these columns (names of `COLUMNS`), and for what suites ask."""
    return bool(asked or of_source(wanted, Source.BODY))


class Answered(NamedTuple):
    """An answer. Parameters: `number` whether its numbers are doubles."""

    name: str
    kind: ColumnKind
    double: bool


def answered(body: Sequence[str], asked: Sequence[Asked]) -> list[Answered]:
    """The columns of `answers`, in their order."""
    found = [Answered(name, COLUMNS[name].kind, double=False) for name in body]
    for one in asked:
        column = one.column
        found.append(Answered(column.name, column.kind, double=True))
        found.append(Answered(column.problem or "", ColumnKind.TEXT, double=False))
    return found


def answers(
    batch: pa.RecordBatch, body: Sequence[str], asked: Sequence[Asked] = (), prefix: str = ""
) -> list[pa.Array]:
    """An Arrow array for each column of `Source.BODY`, and two for each that suites ask: its values, and why there are
    none; as `answered` names them.

    Parameters: `batch` has `BODY_INPUT`, each name behind `prefix`, and the columns that probes test.
    """
    import pyarrow as pa  # noqa: PLC0415

    if not body and not asked:
        return []
    wanted = frozenset(body)
    tested = [one.path for one in asked if one.language == "column"]
    told = answered(body, asked)
    found: list[list[Any]] = [[] for _ in told]
    adds = [column.append for column in found]
    for row, message in enumerate(_messages(batch, prefix)):
        seen = look(message, wanted) if wanted else {}
        values = [seen.get(name) for name in body] if body else []
        if asked:
            columns = {name: seen.get(name) if name in wanted else batch.column(name)[row].as_py() for name in tested}
            values += _asked(message, asked, columns)
        for add, value in zip(adds, values, strict=True):
            add(value)
    return [pa.array(values, arrow_type(each)) for values, each in zip(found, told, strict=True)]


def arrow_type(answer: Answered) -> pa.DataType:
    """The Arrow type of an answer."""
    import pyarrow as pa  # noqa: PLC0415

    if answer.kind is ColumnKind.NUMBER and answer.double:
        return pa.float64()
    types = {
        ColumnKind.TEXT: pa.string(),
        ColumnKind.NUMBER: pa.int64(),
        ColumnKind.FLAG: pa.bool_(),
        ColumnKind.TIME: pa.timestamp("us", "UTC"),
    }
    return types[answer.kind]


def _asked(message: Message, asked: Sequence[Asked], columns: Mapping[str, Any]) -> list[Any]:
    """The value of each that suites ask, and behind it why there is none."""
    try:
        chain = _no_headers(message.format, message.encoding, message.ccsid) or message.chain
    except WireError as error:
        why = f"{place(error)}: the headers are at fault"
        return [told for one in asked for told in (False if one.of_document else None, why)]
    payload = Payload(message.body, chain, columns)
    found: list[Any] = []
    for one in asked:
        found += asked_of(payload, one)
    return found


@lru_cache(maxsize=256)
def _no_headers(format_name: str, encoding: int, ccsid: int) -> Chain | None:
    """The chain of a message whose Format announces no header, which is the same for all bodies; None for others."""
    try:
        return walk(format_name, encoding, ccsid, b"")
    except WireError:
        return None  # no header is so short


def _messages(batch: pa.RecordBatch, prefix: str) -> Iterator[Message]:
    """Some bodies at a time: objects of Python whose memory is used again cost a tenth."""
    rows = batch.select([f"{prefix}{name}" for name in BODY_INPUT])
    bytes_of_one = rows.column(len(BODY_INPUT) - 1).nbytes // max(rows.num_rows, 1)
    step = max(1, min(_AT_A_TIME, _OF_BYTES // max(bytes_of_one, 1)))
    for begin in range(0, rows.num_rows, step):
        for found in zip(*(column.to_pylist() for column in rows.slice(begin, step).columns), strict=True):
            yield Message(*found)
