"""Canaries: some messages of each destination and rule go first; do they come back?

1. A group is a destination (`unit_group`) and the rule that sends messages there. Its first n messages by the plan's
   order, and what goes together with them, are dealt into lanes of their own, which are done before all others.
   A message that would overtake its order key is passed over: an earlier message of another rule or of an MQ group has
   the same key and destination. An MQ group is passed over if any earlier message has one of its keys.
2. Before the first of them moves, it is noted what stands on the watched queues and looks like a canary: the queues the
   plan takes from, the queue manager's DEADQ, and the backout queues (BOQNAME) of the destinations.
3. When their lanes are done the run waits. A canary came back when a watched queue has more messages with its MsgId, or
   with its very body (MQDLH apart; not where that is empty), than are expected: those that were noted, less the
   canaries that were taken from there, and those that the run itself put there. The MsgIds are looked for again and
   again, the bodies once, at the end: that reads the queues.
4. A group is left when one of its canaries came back, could not be put, or when none of them was there any more.
   Its other messages are left, with the reason; other groups go on, but for what would overtake a canary that could not
   be put: messages with its order key for its destination are left, whatever rule sends them (rule 9 of `mqops.act`).
   It is left, too, if one of its canaries still lies where it was put when the wait is over: what nobody has read
   proves nothing. This does not hold for a queue that is storage (`mqops.storage`). Whether a canary that went to
   another queue manager was read is not known; the run says so.
5. The decision is written to RUN/canary.json in one step, before anything else moves, and never made again. A process
   that dies before it is written waits again; one that dies after it goes by it. The run's lock is held throughout.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

from mqops.act.approved_plan import ApprovedPlan
from mqops.act.core.lanes import Group, Row
from mqops.act.core.mover import MOST_KEYS, place_in_order
from mqops.act.core.port import Taken
from mqops.act.destinations import key_there
from mqops.act.mover_port import key_of, without_dlh
from mqops.clock import utc_now
from mqops.errors import MQError, SettingsError
from mqops.lake.bodies import bodies_of
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.lake.stop import refuse_if_stopped
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import MessageOnQueue
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import LedgerQueue
from mqops.model import CanaryResult, Destination
from mqops.mq.browse import OPEN_OPTIONS, browse
from mqops.mq.connection import OneSession, connect
from mqops.mq.inquire import dead_letter_queue, queue_state, resolve_queue, try_resolve_queue
from mqops.mq.session import RawMessage, Session
from mqops.storage import Storage
from mqwire.structures import MQMD_LAYOUT

CAME_BACK = "canary came back"
FAILED = "canary could not be put"
NONE_THERE = "no canary was there to try"
UNREAD = "no program has read the canary"
LOOK_AGAIN = 0.5
"""Seconds between two looks for canaries that came back."""

_msg_id = MQMD_LAYOUT.reader("msg_id")
_NO_ID = "00" * 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """One canary.

    Parameters: `msg_id` hex; `payload` SHA-256 of the body without MQDLH (hex), "" where it is empty; `landing` the
    local queue where it lies once it is put, blank where it is not known, and `key_there` its identity as put;
    `order_key` what its rule's ORDER keeps in order, "" without.
    """

    row: int
    unit_group: str
    rule_key: str
    queue: str
    msg_key: str
    msg_id: str
    payload: str
    dest_q: str
    dest_q_mgr: str
    landing: str = ""
    key_there: str = ""
    order_key: str = ""

    @property
    def group(self) -> Group:
        """Its group."""
        return (self.unit_group, self.rule_key)


class Noted(NamedTuple):
    """How many messages with this identity were on a queue before the first canary moved."""

    queue: str
    msg_key: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRecord:
    """RUN/canary.json: what rule 2 notes, and the decision of rule 5.

    Parameters: `watched` queues; `unseen` a line for each queue that should be watched and cannot be; `before` what was
    there; `decision` None until it is made; `plan` the digest of the plan that it is about; `behind` as in
    `CanaryDecision`; `decided_at` UTC time, ISO 8601, blank until the decision is made.
    """

    canaries: tuple[Canary, ...]
    watched: tuple[str, ...]
    unseen: tuple[str, ...]
    before: tuple[Noted, ...]
    decision: tuple[CanaryResult, ...] | None = None
    plan: str
    behind: tuple[str, ...] = ()
    decided_at: str = ""

    def write(self, run: RunFolder) -> None:
        """Write it. Raises `LakeError`."""
        CANARIES.write(run, self)

    @classmethod
    def read(cls, run: RunFolder, plan: str) -> CanaryRecord | None:
        """The record about the plan with this digest, None without one. Raises `LakeError`."""
        found = CANARIES.find(run)
        return found if found and found.plan == plan else None


def _plain(record: CanaryRecord) -> dict[str, object]:
    content = asdict(record)
    if record.decision is None:
        del content["behind"], content["decided_at"]
    return content


CANARIES = RunFile("canary.json", CanaryRecord, _plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryDecision:
    """What the canaries showed, for the lanes after them. Nothing is left unless it is named here.

    Attributes: `left_groups` groups whose rows are left, and why; `behind` the places (`place_in_order`) of canaries
    that could not be put.
    """

    left_groups: Mapping[Group, str] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()


def watch(step: OneSession, approved_plan: ApprovedPlan, ahead: Callable[[], Sequence[Row]]) -> CanaryRecord:
    """Rule 2: record the messages that are on the watched queues before the first canary moves, unless an earlier
    execution did. The record is read once an execution: the run's lock is held, so no other process writes it (rule 5).

    Parameters: `ahead` gives the canaries. Raises `MQError`, `LakeError`.
    """
    if (earlier := CanaryRecord.read(approved_plan.folder, approved_plan.identity.digest)) is not None:
        return earlier
    with connect(step) as session:
        canaries = _canaries(session, approved_plan.folder, ahead())
        watched, unseen = _watched(session, approved_plan, canaries)
        before = _like(canaries, _all(session, watched))
    record = CanaryRecord(
        canaries=tuple(canaries),
        watched=tuple(watched),
        unseen=tuple(unseen),
        before=tuple(Noted(*place, number) for place, number in sorted(before.items())),
        plan=approved_plan.identity.digest,
    )
    record.write(approved_plan.folder)
    return record


def decided(
    step: OneSession,
    approved_plan: ApprovedPlan,
    ledger: OpenLedger,
    record: CanaryRecord,
) -> CanaryDecision:
    """Rules 3-5. Waits unless it is decided already. Parameters: `record` what `watch` gave.

    Raises:
        Stopped: somebody stopped the run while it waited.
        MQError, LakeError: nothing was decided; call again.
    """
    if record.decision is None:
        before: Counter[MessageOnQueue] = Counter({(one.queue, one.msg_key): one.messages for one in record.before})
        with connect(step) as session:
            sums = _account(session, ledger)
            queue_manager = approved_plan.queue_manager
            look = _Look(session, record.canaries, record.watched, before, sums, queue_manager=queue_manager)
            end = time.monotonic() + approved_plan.pacing.canary_wait
            while time.monotonic() < end and not look.all_left(look.by_id()):
                refuse_if_stopped(approved_plan.folder)
                time.sleep(min(LOOK_AGAIN, max(0.0, end - time.monotonic())))
            results = look.results(look.by_id() | look.by_body(), unread=True)
        behind = _places(one for one in record.canaries if look.not_put(one))
        record = replace(record, decision=tuple(results), behind=tuple(behind), decided_at=utc_now())
        record.write(approved_plan.folder)
    left_groups = {(one.unit_group, one.rule_key): one.why for one in record.decision or () if one.why}
    return CanaryDecision(left_groups=left_groups, behind=frozenset(record.behind))


def _canaries(session: Session, run: RunFolder, rows: Sequence[Row]) -> list[Canary]:
    """The canaries with the digests of their bodies, which the snapshot has, and where they will lie."""
    originals = bodies_of(run.snapshot, {(row.queue, row.msg_key) for row in rows})
    names = {(row.dest_q, row.dest_q_mgr) for row in rows}
    landings = {name: try_resolve_queue(session, *name).queue for name in names}
    return [
        Canary(
            row=row.row,
            unit_group=row.unit_group,
            rule_key=row.rule_key,
            queue=row.queue,
            msg_key=row.msg_key,
            msg_id=row.msg_id.hex(),
            payload=_payload(*original),
            dest_q=row.dest_q,
            dest_q_mgr=row.dest_q_mgr,
            landing=landings[row.dest_q, row.dest_q_mgr],
            key_there=key_there(row.msg_key, *original, strips_header=row.strips_header),
            order_key=row.order_key,
        )
        for row in rows
        for original in [originals[row.queue, row.msg_key]]
    ]


def _places(canaries: Iterable[Canary]) -> list[str]:
    """The places of canaries with an order key; if there are too many, their whole destinations."""
    keys = {(one.unit_group, one.order_key) for one in canaries if one.order_key}
    if len(keys) > MOST_KEYS:
        keys = {(unit_group, "") for unit_group, _key in keys}
    return sorted(place_in_order(*key) for key in keys)


def _payload(md: bytes, body: bytes) -> str:
    rest = without_dlh(Taken(md=md, body=body, key=""))[1]
    return sha256(rest).hexdigest() if rest else ""


def _watched(session: Session, approved_plan: ApprovedPlan, canaries: Sequence[Canary]) -> tuple[list[str], list[str]]:
    """Rule 2: the queues that are watched, and why others that should be are not."""
    names = list(approved_plan.queues)
    unseen = []
    with suppress(SettingsError):
        names.append(dead_letter_queue(session))
    for queue, queue_manager in sorted({(one.dest_q, one.dest_q_mgr) for one in canaries}):
        name, why = _backout_queue(session, queue, queue_manager)
        names.append(name)
        if why:
            name = str(Destination(queue, queue_manager))
            unseen.append(f"canaries: whether {name} has a backout queue and a program that reads is not known: {why}")
    watched = []
    for name in filter(None, dict.fromkeys(names)):
        why = _unreadable(session, name)
        unseen += [f"canaries: {name} is not watched: {why}"] if why else []
        watched += [] if why else [name]
    return watched, unseen


def _backout_queue(session: Session, queue: str, queue_manager: str) -> tuple[str, str]:
    """The backout queue of a destination, "" for none, and why it is not known."""
    try:
        place = resolve_queue(session, queue, queue_manager)
        return ("", place.why) if place.why else (queue_state(session, place.queue).backout_queue, "")
    except MQError as error:
        error.raise_if_lost()
        return "", str(error)


def _unreadable(session: Session, queue: str) -> str:
    """Why a queue cannot be browsed, "" if it can."""
    try:
        session.close(session.open(queue, OPEN_OPTIONS))
    except MQError as error:
        error.raise_if_lost()
        return str(error)
    return ""


def _all(session: Session, queues: Sequence[str]) -> Iterator[tuple[str, RawMessage]]:
    for queue in queues:
        for got in browse(session, queue):
            yield queue, got


def _like(canaries: Sequence[Canary], messages: Iterator[tuple[str, RawMessage]]) -> Counter[MessageOnQueue]:
    """How many messages there are of those that have the MsgId or the body of a canary."""
    ids = {one.msg_id for one in canaries}
    payloads = {one.payload for one in canaries if one.payload}
    return Counter(
        (queue, key_of(got.md, got.body))
        for queue, got in messages
        if _msg_id(got.md)[0].hex() in ids or _payload(got.md, got.body) in payloads
    )


def _account(session: Session, ledger: OpenLedger) -> Account:
    """What the plan's markers say, on the ledger queue and in the ledger."""
    queue = LedgerQueue(session, ledger.keys)
    try:  # before the ledger: a marker that is drained meanwhile is seen twice, not missed
        mine = (ledger.plan.run, ledger.plan.digest)
        waiting = [marker for marker in queue.markers() if (marker.run, marker.plan) == mine]
    finally:
        queue.close()
    return account({one.unit: one for one in chain(waiting, ledger.file.markers(plan=ledger.plan))}.values())


