"""What reading the bodies of a batch of messages shows, as Arrow columns: in this process, and in Spark's workers.

Nothing but the answers is kept of a body, and one body at a time is a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mqops.quality.body import Message, look, place
from mqops.quality.columns import COLUMNS, ColumnKind
from mqops.quality.payload import Asked, Payload
from mqops.quality.probes import asked_of
from mqwire.errors import WireError
from mqwire.headers import Chain, walk

if TYPE_CHECKING:
    import pyarrow as pa

BODY_INPUT = ("format", "encoding", "ccsid", "body")
"""The columns of a snapshot that are read for the answers."""


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
    for row, message in enumerate(_messages(batch, prefix)):
        seen = look(message, wanted) if wanted else {}
        values: list[Any] = [seen.get(name) for name in body]
        if asked:
            columns = {name: seen.get(name) if name in wanted else batch.column(name)[row].as_py() for name in tested}
            values += _asked(message, asked, columns)
        for column, value in zip(found, values, strict=True):
            column.append(value)
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


def _asked(message: Message, asked: Sequence[Asked], columns: Mapping[str, Any]) -> Iterator[Any]:
    """The value of each that suites ask, and behind it why there is none."""
    try:
        chain = _no_headers(message.format, message.encoding, message.ccsid) or walk(
            message.format, message.encoding, message.ccsid, message.body
        )
    except WireError as error:
        why = f"{place(error)}: the headers are at fault"
        for one in asked:
            yield from (False if one.of_document else None, why)
        return
    payload = Payload(message.body, chain, columns)
    for one in asked:
        yield from asked_of(payload, one)


@lru_cache(maxsize=256)
def _no_headers(format_name: str, encoding: int, ccsid: int) -> Chain | None:
    """The chain of a message whose Format announces no header, which is the same for all bodies; None for others."""
    try:
        return walk(format_name, encoding, ccsid, b"")
    except WireError:
        return None  # no header is so short


def _messages(batch: Any, prefix: str) -> Iterator[Message]:
    """One body at a time; what is short at once."""
    *others, bodies = (batch.column(f"{prefix}{name}") for name in BODY_INPUT)
    short = zip(*(column.to_pylist() for column in others), strict=True)
    for (format_name, encoding, ccsid), body in zip(short, bodies, strict=True):
        yield Message(format=format_name, encoding=encoding, ccsid=ccsid, body=body.as_py())
