"""The mover's port of an undo: originals put with all their context, from where they went or from their copy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from mqops.act.copy_port import BROWSE_ONLY
from mqops.act.core.lanes import Row
from mqops.act.core.port import CannotTake, Taken
from mqops.act.core.scope import SOURCE
from mqops.act.mover_port import OPEN_OPTIONS, key_of
from mqops.act.set_context_port import SetContextPort
from mqops.actions import Action
from mqops.errors import MQError, PlanChanged
from mqops.expiry.core.lifetime import remaining
from mqops.ledger.core.seal import Seal
from mqops.mq.session import Session
from mqwire.structures import MQMD_LAYOUT

if TYPE_CHECKING:
    from mqops.observe.originals import Original

MOST_SOURCES = 64
"""Queues that messages are taken from, and queues of originals, kept open at a time; a run may have sent messages to
thousands."""

_identifiers = MQMD_LAYOUT.reader("msg_id", "correl_id")
_expiry = MQMD_LAYOUT.reader("expiry")
_set_expiry = MQMD_LAYOUT.writer("expiry")


class UndoPort(SetContextPort):
    """`SetContextPort` that puts originals (rules 2, 3, 6, 9, 11 and 12 of `mqops.undo`).

    Parameters: `queues` to take from, each opened when it is needed; `seal` the keys of the ledger; `original` gives
    the copy that belongs to a row's number; `now` the time.
    """

    work = "an undo"

    def __init__(
        self,
        session: Session,
        _queues: Iterable[str],
        seal: Seal,
        *,
        original: Callable[[int], Original],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(session, (), seal)
        self._original = original
        self._originals: OrderedDict[str, int] = OrderedDict()
        self._now = now

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """The original as it is to be put, its message got from where it went (RETURN); for RESTORE nothing is got.
        For WITHDRAW the copy is got from where it was put, and nothing is put.

        None where the message is no longer where it went, or is on its queue again, or has no lifetime left; for
        WITHDRAW also where the original is not on its queue.
        """
        if row.action == Action.WITHDRAW and not self._original_is_there(row):
            return None
        with self._open(self._sources, row.queue, OPEN_OPTIONS):
            return self._take(row, careful=careful)

    @contextmanager
    def _open(self, handles: OrderedDict[str, int], queue: str, options: int) -> Iterator[int]:
        """The handle of a queue. Raises `CannotTake` where the queue gives no messages; it is opened again then."""
        try:
            if queue not in handles and len(handles) >= MOST_SOURCES:
                self._forget(handles, next(iter(handles)))
            if queue not in handles:
                handles[queue] = self._session.open(queue, options)
            handles.move_to_end(queue)
            yield handles[queue]
        except MQError as error:
            if error.reason not in SOURCE:
                raise
            self._forget(handles, queue)
            raise CannotTake(error.reason) from error

    def _forget(self, handles: OrderedDict[str, int], queue: str) -> None:
        if queue in handles:
            with suppress(MQError):
                self._session.close(handles.pop(queue))

    def _take(self, row: Row, *, careful: bool) -> Taken | None:
        if row.action == Action.RESTORE:
            return self._copy(row)
        got = super().take(row, careful=careful)
        if got is None:
            return None
        original = self._whole(row)
        return Taken(md=_with_expiry(original.md, *_expiry(got.md)), body=original.body, key=got.key)

    def _copy(self, row: Row) -> Taken | None:
        original = self._whole(row)
        if key_of(original.md, original.body) != row.msg_key:
            raise _changed(row)
        (expiry,) = _expiry(original.md)
        left = remaining(expiry, original.observed_at, self._now())
        if left is None or self._on_queue(row, row.queue, self._sources[row.queue], row.msg_key) > row.tries:
            return None
        return Taken(md=_with_expiry(original.md, left), body=original.body, key=row.msg_key)

    def _whole(self, row: Row) -> Original:
        """The copy that belongs to a row.

        Raises:
            PlanChanged: it is not the message that the plan speaks of.
        """
        original = self._original(row.row)
        same = _identifiers(original.md) == (row.msg_id, row.correl_id)
        if not same or sha256(original.body).digest() != row.body_sha256:
            raise _changed(row)
        return original

    def _on_queue(self, row: Row, queue: str, handle: int, key: str) -> int:
        """How many messages with this identity are on a queue."""
        return sum(got.key == key for got in self._with_ids_of(row, queue, handle))

    def _original_is_there(self, row: Row) -> bool:
        """Whether the original of a copy is on its queue, which the row of a WITHDRAW names as its destination; of
        equal ones, whether there is one besides those of the copies before (`tries` of them). It is only browsed."""
        original = self._whole(row)
        with self._open(self._originals, row.dest_q, BROWSE_ONLY) as handle:
            return self._on_queue(row, row.dest_q, handle, key_of(original.md, original.body)) > row.tries


def _with_expiry(md: bytes, expiry: int) -> bytes:
    changed = bytearray(md)
    _set_expiry(changed, expiry)
    return bytes(changed)


def _changed(row: Row) -> PlanChanged:
    return PlanChanged(f"The copy of row {row.row} is not the message of the plan: its file was changed")
