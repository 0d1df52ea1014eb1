"""The ledger queue: markers and lane tokens are put, looked for and drained (`mqops.ledger.core.marker`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, TypeVar

from mqops.errors import MQError, mq_error
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import LaneToken, Marker
from mqops.ledger.core.received import Stranger, receive
from mqops.ledger.core.seal import Seal, sign_message
from mqops.mq.session import RawMessage, Session
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

NAME = "MQOPS.LEDGER"
MAX_DEPTH, MAX_MESSAGE_LENGTH = 999_999, 4_194_304
DEFINITION = f"DEFINE QLOCAL({NAME}) DEFPSIST(YES) MAXDEPTH({MAX_DEPTH}) MAXMSGL({MAX_MESSAGE_LENGTH}) SHARE"
_OPEN_OPTIONS = c.MQOO_INPUT_SHARED | c.MQOO_BROWSE | c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING
_LOOK_OPTIONS = c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING
_PUT_OPTIONS = c.MQPMO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING
_GET_OPTIONS = c.MQGMO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING
_BROWSE_OPTIONS = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING
_NONE = bytes(24)
_MD = MQMD_LAYOUT.pack(
    {
        "version": c.MQMD_VERSION_2,
        "format": c.MQFMT_STRING,
        "coded_char_set_id": 1208,
        "persistence": c.MQPER_PERSISTENT,
    }
)
_IDS = MQMD_LAYOUT.offset("msg_id")
_AFTER_IDS = MQMD_LAYOUT.offset("backout_count")
_msg_id, _correl_id = MQMD_LAYOUT.reader("msg_id"), MQMD_LAYOUT.reader("correl_id")
BATCH, ROOM = 50, 16 << 20
"""Markers a unit of work when draining, one fsync of the ledger file each; and the bytes from which on there are fewer:
others may put messages as long as the queue takes."""


class _WithBody(Protocol):
    @property
    def body(self) -> bytes: ...


T = TypeVar("T", bound=_WithBody)


def batches(taken: Iterable[T]) -> Iterator[list[T]]:
    """What is taken off the queue in a unit of work each: at most BATCH messages, and no further one from ROOM bytes
    on."""
    batch: list[T] = []
    size = 0
    for one in taken:
        batch.append(one)
        size += len(one.body)
        if len(batch) == BATCH or size >= ROOM:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def open_ledger_queue(session: Session) -> int:
    """A handle to put, browse and get. Raises `MQError`: it is not there (says how to define it), or is not allowed."""
    try:
        return session.open(NAME, _OPEN_OPTIONS)
    except MQError as error:
        if error.reason != c.MQRC_UNKNOWN_OBJECT_NAME:
            raise
        advice = f"Define it: {DEFINITION}"
        raise mq_error(error.comp, error.reason, verb="MQOPEN", object_name=NAME, advice=advice) from None


def descriptor(correl_id: bytes, msg_id: bytes = _NONE) -> bytes:
    """The MQMD of a message for the ledger queue, new for each put: the queue manager writes into it."""
    return _MD[:_IDS] + msg_id + correl_id + _MD[_AFTER_IDS:]


def has_correl_id(md: bytes, correl_id: bytes) -> bool:
    """Whether a message has this CorrelId. Parameters: `md` its MQMD."""
    return bytes(_correl_id(md)[0]) == correl_id


def browsed(session: Session, handle: int, correl_id: bytes) -> Iterator[RawMessage]:
    """The committed messages with this CorrelId, left where they are, on a handle of the caller. Raises `MQError`."""
    options, ids = _BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST, _NONE + correl_id
    while got := session.get(handle, options, match=c.MQMO_MATCH_CORREL_ID, ids=ids, name=NAME):
        options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_NEXT
        yield got


class LedgerQueue:
    """The ledger queue, open on a session. It signs what it puts, and ignores what is not signed (`received`).

    Parameters: `seal` the keys of the ledger.

    Raises:
        MQError: it is not there or may not be used; says how to define it.
    """

    def __init__(self, session: Session, seal: Seal) -> None:
        self._session = session
        self._seal = seal
        self._handle = open_ledger_queue(session)
        self._look_handle = session.open(NAME, _LOOK_OPTIONS)  # a cursor of its own
        self._known: dict[bytes, list[bytes]] = {}
        """CorrelId of lane tokens → the MsgIds of the one that was put last and of the one that was got last, of which
        one is there, as its unit of work was committed or not. Others may put ten thousand with that CorrelId."""

    @property
    def key_id(self) -> str:
        """Id of the key that signs. Raises `SettingsError`."""
        return self._seal.newest().id

    def close(self) -> None:
        """Close it. Raises `MQError`."""
        self._session.close(self._look_handle)
        self._session.close(self._handle)

    def put(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        """Sign a body and put it, persistent, in the unit of work. Without a `msg_id` (a lane token) one is chosen that
        nobody can foresee.

        Raises:
            MQError: the queue manager refused.
            SettingsError: there is no key.
        """
        if msg_id == _NONE:
            msg_id = secrets.token_bytes(len(_NONE))
            self._known[correl_id] = [msg_id, *self._known.get(correl_id, [])[:1]]
        md = descriptor(correl_id, msg_id)
        reason = self._session.put(self._handle, md, sign_message(self._seal, body), _PUT_OPTIONS)
        if reason:
            advice = "Let `mqops ledger drain` empty it, or raise its MAXDEPTH" if reason == c.MQRC_Q_FULL else ""
            raise mq_error(c.MQCC_FAILED, reason, verb="MQPUT", object_name=NAME, advice=advice)

    def take_lane_token(self, correl_id: bytes, *, wait_ms: int, fits: Callable[[LaneToken], bool]) -> LaneToken | None:
        """Get the first lane token with this CorrelId that fits, in the unit of work, or None. Others stay. Raises
        `MQError`."""
        both = c.MQMO_MATCH_MSG_ID | c.MQMO_MATCH_CORREL_ID
        looks = [self._browsed(self._handle, match=both, ids=one + correl_id) for one in self._known.get(correl_id, [])]
        every = self._browsed(self._handle, match=c.MQMO_MATCH_CORREL_ID, ids=_NONE + correl_id, wait_ms=wait_ms)
        for got in chain(*looks, every):
            found = self._received(got)
            if isinstance(found, LaneToken) and fits(found) and self.take_browsed() is not None:
                self._known[correl_id] = [bytes(_msg_id(got.md)[0])]
                return found
        return None

    def marker(self, msg_id: bytes) -> Marker | None:
        """The committed marker with this MsgId, left where it is, or None. Raises `MQError`."""
        for got in self._browsed(self._look_handle, match=c.MQMO_MATCH_MSG_ID, ids=msg_id + _NONE):
            if isinstance(found := self._received(got), Marker):
                return found
        return None

    def has_lane_token(self, plan: PlanIdentity, lane: int, position: int) -> bool:
        """Whether the queue has the committed lane token of a lane at this position. Raises `MQError`."""
        ids = _NONE + plan.lane_token_id(lane)
        found = map(self._received, self._browsed(self._look_handle, match=c.MQMO_MATCH_CORREL_ID, ids=ids))
        return any(isinstance(one, LaneToken) and one.next == position for one in found)

    def browse_of(self, correl_id: bytes) -> Iterator[RawMessage]:
        """As `browse`, the messages with this CorrelId. Raises `MQError`."""
        return self._browsed(self._handle, match=c.MQMO_MATCH_CORREL_ID, ids=_NONE + correl_id)

    def take_used_lane_tokens(self, plan: PlanIdentity, lane: int, position: int) -> list[RawMessage]:
        """Get the lane tokens of a lane whose position is lower, in the unit of work. Raises `MQError`."""
        used: list[RawMessage] = []
        for got in self._browsed(self._handle, match=c.MQMO_MATCH_CORREL_ID, ids=_NONE + plan.lane_token_id(lane)):
            found = self._received(got)
            if isinstance(found, LaneToken) and found.next < position and (taken := self.take_browsed()) is not None:
                used.append(taken)
            if len(used) == BATCH:
                break
        return used

    def browse(self) -> Iterator[RawMessage]:
        """All committed messages, left where they are; `take_browsed` gets the one that was given last. Raises
        `MQError`."""
        return self._browsed(self._handle)

    def take_browsed(self) -> RawMessage | None:
        """Get the message that was browsed last in the unit of work; None where another process has it. Raises
        `MQError`."""
        options = _GET_OPTIONS | c.MQGMO_MSG_UNDER_CURSOR
        try:
            return self._session.get(self._handle, options, name=NAME)
        except MQError as error:
            if error.reason == c.MQRC_NO_MSG_UNDER_CURSOR:
                return None
            raise

    def markers(self) -> Iterator[Marker]:
        """All committed markers, left where they are. Raises `MQError`."""
        for got in self._browsed(self._look_handle):
            if isinstance(found := self._received(got), Marker):
                yield found

    def _received(self, got: RawMessage) -> Marker | LaneToken | None:
        try:
            return receive(got.md, got.body, self._seal)
        except Stranger:
            return None

    def _browsed(
        self, handle: int, *, match: int = c.MQMO_NONE, ids: bytes = bytes(48), wait_ms: int = 0
    ) -> Iterator[RawMessage]:
        options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST
        while got := self._session.get(handle, options, match=match, ids=ids, wait_ms=wait_ms, name=NAME):
            options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_NEXT
            yield got
