"""Find messages on live queues and in snapshots: the same criteria, the same view, in pages.

1. A live queue is browsed: nothing is locked or changed, but messages whose lifetime is over are discarded by the queue
   manager when a browse comes by them. A snapshot is read by columns.
2. A page ends with a cursor: how many messages were looked at, and the beginning of the last one's identity. The next
   page of a snapshot goes on at that number. That of a live queue goes on behind that message, wherever it stands now;
   if it left the queue, the search has to begin again, so that nothing is passed over in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from mqops.as_json import JsonObject, json_object
from mqops.clock import utc
from mqops.errors import SettingsError
from mqops.lake.parquet import read_parquet
from mqops.lake.row_groups import Chunk, OfSameRows, read_chunks
from mqops.look.core.criteria import Criteria
from mqops.look.core.field_values import shown
from mqops.look.reveal import refuse_question
from mqops.look.search import MARKED, PassedOver, Search
from mqops.model import Account
from mqops.mq.browse import browse
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed

KEY_DIGITS = 16
"""Digits of a message's identity in a cursor."""
Columns = TypeVar("Columns", bound=NamedTuple)


class Listed(NamedTuple):
    """The columns of a snapshot that a found message shows."""

    queue_manager: str
    queue: str
    position: int
    msg_id: bytes
    correl_id: bytes
    group_id: bytes
    msg_key: str
    put_date: str
    put_time: str
    format: str
    body_length: int
    persistence: int
    expiry: int
    backout_count: int
    put_appl_name: str
    user_identifier: str
    dlh_reason: int | None
    dlh_dest_q: str | None
    dlh_dest_q_mgr: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    """A message in a list.

    Parameters: `position` on its queue, from 0; identifiers in hex; `bytes` with all headers; `persistence`, `expiry`
    (tenths of a second) and `reason` with names where MQ has them; `reason`, `dest_q` and `dest_q_mgr` of the MQDLH,
    blank without one.
    """

    queue_manager: str
    queue: str
    position: int
    msg_id: str
    correl_id: str
    group_id: str
    msg_key: str
    put_date: str
    put_time: str
    format: str
    bytes: int
    persistence: str | int
    expiry: str | int
    backout_count: int
    application: str
    user: str
    reason: str | int
    dest_q: str
    dest_q_mgr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A page of messages. Parameters: `looked_at` messages of this search so far, those before the page too; `next` the
    cursor to go on with, "" where no further message fits; `passed_over` messages of the page whose text or
    properties cannot be read, by the reason."""

    messages: tuple[FoundMessage, ...]
    looked_at: int
    next: str
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """A JSON object, which tells of messages that were passed over only where there are some."""
        return {name: one for name, one in json_object(self).items() if one or name != "passed_over"}


class Cursor(NamedTuple):
    """Where a page ended. Parameters: `number` of messages looked at; `key` the beginning of its last identity."""

    number: int = 0
    key: str = ""

    @classmethod
    def of(cls, text: str) -> Cursor:
        """The cursor that a page gave, "" for the beginning. Raises `SettingsError` for another text."""
        found = re.fullmatch(rf"([1-9][0-9]{{0,17}})-([0-9a-f]{{{KEY_DIGITS}}})", text)
        if text and found is None:
            raise SettingsError(f"{text!r} is not what a page gave to go on with: give the `next` of the page before")
        return cls(int(found[1]), found[2]) if found else cls()

    def __str__(self) -> str:
        return f"{self.number}-{self.key}"


class Looked(NamedTuple):
    """Messages that are looked at. Parameters: `batch` the columns that tell whether one fits; `others` gives further
    columns of the same messages, and must be called before the next ones are taken."""

    batch: pa.RecordBatch
    others: OfSameRows


class Hit(NamedTuple):
    """A message that fits: its batch and place there, and how many messages were looked at with it."""

    batch: pa.RecordBatch
    place: int
    number: int

    def row(self, kind: type[Columns]) -> Columns:
        """The values of some columns. Parameters: `kind` a NamedTuple of these columns."""
        return kind(*(self.batch.column(name)[self.place].as_py() for name in kind._fields))


def find_live(
    session: Session, queues: Sequence[str], wanted: Criteria, *, limit: int = 0, after: str = ""
) -> FoundPage:
    """The messages of queues that fit, in their order.

    Parameters: `limit` most messages of the page, 0 for all; `after` the cursor of the page before.

    Raises:
        MQError: the queue manager or a queue cannot be read.
        SettingsError: the cursor is not valid, or its message is on none of the queues any more.
    """
    cursor = Cursor.of(after)
    return _page(hits(all_of(live_batches(session, queues)), Search(wanted), cursor, live=True), limit)


def find_recorded(
    snapshot: Path,
    wanted: Criteria,
    *,
    queues: Sequence[str] = (),
    limit: int = 0,
    after: str = "",
    marks: pa.Array | None = None,
) -> FoundPage:
    """The messages of a snapshot that fit, in its order.

    Parameters: `snapshot` the folder of its files; `queues` none for all; `marks` whether each message of
    the snapshot may fit, None for all; the others as of `find_live`.

    Raises:
        LakeError: the snapshot cannot be read, or an earlier version wrote it.
        SettingsError: the cursor is not valid, or is one of another snapshot.
    """
    search = Search(wanted, marked=marks is not None)
    cursor = Cursor.of(after)
    columns = sorted({*search.columns, "queue", *(["msg_key"] if cursor.key else [])})
    batches = looked_at(snapshot, columns, queues, marks=marks)
    return _page(hits(batches, search, cursor, live=False), limit)


def count_recorded(
    snapshot: Path, wanted: Criteria, *, queues: Sequence[str] = (), marks: pa.Array | None = None
) -> int:
    """How many messages of a snapshot fit. Parameters and errors: as of `find_recorded`."""
    search = Search(wanted, marked=marks is not None)
    batches = looked_at(snapshot, sorted({*search.columns, "queue"}), queues, marks=marks)
    return sum(len(search.fitting(one.batch, one.others)) for one in batches)


def looked_at(
    snapshot: Path,
    columns: Sequence[str],
    queues: Sequence[str],
    chosen: Sequence[Chunk] | None = None,
    *,
    marks: pa.Array | None = None,
) -> Iterator[Looked]:
    """Columns of a snapshot. What is shown is read of those batches only that have a message that fits.

    Parameters: `queues` none for all; `chosen` what is read, None for all; `marks` the column MARKED of all messages.

    Raises:
        LakeError: the snapshot cannot be read, or an earlier version wrote it.
    """
    named = pa.array(queues, pa.string())
    rows, first = _BODIES if "body" in columns else _COLUMNS, 0
    for batch, others in read_chunks(snapshot, columns, rows=rows, chosen=chosen):
        if marks is not None:
            batch = batch.append_column(MARKED, marks.slice(first, batch.num_rows))  # noqa: PLW2901
            first += batch.num_rows
        if queues:
            own = pc.is_in(batch.column("queue"), named)
            yield Looked(batch.filter(own), partial(_filtered, others, own))
        else:
            yield Looked(batch, others)


def _filtered(others: OfSameRows, own: pa.Array, columns: Sequence[str]) -> pa.RecordBatch:
    return others(columns).filter(own)


def all_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Looked]:
    """Batches that have all columns already."""
    for batch in batches:
        yield Looked(batch, partial(_same, batch))


def _same(batch: pa.RecordBatch, _columns: Sequence[str]) -> pa.RecordBatch:
    return batch


def live_batches(
    session: Session, queues: Iterable[str], *, msg_id: bytes = b"", correl_id: bytes = b""
) -> Iterator[pa.RecordBatch]:
    """The messages of queues as a snapshot would have them. Parameters: identifiers as `browse` takes them."""
    name = queue_manager_name(session)
    at = utc()
    return chain.from_iterable(
        record_batches(
            Browsed(queue_manager=name, queue=queue, observed_at=at),
            browse(session, queue, msg_id=msg_id, correl_id=correl_id),
        )
        for queue in queues
    )


def recorded_batches(snapshot: Path, columns: Iterable[str], queues: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Columns of a snapshot. Parameters: `queues` none for all. Raises `LakeError`."""
    wanted = sorted({*columns, "queue"})
    for batch in read_parquet(snapshot, wanted, rows=_BODIES if "body" in wanted else _COLUMNS):
        yield batch.filter(pc.is_in(batch.column("queue"), pa.array(queues, pa.string()))) if queues else batch


