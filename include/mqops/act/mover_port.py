"""The mover's port on a queue manager: the queues it takes from, the targets, the ledger queue, one unit of work."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from mqops.act.core.lanes import Row, Target
from mqops.act.core.port import Taken
from mqops.act.report_sender import send_expiration_report
from mqops.actions import Action
from mqops.decide.core.protected import is_protected
from mqops.errors import LOST_CONNECTION, MQError, PlanChanged
from mqops.ledger.core.identity import identity_key
from mqops.ledger.core.marker import LaneToken, Marker
from mqops.ledger.core.seal import Seal
from mqops.ledger.queue import LedgerQueue
from mqops.model import Destination
from mqops.mq.inquire import ResolvedQueue, depth, resolve_queue
from mqops.mq.session import MATCH_BOTH, PASS_CONTEXT_OPTIONS, RawMessage, Session, has_ended
from mqops.observe.core.decode import dlh_of, has_native_dlh
from mqops.observe.core.group_fields import with_fields_in_md
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import inherited
from mqwire.structures import MQDLH_LAYOUT, MQMD_LAYOUT

# D10: INPUT_AS_Q_DEF. BROWSE is for the careful search, SAVE_ALL_CONTEXT for D08.
OPEN_OPTIONS = c.MQOO_INPUT_AS_Q_DEF | c.MQOO_BROWSE | c.MQOO_SAVE_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
GET_OPTIONS = c.MQGMO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
BROWSE_OPTIONS = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
PUT_OPTIONS = c.MQPMO_SYNCPOINT | c.MQPMO_PASS_ALL_CONTEXT | c.MQPMO_FAIL_IF_QUIESCING
MQXMIT = c.MQFMT_XMIT_Q_HEADER.encode()
XQH_EYECATCHERS = (b"XQH ", "XQH ".encode("cp500"))
MOST_TARGETS = 64
"""Targets kept open at a time; a connection has MAXHANDS of them."""

TO_TRANSMISSION_QUEUE = "its destination is a transmission queue: only the queue manager puts there"
BY_ALIAS = "its destination is an alias of the protected queue"
UNSEEN = "whether its destination is a transmission queue cannot be seen: mqops needs authority to inquire it (INQ)"
"""Why messages are left (`MoverPort.refuses`)."""

_IDS = slice(MQMD_LAYOUT.offset("msg_id"), MQMD_LAYOUT.offset("backout_count"))
_PUT_AT = slice(MQMD_LAYOUT.offset("put_date"), MQMD_LAYOUT.offset("appl_origin_data"))
_DESCRIPTION = slice(MQMD_LAYOUT.offset("encoding"), MQMD_LAYOUT.offset("priority"))
_FORMAT = slice(MQMD_LAYOUT.offset("format"), _DESCRIPTION.stop)
_SAID_BY_DLH = slice(MQDLH_LAYOUT.offset("encoding"), MQDLH_LAYOUT.offset("put_appl_type"))
_INHERIT = c.MQCCSI_INHERIT.to_bytes(4, sys.byteorder, signed=True)
_data_description = MQMD_LAYOUT.reader("encoding", "coded_char_set_id", "format")
_describe_data = MQMD_LAYOUT.writer("encoding", "coded_char_set_id", "format")


def key_of(md: bytes, body: bytes) -> str:
    """The frozen identity of a message as it was got (law 3)."""
    return identity_key(md[_IDS] + md[_PUT_AT] + sha256(body).digest())


class MoverPort:
    """`mqops.act.core.port.Port` on a session.

    Parameters: `queues` to take from; they are opened on construction, with the ledger queue; `seal` the keys of the
    ledger. Raises `MQError`: where nothing can be taken from one of them, the run ends. One of several that has ended
    is passed over: its messages are gone.
    """

    source_options = OPEN_OPTIONS
    target_options = PASS_CONTEXT_OPTIONS

    def __init__(self, session: Session, queues: Sequence[str], seal: Seal) -> None:
        self._session = session
        self._ledger = LedgerQueue(session, seal)
        self._sources = OrderedDict(self._open_sources(queues))
        self._targets: OrderedDict[Target, int] = OrderedDict()
        self._resolved_queues: dict[Destination, ResolvedQueue | int] = {}
        self._refusals: dict[Target, str] = {}

    def _open_sources(self, queues: Sequence[str]) -> Iterator[tuple[str, int]]:
        for queue in queues:
            try:
                yield queue, self._session.open(queue, self.source_options)
            except MQError as error:
                if not has_ended(error, queues):
                    raise

    def take_lane_token(self, correl_id: bytes, *, wait_ms: int, fits: Callable[[LaneToken], bool]) -> LaneToken | None:
        """See `Port`."""
        return self._ledger.take_lane_token(correl_id, wait_ms=wait_ms, fits=fits)

    def put_lane_token(self, correl_id: bytes, body: bytes) -> None:
        """See `Port`."""
        self._ledger.put(bytes(24), correl_id, body)

    def put_marker(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        """See `Port`."""
        self._ledger.put(msg_id, correl_id, body)

    def marker(self, msg_id: bytes) -> Marker | None:
        """See `Port`."""
        return self._ledger.marker(msg_id)

    def open_target(self, target: Target) -> int:
        """See `Port`."""
        if target in self._targets:
            self._targets.move_to_end(target)
            return 0
        if len(self._targets) >= MOST_TARGETS:
            self.forget_target(next(iter(self._targets)))
        options = self.target_options | (c.MQOO_ALTERNATE_USER_AUTHORITY if target.alternate_user else 0)
        try:
            self._targets[target] = self._session.open(
                target.queue, options, queue_manager=target.queue_manager, alternate_user=target.alternate_user
            )
        except MQError as error:
            return error.reason
        return 0

    def refuses(self, target: Target) -> str:
        """See `Port`; rule 3 of `mqops.decide.core.protected`. `open_target` refuses a name that leads nowhere."""
        refusal = self._refusals.get(target)
        if refusal is None:
            refusal = self._refusals[target] = self._refusal(target)
        return refusal

    def _refusal(self, target: Target) -> str:
        there = self._resolved(target)
        if isinstance(there, int):
            return UNSEEN if there == c.MQRC_NOT_AUTHORIZED else ""
        if there.direct:
            return TO_TRANSMISSION_QUEUE
        queue = there.queue or there.remote
        leads_elsewhere = is_protected(queue) and not is_protected(target.queue)
        return f"{BY_ALIAS} {queue}" if leads_elsewhere else ""

    def depth(self, target: Target) -> int | None:
        """See `Port`."""
        there = self._resolved(target)
        if isinstance(there, int) or not there.queue:
            return None
        try:
            return depth(self._session, there.queue)
        except MQError as error:
            if error.reason in LOST_CONNECTION:
                raise
            return None

    def _resolved(self, target: Target) -> ResolvedQueue | int:
        """Where messages put to a target lie, or the reason code why that is not known; asked once on a connection.

        Raises:
            MQError: the connection is lost.
        """
        name = Destination(target.queue, target.queue_manager)
        if name not in self._resolved_queues:
            try:
                self._resolved_queues[name] = resolve_queue(self._session, *name)
            except MQError as error:
                if error.reason in LOST_CONNECTION:
                    raise
                self._resolved_queues[name] = error.reason
        return self._resolved_queues[name]

    def forget_target(self, target: Target) -> None:
        """See `Port`."""
        with suppress(MQError):
            self._session.close(self._targets.pop(target))

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """See `Port`. Raises `PlanChanged` for a copy, whose original must stay where it is."""
        if row.action == Action.COPY:
            raise PlanChanged(f"Row {row.row} of the plan is a copy. This workflow takes messages from their queue")
        if row.queue not in self._sources:
            return None  # it has ended
        if careful:
            return self._search(row)
        source, ids = self._sources[row.queue], row.msg_id + row.correl_id
        got = self._session.get(source, GET_OPTIONS, match=MATCH_BOTH, ids=ids, length=row.body_length, name=row.queue)
        return taken_as(got) if got else None

    def _search(self, row: Row) -> Taken | None:
        for got in self._with_ids_of(row, row.queue, self._sources[row.queue]):
            if got.key == row.msg_key and (under_cursor := self._under_cursor(row)):
                return taken_as(under_cursor)
        return None

    def _with_ids_of(self, row: Row, queue: str, handle: int) -> Iterator[Taken]:
        """A queue's messages that have the row's identifiers, browsed; the handle's cursor is on the last given."""
        options, ids = BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST, row.msg_id + row.correl_id
        while got := self._session.get(handle, options, match=MATCH_BOTH, ids=ids, length=row.body_length, name=queue):
            options = BROWSE_OPTIONS | c.MQGMO_BROWSE_NEXT
            yield taken_as(got)

    def _under_cursor(self, row: Row) -> RawMessage | None:
        options = GET_OPTIONS | c.MQGMO_MSG_UNDER_CURSOR
        try:
            return self._session.get(self._sources[row.queue], options, length=row.body_length, name=row.queue)
        except MQError as error:
            if error.reason == c.MQRC_NO_MSG_UNDER_CURSOR:
                return None  # somebody took it since it was browsed
            raise

    def put(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        md, body = without_dlh(taken) if row.strips_header else (taken.md, taken.body)
        if has_transmission_header(md, body):
            return c.MQRC_FORMAT_ERROR
        return self._session.put(self._targets[row.target], md, body, PUT_OPTIONS, context=self._sources[row.queue])

    def report_discarded(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        return send_expiration_report(self._session, self._sources[row.queue], taken)

    def commit(self) -> None:
        """See `Port`."""
        self._session.commit()

    def backout(self) -> None:
        """See `Port`."""
        self._session.backout()


def taken_as(got: RawMessage) -> Taken:
    """A message that was got, with its identity."""
    return Taken(md=got.md, body=got.body, key=key_of(got.md, got.body))


def has_transmission_header(md: bytes, body: bytes) -> bool:
    """Whether a message is one for a channel as it stands (rule 4 of `mqops.decide.core.protected`)."""
    return md[_FORMAT].partition(b"\0")[0].rstrip(b" ") == MQXMIT or body[:4] in XQH_EYECATCHERS


def without_dlh(taken: Taken) -> tuple[bytes, bytes]:
    """The message without its MQDLH (D08): its descriptor says again what follows, and has its group and segment fields
    again where the queue manager had moved these behind the MQDLH. Nothing else is changed.

    The CCSID is the actual one: MQCCSI_INHERIT, in an MQDLH, is that of the MQDLH, and in an MQMD the queue manager's.
    """
    md, body = taken.md, taken.body
    encoding, ccsid, raw_format = _data_description(md)
    said = body[_SAID_BY_DLH]  # encoding, CCSID and format: side by side, as in the MQMD
    if has_native_dlh(encoding, ccsid, body) and said[8:].partition(b"\0")[0].isascii():
        if said.startswith(_INHERIT, 4):
            said = said[:4] + md[_DESCRIPTION][4:8] + said[8:]
        described = md[: _DESCRIPTION.start] + said + md[_DESCRIPTION.stop :]
    else:
        try:
            dlh, _rest = dlh_of(raw_format, encoding, ccsid, body)
        except WireError:
            return md, body  # there is none to take off
        changed = bytearray(md)
        _describe_data(changed, dlh.encoding, inherited(dlh.coded_char_set_id, ccsid), dlh.format)
        described = bytes(changed)
    return with_fields_in_md(described, body[MQDLH_LAYOUT.size :])
