"""The head of the ledger outside the lake: a signed message on the ledger queue, by which a ledger that was cut back is
missed, even if all that its runs noted was removed with the lines (`mqops.ledger.core.head_body`).

1. The unit of work that takes markers off the queue puts the new head, when their lines are on disk. A head may be
   behind the ledger (a process was killed, or a line came without a marker), never ahead of it.
2. That unit of work takes off the heads but the newest that is committed. So one or two are there, and whoever looks
   always sees one.
3. A head that the ledger does not hold is never replaced, and where the lake noted that there was one
   (LAKE/<queue manager>/ledger/head.json) and it is gone, no other one is put: a later run must not hide what happened.
4. A lake looks at the heads of its own ledger. Those of other lakes stay. One that no key of the lake signed for this
   ledger is not believed; the next drain sets it aside, unless its key is unknown: then it may be genuine, and a person
   decides (`mqops ledger drain --foreign '*'`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from mqops.counted import counted
from mqops.errors import MQError
from mqops.lake.files import write_json
from mqops.ledger.core.head_body import (
    CORREL_ID,
    KeptHead,
    check,
    claimed,
    is_newer,
    not_held,
    of_ledger,
    pack,
    refuse_newer,
)
from mqops.ledger.core.received import who_put
from mqops.ledger.core.seal import BadSignature, Seal
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import NAME, browsed, descriptor, has_correl_id, open_ledger_queue
from mqops.ledger.verified import Verified
from mqops.ledger.writer import LedgerWriter
from mqops.mq.session import RawMessage, Session, is_gone
from mqwire import constants as c

_PUT = c.MQPMO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING | c.MQPMO_NEW_MSG_ID
_TAKE = c.MQGMO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_MSG_UNDER_CURSOR


def is_head(got: RawMessage, seal: Seal, *, foreign: bool = True) -> bool:
    """Whether a message of the ledger queue is a head of this lake, or, signed with a key that is not known, perhaps of
    another one, or of this one whose key file is elsewhere. Parameters: `foreign` whether these count. Raises
    `SettingsError`; `NewerFormat`, a newer version put it."""
    if not has_correl_id(got.md, CORREL_ID) or (claimed(got.body) is None and not is_newer(got.body)):
        return False
    try:
        check(got.body, seal)
    except BadSignature as error:
        return foreign and error.foreign
    refuse_newer(got.body)
    return True


def put_head(session: Session, file: LedgerFile, writer: LedgerWriter) -> bool:
    """Put the ledger's head in the unit of work, and take off older ones; whether it was put. The lock is held.

    Where the queue manager refuses the put, the earlier head stays: it is behind, and the markers are recorded all the
    same.

    Raises `MQError`, `LakeError`, `SettingsError`.
    """
    handle = open_ledger_queue(session)
    try:
        own = of_ledger([kept for _got, kept in _verified(session, handle, file)], writer.first)
        if not _may_put(own, file, writer):
            return False
        head = KeptHead(first=writer.first, head=writer.head, end=writer.end)
        if session.put(handle, descriptor(CORREL_ID), pack(head, file.keys), _PUT):
            return False
        if own:
            _take_older(session, handle, file, own[-1])
        return True
    finally:
        session.close(handle)


def _may_put(own: list[KeptHead], file: LedgerFile, writer: LedgerWriter) -> bool:
    """Whether there is a new head, and it hides nothing (rule 3)."""
    if not own:
        return bool(writer.first) and not file.head_note.exists()
    return own[-1].head != writer.head and all(writer.holds(one.head, one.end) for one in own)


def _take_older(session: Session, handle: int, file: LedgerFile, newest: KeptHead) -> None:
    """Get the heads of a ledger in the unit of work, but one of the newest. One that cannot be got does no harm."""
    seen = False
    with suppress(MQError):
        for _got, kept in _verified(session, handle, file):
            if kept.first != newest.first or (kept == newest and not seen):
                seen = seen or kept == newest
                continue
            session.get(handle, _TAKE, name=NAME)


def note_head(file: LedgerFile, writer: LedgerWriter) -> None:
    """Note that a head is on the ledger queue; it is committed. Raises `LakeError`."""
    if not file.head_note.exists():
        write_json(file.head_note, {"first": writer.first})


def _verified(session: Session, handle: int, file: LedgerFile) -> Iterator[tuple[RawMessage, KeptHead]]:
    for got, kept, error in _heads(session, handle, file):
        if error is None:
            yield got, kept


def _heads(
    session: Session, handle: int, file: LedgerFile
) -> Iterator[tuple[RawMessage, KeptHead, BadSignature | None]]:
    for got in browsed(session, handle, CORREL_ID):
        if (said := claimed(got.body)) is None:
            is_head(got, file.keys)  # a newer one of this lake is refused
            continue
        try:
            check(got.body, file.keys)
        except BadSignature as error:
            yield got, said, error
        else:
            yield got, said, None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsThere:
    """The heads on the ledger queue, read before the ledger is.

    Parameters: `verified` those that keys of the lake signed; `others` the other ones, each with who put it; `noted`
    whether the lake noted that its head is there.
    """

    verified: tuple[KeptHead, ...] = ()
    others: tuple[tuple[KeptHead, str], ...] = ()
    noted: bool = False

    @property
    def lines(self) -> frozenset[int]:
        """Numbers of the lines that they name."""
        return frozenset(one.head.seq for one in self.verified)

    def alarm(self, file: LedgerFile, found: Verified) -> str:
        """Why the ledger is not the one that the queue knows; "" where it is. Parameters: `found` with the hashes of
        `lines`."""
        own = of_ledger(self.verified, found.hashes.get(1, ""))
        return not_held(own, found.lines, found.hashes, NAME) if own else self._lost(file)

    def quick_alarm(self, file: LedgerFile) -> str:
        """As `alarm`, without reading all lines. Raises `LakeError`, `LedgerBroken`."""
        own = of_ledger(self.verified, file.first())
        for one in own:
            if not file.holds(one.head, one.end):
                return (
                    f"line {one.head.seq}, which its head on {NAME} names, is not in it: its end was cut off, or it "
                    "was written again"
                )
        return "" if own else self._lost(file)

    def _lost(self, file: LedgerFile) -> str:
        if not self.noted:
            return ""
        return (
            f"its head is not on {NAME} any more: somebody took it off, so it is not known whether lines were cut off. "
            f"Find out who may get from {NAME}, or who cleared it. Until a person removes {file.head_note}, no head is "
            "put there"
        )

    def remark(self, found: Verified) -> str:
        """Heads that are not believed, in words; "" without any."""
        first = found.hashes.get(1, "")
        forged = [put for kept, put in self.others if kept.first == first]
        if forged:
            return (
                f"{counted(len(forged), 'message')} on {NAME} that no key of this lake signed "
                f"{'claims' if len(forged) == 1 else 'claim'} to be its head, put by {forged[0]}: it is not believed. "
                "Find out who may put there"
            )
        strange = len(self.verified) - len(of_ledger(self.verified, first))
        if not strange:
            return ""
        return (
            f"{counted(strange, 'head')} on {NAME}, signed with a key of this lake, of a ledger with another first "
            "line: another lake has the same key, or this ledger was written anew"
        )


def heads_there(session: Session, file: LedgerFile) -> HeadsThere:
    """Browse the heads on the ledger queue; none without that queue. Raises `MQError`, `LakeError`, `SettingsError`."""
    noted = file.head_note.exists()  # before the queue: it is written when the head is there
    try:
        handle = session.open(NAME, c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING)
    except MQError as error:
        if is_gone(error):
            return HeadsThere(noted=noted)
        raise
    try:
        found = list(_heads(session, handle, file))
    finally:
        session.close(handle)
    return HeadsThere(
        verified=tuple(kept for _got, kept, error in found if error is None),
        others=tuple((kept, who_put(got.md)) for got, kept, error in found if error is not None),
        noted=noted,
    )