def refuse_question_about(snapshot: Path, who: str) -> None:
    """As `mqops.look.reveal.refuse_question`, for the messages of a snapshot's files.

    Parameters: `who` a system account, user@host. Raises as that; `LakeError`.
    """
    for name in {name for batch in recorded_batches(snapshot, ["queue_manager"]) for name in _names(batch)}:
        refuse_question(name, who, Account.SYSTEM)


def _names(batch: pa.RecordBatch) -> list[str]:
    return [str(name) for name in batch.column("queue_manager").unique().to_pylist()]


_BODIES, _COLUMNS = 2000, 65_536
"""Rows of a batch with bodies, and without."""


def hits(batches: Iterable[Looked], search: Search, cursor: Cursor, *, live: bool) -> Iterator[Hit | PassedOver | int]:
    """The messages that fit behind a cursor, and those that were passed over (`place` among those that were looked at,
    from 1), in their order; at the end, the number of messages that were looked at.

    Raises:
        SettingsError: the cursor's message is not there.
    """
    number, begun = 0, not cursor.key
    for batch, others in batches:
        first = 0
        if not begun:
            place = _behind(batch, number, cursor, live=live)
            if place is not None:
                first, begun = place, True
        if begun:
            places = [place for place in search.fitting(batch, others) if place >= first]
            shown = others(Listed._fields) if places else batch
            told: list[Hit | PassedOver] = [Hit(shown, place, number + place + 1) for place in places]
            told += [PassedOver(number + one.place + 1, one.why) for one in search.passed_over if one.place >= first]
            yield from sorted(told, key=_number)
        number += batch.num_rows
    if not begun:
        gone = "is not on the queue any more" if live else "is not in this snapshot"
        raise SettingsError(f"The message behind which to go on {gone}: begin again without --after")
    yield number