class _Look:
    """Looks for canaries that came back.

    Parameters: `watched` queues, some perhaps by an alias; `before` what stood there; `sums` what was done with the
    canaries.
    """

    def __init__(
        self,
        session: Session,
        canaries: Sequence[Canary],
        watched: Sequence[str],
        before: Counter[MessageOnQueue],
        sums: Account,
        *,
        queue_manager: str,
    ) -> None:
        self._session = session
        self._storage = Storage(session, queue_manager)
        self._canaries = canaries
        self._watched = watched
        self._sums = sums
        moved = [one for one in canaries if one.row in sums.acted]
        self._expected = before - Counter((one.queue, one.msg_key) for one in moved)
        for name in watched:
            queue = try_resolve_queue(session, name, "").queue or name
            self._expected.update((name, one.key_there) for one in moved if one.landing == queue)

    def by_id(self) -> set[int]:
        """Rows of the canaries whose MsgId is on a watched queue again."""
        back: set[int] = set()
        for msg_id in sorted({one.msg_id for one in self._canaries} - {_NO_ID}):
            found = Counter(
                (queue, key_of(got.md, got.body))
                for queue in self._watched
                for got in browse(self._session, queue, msg_id=bytes.fromhex(msg_id))
            )
            if found - self._expected:
                back.update(one.row for one in self._canaries if one.msg_id == msg_id)
        return back & self._sums.acted.keys()

    def by_body(self) -> set[int]:
        """Rows of the canaries whose body is on a watched queue again. Reads the queues."""
        payloads: dict[str, set[int]] = {}
        for one in self._canaries:
            if one.payload:
                payloads.setdefault(one.payload, set()).add(one.row)
        found: Counter[MessageOnQueue] = Counter()
        rows: dict[MessageOnQueue, set[int]] = {}
        for queue, got in _all(self._session, self._watched):
            like = payloads.get(_payload(got.md, got.body))
            if like is not None:
                place = (queue, key_of(got.md, got.body))
                found[place] += 1
                rows[place] = like
        back = {row for place in found - self._expected for row in rows[place]}
        return back & self._sums.acted.keys()

    def all_left(self, back: set[int]) -> bool:
        """Whether there is nothing left to wait for."""
        return all(one.why for one in self.results(back))

    def results(self, back: set[int], *, unread: bool = False) -> list[CanaryResult]:
        """Rule 4. Parameters: `back` rows of those that came back; `unread` whether to count those not yet read."""
        groups: dict[Group, list[Canary]] = {}
        for one in self._canaries:
            groups.setdefault(one.group, []).append(one)
        return [self._result(group, ones, back, unread) for group, ones in sorted(groups.items())]

    def not_put(self, one: Canary) -> bool:
        """Whether a canary failed or was left."""
        return one.row in self._sums.failed or one.row in self._sums.left

    def _result(self, group: Group, ones: Sequence[Canary], back: set[int], unread: bool) -> CanaryResult:
        unit_group, rule_key = group
        moved = [one for one in ones if one.row in self._sums.acted]
        failed = sum(map(self.not_put, ones))
        came = sum(one.row in back for one in ones)
        lying = sum(map(self._is_unread, moved)) if unread else 0
        why = CAME_BACK if came else FAILED if failed else NONE_THERE if not moved else UNREAD if lying else ""
        return CanaryResult(
            unit_group=unit_group,
            rule_key=rule_key,
            canaries=len(ones),
            moved=len(moved),
            back=came,
            failed=failed,
            unread=lying,
            why=why,
        )

    def _is_unread(self, one: Canary) -> bool:
        try:
            if not one.landing or one.msg_id == _NO_ID or self._storage.has(one.landing):
                return False
            return any(browse(self._session, one.landing, limit=1, msg_id=bytes.fromhex(one.msg_id)))
        except MQError as error:
            error.raise_if_lost()
            return False
