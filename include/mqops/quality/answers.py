"""What reading the bodies of a batch of messages shows, as Arrow columns: in this process, and in Spark's workers.

Nothing but the answers is kept of a body, and one body at a time is a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mqops.quality.body import Message, look
from mqops.quality.columns import COLUMNS, ColumnKind

if TYPE_CHECKING:
    import pyarrow as pa

BODY_INPUT = ("format", "encoding", "ccsid", "body")
"""The columns of a snapshot that are read for the answers."""


def answers(batch: pa.RecordBatch, body: Sequence[str], prefix: str = "") -> list[pa.Array]:
    """An Arrow array for each of these columns of `Source.BODY`, in their order.

    Parameters: `batch` has `BODY_INPUT`, each name behind `prefix`.
    """
    import pyarrow as pa  # noqa: PLC0415

    if not body:
        return []
    types = arrow_types()
    wanted = frozenset(body)
    seen = [look(message, wanted) for message in _messages(batch, prefix)]
    return [pa.array([one.get(name) for one in seen], types[COLUMNS[name].kind]) for name in body]


def arrow_types() -> Mapping[ColumnKind, pa.DataType]:
    """The Arrow type of each kind of answer."""
    import pyarrow as pa  # noqa: PLC0415

    return {ColumnKind.TEXT: pa.string(), ColumnKind.NUMBER: pa.int64(), ColumnKind.FLAG: pa.bool_()}


def _messages(batch: Any, prefix: str) -> Iterator[Message]:
    columns = [batch.column(f"{prefix}{name}") for name in BODY_INPUT]
    for row in range(batch.num_rows):
        format_name, encoding, ccsid, body = (column[row].as_py() for column in columns)
        yield Message(format=format_name, encoding=encoding, ccsid=ccsid, body=body)