def _behind(batch: pa.RecordBatch, number: int, cursor: Cursor, *, live: bool) -> int | None:
    """The place in a batch behind the cursor's message; None if that is not in the batch (rule 2).

    Parameters: `number` of the messages before the batch.
    """
    last = cursor.number - number  # the place behind it, if no message before it has left
    if not live:
        if 0 < last <= batch.num_rows and batch.column("msg_key")[last - 1].as_py().startswith(cursor.key):
            return last
        return None
    keys = batch.column("msg_key").to_pylist()[: max(0, last)]
    return next((place + 1 for place, key in enumerate(keys) if key.startswith(cursor.key)), None)


def _number(told: Hit | PassedOver) -> int:
    return told.number if isinstance(told, Hit) else told.place


def _page(found: Iterator[Hit | PassedOver | int], limit: int) -> FoundPage:
    messages: list[FoundMessage] = []
    passed: list[PassedOver] = []
    last = Cursor()
    for hit in found:
        if isinstance(hit, PassedOver):
            passed.append(hit)
            continue
        if isinstance(hit, int):
            why = Counter(one.why for one in passed)
            return FoundPage(messages=tuple(messages), looked_at=hit, next="", passed_over=why)
        if limit and len(messages) == limit:
            why = Counter(one.why for one in passed if one.place <= last.number)
            return FoundPage(messages=tuple(messages), looked_at=last.number, next=str(last), passed_over=why)
        messages.append(found_message(hit.row(Listed)))
        last = Cursor(hit.number, messages[-1].msg_key[:KEY_DIGITS])
    raise AssertionError("the number of messages comes last")


def found_message(row: Listed) -> FoundMessage:
    """A message of a list."""
    return FoundMessage(
        **{name: getattr(row, name) for name in ("queue_manager", "queue", "position", "msg_key", "format")},
        **{name: getattr(row, name) for name in ("put_date", "put_time", "backout_count")},
        **{name: getattr(row, name).hex() for name in ("msg_id", "correl_id", "group_id")},
        bytes=row.body_length,
        persistence=shown("Persistence", row.persistence),
        expiry=shown("Expiry", row.expiry),
        application=row.put_appl_name,
        user=row.user_identifier,
        reason="" if row.dlh_reason is None else shown("Reason", row.dlh_reason),
        dest_q=row.dlh_dest_q or "",
        dest_q_mgr=row.dlh_dest_q_mgr or "",
    )
