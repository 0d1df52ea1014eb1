"""The ledger queue: markers and tickets are put, looked for and drained (`mqops.ledger.core.marker`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from mqops.errors import LedgerBroken, MQError, mq_error
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, Ticket, is_ticket
from mqops.mq.session import Session
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

NAME = "MQOPS.LEDGER"
DEFINITION = f"DEFINE QLOCAL({NAME}) DEFPSIST(YES) MAXDEPTH(999999) MAXMSGL(4194304)"
_OPEN_OPTIONS = c.MQOO_INPUT_SHARED | c.MQOO_BROWSE | c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING
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
BATCH = 50
"""Markers a unit of work when draining: one fsync of the ledger file each."""


class LedgerQueue:
    """The ledger queue, open on a session.

    Raises:
        MQError: it is not there or may not be used; says how to define it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        try:
            self._handle = session.open(NAME, _OPEN_OPTIONS)
        except MQError as error:
            if error.reason != c.MQRC_UNKNOWN_OBJECT_NAME:
                raise
            raise mq_error(
                error.comp, error.reason, verb="MQOPEN", object_name=NAME, advice=f"Define it: {DEFINITION}"
            ) from None

    def close(self) -> None:
        """Close it. Raises `MQError`."""
        self._session.close(self._handle)

    def put(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        """Put a persistent message in the unit of work; a `msg_id` of NULs is chosen for it. Raises `MQError`."""
        md = _MD[:_IDS] + msg_id + correl_id + _MD[_AFTER_IDS:]
        reason = self._session.put(self._handle, md, body, _PUT_OPTIONS)
        if reason:
            advice = "Let `mqops ledger drain` empty it, or raise its MAXDEPTH" if reason == c.MQRC_Q_FULL else ""
            raise mq_error(c.MQCC_FAILED, reason, verb="MQPUT", object_name=NAME, advice=advice)

    def take(self, correl_id: bytes, *, wait_ms: int = 0) -> bytes | None:
        """Get the first message with this CorrelId in the unit of work, or None. Raises `MQError`."""
        got = self._session.get(
            self._handle,
            _GET_OPTIONS,
            match=c.MQMO_MATCH_CORREL_ID,
            ids=_NONE + correl_id,
            wait_ms=wait_ms,
            name=NAME,
        )
        return got.body if got else None

    def look(self, *, msg_id: bytes = _NONE, correl_id: bytes = _NONE) -> bytes | None:
        """The first committed message with this MsgId or CorrelId, left where it is, or None. Raises `MQError`."""
        match = c.MQMO_MATCH_MSG_ID if msg_id != _NONE else c.MQMO_MATCH_CORREL_ID
        options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST
        got = self._session.get(self._handle, options, match=match, ids=msg_id + correl_id, name=NAME)
        return got.body if got else None

    def take_markers(self, plan: PlanIdentity) -> list[Marker]:
        """Up to `BATCH` markers of a plan, got in the unit of work. Raises `MQError` or `LedgerBroken`."""
        markers: list[Marker] = []
        while len(markers) < BATCH and (body := self.take(plan.markers())) is not None:
            markers.append(Marker.unpack(body))
        return markers

    def plans(self) -> Iterator[PlanIdentity]:
        """The plans that have markers here, each once."""
        seen: set[PlanIdentity] = set()
        for marker in self.markers():
            plan = PlanIdentity(run=marker.run, digest=marker.plan)
            if plan not in seen:
                seen.add(plan)
                yield plan

    def markers(self) -> Iterator[Marker]:
        """All committed markers, left where they are. What is neither marker nor ticket is passed over."""
        for body in self._bodies():
            if not is_ticket(body):
                with suppress(LedgerBroken):
                    yield Marker.unpack(body)

    def tickets(self) -> Iterator[Ticket]:
        """All committed tickets, left where they are: those of lanes that nobody has at the moment."""
        for body in self._bodies():
            if is_ticket(body):
                with suppress(LedgerBroken):
                    yield Ticket.unpack(body)

    def _bodies(self) -> Iterator[bytes]:
        options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST
        while got := self._session.get(self._handle, options, name=NAME):
            options = _BROWSE_OPTIONS | c.MQGMO_BROWSE_NEXT
            yield got.body
