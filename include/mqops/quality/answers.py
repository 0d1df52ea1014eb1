"""What reading the bodies of a batch of messages shows, as Arrow columns: in this process, and in Spark's workers.

Nothing but the answers is kept of a body, and one body at a time is a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mqops.quality.body import Message, Seen, look, place
from mqops.quality.columns import COLUMNS, ColumnKind
from mqops.quality.payload import Asked, Payload
from mqops.quality.probes import asked_of
from mqwire.errors import WireError
from mqwire.headers import walk

if TYPE_CHECKING:
    import pyarrow as pa

BODY_INPUT = ("format", "encoding", "ccsid", "body")
"""The columns of a snapshot that are read for the answers."""


class Answered(NamedTuple):
    """An answer. Parameters: `number` whether its numbers are doubles."""

    name: str
    kind: ColumnKind
    double: bool


class Named(NamedTuple):
    """What is asked, and the names of its two columns, which are worked out once for all messages."""

    asked: Asked
    name: str
    problem: str


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
    named = [Named(one, one.column.name, one.column.problem or "") for one in asked]
    seen = []
    for row, message in enumerate(_messages(batch, prefix)):
        found = look(message, wanted) if wanted else {}
        if asked:
            columns = {name: found.get(name) if name in wanted else batch.column(name)[row].as_py() for name in tested}
            found |= _asked(message, named, columns)
        seen.append(found)
    return [pa.array([one.get(each.name) for one in seen], arrow_type(each)) for each in answered(body, asked)]


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


def _asked(message: Message, asked: Sequence[Named], columns: Mapping[str, Any]) -> Seen:
    found: dict[str, Any] = {}
    try:
        chain = walk(message.format, message.encoding, message.ccsid, message.body)
    except WireError as error:
        why = f"{place(error)}: the headers are at fault"
        for one in asked:
            found |= {one.name: False if one.asked.of_document else None, one.problem: why}
        return found
    payload = Payload(message.body, chain, columns)
    for one in asked:
        found[one.name], found[one.problem] = asked_of(payload, one.asked)
    return found


def _messages(batch: Any, prefix: str) -> Iterator[Message]:
    columns = [batch.column(f"{prefix}{name}") for name in BODY_INPUT]
    for row in range(batch.num_rows):
        format_name, encoding, ccsid, body = (column[row].as_py() for column in columns)
        yield Message(format=format_name, encoding=encoding, ccsid=ccsid, body=body)
