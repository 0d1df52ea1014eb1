"""What became of the messages that a run moved (rules in `mqops.prove.core.outcome`): look, and record what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import TypeVar

from mqops.act.approved_plan import ApprovedPlan, plan_rows
from mqops.act.core.port import Taken
from mqops.act.destinations import Destinations, browse_all, key_as_put
from mqops.act.mover_port import key_of, without_dlh
from mqops.actions import Action
from mqops.clock import utc, utc_text
from mqops.counted import counted
from mqops.errors import InProgress, LakeError, MQError, SettingsError, TransientMQError
from mqops.lake.bodies import Whole, rows_with
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.core.chain import Proof
from mqops.ledger.core.identity import MessageOnQueue
from mqops.ledger.core.marker import BODY_DIGITS, Marker, MarkerKind, MarkerRow
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of
from mqops.mq.connection import Reach
from mqops.mq.inquire import depth
from mqops.mq.session import RawMessage, Session
from mqops.observe.originals import Original, Which, copied
from mqops.plan_row import PlanRow
from mqops.prove.core.outcome import THERE, Moved, OutcomeSummary, Seen, absent, outcomes, recorded
from mqops.prove.prove import reopened
from mqops.prove.records import OUTCOMES, UNDO_RECORD
from mqops.prove.transmitted import without_xqh
from mqwire.structures import MQMD_LAYOUT

Browsed = dict[tuple[str, bool], list[str]]
"""Destination, and whether messages on it are to be sent to another queue manager → what identifies each of them."""
T = TypeVar("T")
LINE_ROWS = 1000
"""Most messages in a line of the ledger."""

_ids = MQMD_LAYOUT.reader("msg_id", "correl_id")
_expiry = MQMD_LAYOUT.reader("expiry")


def look(
    connection: Reach,
    run: RunFolder,
    *,
    file: LedgerFile,
    deepest: int = 0,
    browsed: Browsed | None = None,
    now: Callable[[], datetime] = utc,
) -> OutcomeSummary:
    """Look for each message that a run moved. Changes are written to the ledger, the counts to RUN/outcomes.json.

    No message is moved. A queue manager may discard expired messages that are browsed (E03).

    Parameters: `file` the ledger, opened by the step; `deepest` the most messages of a queue that is browsed; 0 for no
    limit; `browsed` the destinations that the caller's look at another run has browsed just now, to which those of this
    look are added.

    Raises:
        SettingsError: the run is an undo.
        InProgress: another process acts on the run.
        Unbalanced: its ledger contradicts itself.
        MqopsError: its plan or snapshot was changed, or the queue manager failed.
    """
    if (undone := UNDO_RECORD.find(run)) is not None:
        raise SettingsError(f"Run {run.run} is an undo: ask for the outcomes of run {undone.run}, which it undid")
    with reopened(connection, run, file) as found:
        approved_plan, ledger, session = found.approved_plan, found.ledger.file, found.session
        known = recorded(ledger.markers(plan=approved_plan.identity))
        messages = _MovedMessages(approved_plan, found.sums, known, Destinations(session))
        messages.read()
        seen = _Look(session, ledger, messages, deepest, {} if browsed is None else browsed).seen()
        at = now()
        current = {one.row: outcome for one, outcome in outcomes(messages.pending, seen, at)}
        changed = {row: outcome for row, outcome in current.items() if outcome and outcome != known.get(row)}
        with writer_of(ledger) as writer:
            writer.add(_lines(approved_plan, messages.rows, changed, at))
            head = writer.head
    summary = replace(_summary(messages, {**known, **changed}, changed, at), ledger_seq=head.seq, ledger_head=head.hash)
    ledger.note_proof(Proof(run=run.run, head=head))
    OUTCOMES.write(run, summary)
    return summary


@dataclass(slots=True)
class _MovedMessages:
    """The messages that a run moved: how many, and what identifies each of those whose outcome may still change.

    Attributes: `bodies` content → the digests of the body with and without its MQDLH, as the ledger has them.
    """

    approved_plan: ApprovedPlan
    sums: Account
    known: Mapping[int, str]
    destinations: Destinations
    moved: int = 0
    rows: dict[int, MarkerRow] = field(default_factory=dict)
    left: Counter[MessageOnQueue] = field(default_factory=Counter)
    pending: list[Moved] = field(default_factory=list)
    bodies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _plan: dict[int, PlanRow] = field(default_factory=dict)

    def read(self) -> None:
        """Read plan and snapshot. Raises `PlanChanged`, `LakeError`."""
        wanted: dict[Which, int] = {}
        seen: Counter[MessageOnQueue] = Counter()
        for row in plan_rows(self.approved_plan):
            place = (row.queue, row.msg_key)
            if row.row not in self.sums.acted or row.action is Action.COPY:
                self.left[place] += 1
            if row.row in self.sums.acted and not row.action.discards:
                self.moved += 1
                if self.known.get(row.row, THERE) == THERE:
                    wanted[*place, seen[place]] = row.row
                    self._plan[row.row] = row
            seen[place] += 1
        for _batch in copied(self.approved_plan.folder.snapshot, wanted, self._note) if wanted else ():
            pass
        self.pending.sort(key=lambda one: one.row)

    def _note(self, number: int, original: Original) -> None:
        row = self._plan.pop(number)
        resolved_queue = self.destinations.of(row.dest_q, row.dest_q_mgr)
        content = content_key(original.md, original.body)
        self.rows[number] = _marker_row(row)
        self.pending.append(
            Moved(
                row=number,
                there=resolved_queue.queue or resolved_queue.transmission_queue,
                key_there=key_as_put(row, original, self.approved_plan.queue_manager)
                if resolved_queue.queue
                else content,
                transmitted=bool(resolved_queue.transmission_queue),
                home=row.queue,
                content=content,
                msg_id=row.msg_id.hex(),
                expiry=_expiry(original.md)[0],
                seen_at=original.observed_at,
            )
        )
        self.bodies[content] = _digests(original)


def content_key(md: bytes, body: bytes) -> str:
    """What identifies a message that returns: MsgId, CorrelId and body without MQDLH (rule 2)."""
    _md, rest = without_dlh(Taken(md=md, body=body, key=""))
    return sha256(b"".join((*_ids(md), sha256(rest).digest()))).hexdigest()


def _digests(original: Original) -> tuple[str, ...]:
    _md, rest = without_dlh(Taken(md=original.md, body=original.body, key=""))
    return tuple(sha256(body).hexdigest()[:BODY_DIGITS] for body in (original.body, rest))


def _marker_row(row: PlanRow) -> MarkerRow:
    body = row.body_sha256.hex()[:BODY_DIGITS]
    known = (row.row, row.msg_key, row.msg_id.hex(), row.action, row.rule_key or "")
    return MarkerRow(*known, row.dest_q, row.dest_q_mgr, None, body)


class _Look:
    """One look at queues and ledger, the destinations first: a message that leaves one meanwhile is seen elsewhere.

    A destination that was browsed for another run before is browsed again, unless all messages were there then.
    """

    def __init__(
        self, session: Session, ledger: LedgerFile, messages: _MovedMessages, deepest: int, browsed: Browsed
    ) -> None:
        self._session = session
        self._ledger = ledger
        self._messages = messages
        self._deepest = deepest
        self._browsed = browsed
        self._hidden: set[str] = set()
        self._unsure: set[str] = set()

    def seen(self) -> Seen:
        """The outcome of each moved message. Raises `TransientMQError`, `LakeError`, `LedgerBroken`."""
        found = Seen(hidden=self._hidden, unsure=self._unsure)
        pending = self._messages.pending
        wanted: dict[str, Counter[str]] = {}
        for one in pending:
            if one.there:
                wanted.setdefault(one.there, Counter())[one.key_there] += 1
        transmission = {one.there for one in pending if one.transmitted}
        for queue, mine in sorted(wanted.items()):
            keys = self._there(queue, mine, to_be_sent=queue in transmission)
            found.there.update((queue, key) for key in keys if key in mine)
        if missing := absent(pending, found):
            self._at_home(missing, found)
            self._later(missing, found)
        return found

    def _there(self, queue: str, mine: Counter[str], *, to_be_sent: bool) -> list[str]:
        """What identifies the messages of a destination: those of a transmission queue as they are, and without their
        MQXQH. Parameters: `mine` of the messages that this run put there."""
        known = self._browsed.get((queue, to_be_sent))
        if known is not None and mine <= Counter(known):
            return known
        if to_be_sent:
            keys = [key for both in self._on(queue, _sent) for key in both]
        else:
            keys = self._on(queue, lambda got: key_of(got.md, got.body))
        if queue not in self._hidden:
            self._browsed[queue, to_be_sent] = keys
        return keys

    def _at_home(self, missing: list[Moved], found: Seen) -> None:
        """Messages on the queues they came from that the run did not leave there, nor forward to the same queue."""
        left = Counter(self._messages.left)
        wanted = {(one.home, one.content) for one in missing}
        for queue in sorted({one.home for one in missing}):
            for key, content in self._on(queue, _as_it_came):
                if left[queue, key] > 0:
                    left[queue, key] -= 1
                elif not found.there[queue, key] and (place := (queue, content)) in wanted:
                    found.home[place] += 1

    def _on(self, queue: str, identified: Callable[[RawMessage], T]) -> list[T]:
        """What identifies each message on a queue; a queue that cannot be read whole is hidden (rule 6)."""
        for whole in (True, False):
            try:
                if self._deepest and (found := depth(self._session, queue)) > self._deepest:
                    self._hidden.add(queue)
                    self._messages.destinations.note(queue, f"it has {counted(found, 'message')}, which takes long")
                    break
                return browse_all(self._session, queue, identified, whole=whole)
            except InProgress:
                self._hidden.add(queue)
            except TransientMQError:
                raise
            except MQError as error:
                self._hidden.add(queue)
                self._messages.destinations.note(queue, str(error))
                break
        return []

    def _later(self, missing: list[Moved], found: Seen) -> None:
        """Count the missing messages that other runs dealt with after this run had begun to act (rule 3).

        A message that came back has another MQDLH. If the digest in the ledger is that of neither body, the body is
        read from the other run's snapshot, if that still exists.
        """
        mine = self._messages.approved_plan.identity
        known = {(one.msg_id, body): one.content for one in missing for body in self._messages.bodies[one.content]}
        ids = {one.msg_id for one in missing}
        begun = min((one.at for one in self._ledger.markers(plan=mine) if one.kind == MarkerKind.ACTED), default="")
        others: dict[str, list[MarkerRow]] = {}
        for marker in self._ledger.of_messages(ids, MarkerKind.ACTED):
            if (marker.run, marker.plan) == (mine.run, mine.digest) or marker.at <= begun:
                continue
            for row in marker.rows:
                if (body := (row.msg_id, row.body)) in known:
                    found.again[known[body]] += 1
                elif row.msg_id in ids:
                    others.setdefault(marker.run, []).append(row)
        for run, rows in others.items():
            self._from_snapshot(run, rows, found)

    def _from_snapshot(self, run: str, rows: list[MarkerRow], found: Seen) -> None:
        snapshot = RunFolder(self._messages.approved_plan.folder.path.parent / run).snapshot
        keys = {row.msg_key for row in rows}
        contents: dict[str, str] = {}
        with suppress(LakeError):
            for one in rows_with(snapshot, {"msg_key": keys}, Whole):
                contents[one.msg_key] = content_key(one.md, one.body)
        for row in rows:
            if row.msg_key in contents:
                found.again[contents[row.msg_key]] += 1
            else:
                self._unsure.add(row.msg_id)


def _as_it_came(got: RawMessage) -> tuple[str, str]:
    return key_of(got.md, got.body), content_key(got.md, got.body)


def _sent(got: RawMessage) -> list[str]:
    inner = without_xqh(got)
    return [content_key(one.md, one.body) for one in (got, inner) if one is not None]


def _lines(
    approved_plan: ApprovedPlan, rows: Mapping[int, MarkerRow], changed: Mapping[int, str], at: datetime
) -> Iterator[Marker]:
    """The lines for the ledger: one for each outcome and each LINE_ROWS messages of it."""
    time = utc_text(at)
    for outcome in sorted(set(changed.values())):
        mine = [rows[row] for row, found in changed.items() if found == outcome]
        for start in range(0, len(mine), LINE_ROWS):
            part = tuple(mine[start : start + LINE_ROWS])
            yield Marker(
                unit=approved_plan.identity.outcome_id(time, part[0][0]).hex(),
                run=approved_plan.identity.run,
                plan=approved_plan.identity.digest,
                kind=MarkerKind.OUTCOME,
                at=time,
                rows=part,
                outcome=outcome,
            )


def _summary(
    messages: _MovedMessages, known: Mapping[int, str], changed: Mapping[int, str], at: datetime
) -> OutcomeSummary:
    return OutcomeSummary(
        run=messages.approved_plan.identity.run,
        queue_manager=messages.approved_plan.queue_manager,
        plan=messages.approved_plan.identity.digest,
        looked_at=utc_text(at),
        moved=messages.moved,
        outcomes=dict(sorted(Counter(known.values()).items())),
        changed=len(changed),
        untold=messages.moved - len(known),
        remarks=messages.destinations.remarks(),
    )
