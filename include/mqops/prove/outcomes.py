"""What became of the messages that a run moved (rules in `mqops.prove.core.outcome`): look, and record what changed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

from mqops.act.core.port import Taken
from mqops.act.destinations import Places, key_as_put, picture
from mqops.act.mover_port import key_of, without_dlh
from mqops.act.tickets import Order, plan_rows
from mqops.actions import DISCARDS
from mqops.clock import utc, utc_text
from mqops.errors import InProgress, LakeError, MQError, MqopsError, SettingsError, TransientMQError
from mqops.lake.bodies import rows_with
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import Place
from mqops.ledger.core.marker import BODY_DIGITS, Marker, MarkerRow
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import MqConnection
from mqops.mq.inquire import depth
from mqops.mq.session import Got, Session
from mqops.observe.originals import Original, Which, copied
from mqops.printable import printable
from mqops.prove import undo_record as undo
from mqops.prove.core.outcome import THERE, Moved, OutcomeSummary, Seen, absent, outcomes, recorded
from mqops.prove.prove import reopened
from mqops.prove.transmitted import without_xqh
from mqwire.structures import MQMD_LAYOUT

LINE_ROWS = 1000
"""Most messages in a line of the ledger."""
BACK_RUNS, BACK_MESSAGES, BACK_DEPTH = 5, 10_000, 20_000
"""A run looks back at so many runs before it, at none that moved more messages, and at no queue that is deeper, so that
the look costs little beside the run; who wants to know of those asks for it."""

_ids = MQMD_LAYOUT.reader("msg_id", "correl_id")
_expiry = MQMD_LAYOUT.reader("expiry")
_log = logging.getLogger(__name__)


def find_run(lake: Path, queue_manager: str, key: str) -> RunFolder:
    """The folder of the run that is asked about.

    Raises:
        SettingsError: the lake has no such run with a plan, or it is an undo.
    """
    run = RunFolder.planned(lake, queue_manager, key)
    if (undone := undo.kept(run)) is not None:
        raise SettingsError(f"Run {key} is an undo: ask for the outcomes of run {undone.plan.run}, which it undid")
    return run


def look(
    connection: MqConnection, run: RunFolder, *, deepest: int = 0, now: Callable[[], datetime] = utc
) -> OutcomeSummary:
    """Look for each message that a run moved; what changed goes to the ledger, the numbers to RUN/outcomes.json.

    Nothing is moved. What a queue manager discards because a browse finds it expired is discarded (E03).

    Parameters: `deepest` queue that is looked at, in messages; 0 for all.

    Raises:
        InProgress: somebody acts on the run.
        Unbalanced: its ledger contradicts itself.
        MqopsError: its plan or snapshot is not as it was written; the queue manager failed.
    """
    with reopened(connection, run) as found:
        order, ledger, session = found.order, found.ledger, found.session
        known = recorded(ledger.markers(plan=order.plan))
        books = _Books(run, order, found.sums, known, Places(session))
        books.read()
        seen = _Look(session, ledger, books, deepest).seen()
        at = now()
        told = {one.row: outcome for one, outcome in outcomes(books.pending, seen, at)}
        changed = {row: outcome for row, outcome in told.items() if outcome and outcome != known.get(row)}
        with ledger.writer() as writer:
            writer.add(_lines(order, books.rows, changed, at))
            head = writer.head
    summary = replace(_summary(books, {**known, **changed}, changed, at), ledger_seq=head.seq, ledger_head=head.hash)
    write_json(run.outcomes_json, summary.to_json())
    return summary


def look_back(connection: MqConnection, run: RunFolder, *, now: Callable[[], datetime] = utc) -> list[OutcomeSummary]:
    """Look at the runs before this one of which an outcome is open, as many as are worth it; never fails.

    A run is looked at again when it has become twice as old as it was the last time.
    """
    summaries = []
    for earlier in _open_runs(run, now()):
        try:
            summaries.append(look(connection, earlier, deepest=BACK_DEPTH, now=now))
        except MqopsError as error:
            _log.warning(
                "Cannot tell what became of the messages of run %s: %s", printable(earlier.run), printable(error)
            )
    return summaries


def _open_runs(run: RunFolder, now: datetime) -> list[RunFolder]:
    """The newest proved runs beside this one that moved messages whose outcome is open."""
    others = (RunFolder(path) for path in run.path.parent.iterdir() if path != run.path)
    proved = [(_changed_at(other.summary_json), other) for other in others if not other.undo_json.exists()]
    newest = [other for at, other in sorted(proved, key=itemgetter(0), reverse=True) if at]
    return [other for other in newest[: 4 * BACK_RUNS] if _is_due(other, now)][:BACK_RUNS]


def _changed_at(path: Path) -> int:
    """When a file was changed, in nanoseconds; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _is_due(run: RunFolder, now: datetime) -> bool:
    try:
        summary = read_json(run.summary_json)
        last = read_json(run.outcomes_json) if run.outcomes_json.exists() else {}
    except MqopsError:
        return False
    if not 0 < summary["moved"] <= BACK_MESSAGES:
        return False
    if (last.get("plan"), last.get("moved")) != (summary["plan"], summary["moved"]):
        return True
    looked_at = datetime.fromisoformat(last["looked_at"])
    return bool(last["open"]) and now - looked_at >= looked_at - datetime.fromisoformat(summary["proved_at"])


@dataclass(slots=True)
class _Books:
    """The messages that a run moved: all of them in number, those whose outcome is open with what tells them.

    Attributes: `bodies` content → the digests, as the ledger has them, that their body has with and without its MQDLH.
    """

    run: RunFolder
    order: Order
    sums: Account
    known: Mapping[int, str]
    places: Places
    moved: int = 0
    rows: dict[int, MarkerRow] = field(default_factory=dict)
    left: Counter[Place] = field(default_factory=Counter)
    pending: list[Moved] = field(default_factory=list)
    bodies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _plan: dict[int, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        """Read plan and snapshot. Raises `PlanChanged`, `LakeError`."""
        wanted: dict[Which, int] = {}
        seen: Counter[Place] = Counter()
        for row in plan_rows(self.run, self.order):
            place = (row["queue"], row["msg_key"])
            if row["row"] not in self.sums.acted:
                self.left[place] += 1
            elif row["action"] not in DISCARDS:
                self.moved += 1
                if self.known.get(row["row"], THERE) == THERE:
                    wanted[*place, seen[place]] = row["row"]
                    self._plan[row["row"]] = row
            seen[place] += 1
        for _batch in copied(self.run.snapshot, wanted, self._note) if wanted else ():
            pass
        self.pending.sort(key=lambda one: one.row)

    def _note(self, number: int, original: Original) -> None:
        row = self._plan.pop(number)
        landing = self.places.of(row["dest_q"], row["dest_q_mgr"])
        content = content_key(original.md, original.body)
        self.rows[number] = _marker_row(row)
        self.pending.append(
            Moved(
                row=number,
                there=landing.queue or landing.transmission_queue,
                key_there=key_as_put(row, original) if landing.queue else content,
                transmitted=bool(landing.transmission_queue),
                home=row["queue"],
                content=content,
                msg_id=row["msg_id"].hex(),
                expiry=_expiry(original.md)[0],
                seen_at=original.seen_at,
            )
        )
        self.bodies[content] = _digests(original)


def content_key(md: bytes, body: bytes) -> str:
    """What a message is known by wherever it returns: MsgId, CorrelId and body, an MQDLH left aside (rule 2)."""
    _md, rest = without_dlh(Taken(md=md, body=body, key=""))
    return sha256(b"".join((*_ids(md), sha256(rest).digest()))).hexdigest()


def _digests(original: Original) -> tuple[str, ...]:
    _md, rest = without_dlh(Taken(md=original.md, body=original.body, key=""))
    return tuple(sha256(body).hexdigest()[:BODY_DIGITS] for body in (original.body, rest))


def _marker_row(row: Mapping[str, Any]) -> MarkerRow:
    body = bytes(row["body_sha256"]).hex()[:BODY_DIGITS]
    known = (row["row"], row["msg_key"], row["msg_id"].hex(), row["action"], row["rule_key"] or "")
    return (*known, row["dest_q"], row["dest_q_mgr"], None, body)


class _Look:
    """One look at queues and ledger. Where the messages went comes first: what leaves there meanwhile is seen later."""

    def __init__(self, session: Session, ledger: LedgerFile, books: _Books, deepest: int) -> None:
        self._session = session
        self._ledger = ledger
        self._books = books
        self._deepest = deepest
        self._hidden: set[str] = set()
        self._unsure: set[str] = set()

    def seen(self) -> Seen:
        """What there is. Raises `TransientMQError`, `LakeError`, `LedgerBroken`."""
        found = Seen(hidden=self._hidden, unsure=self._unsure)
        pending = self._books.pending
        wanted = {(one.there, one.key_there) for one in pending if one.there}
        transmission = {one.there for one in pending if one.transmitted}
        for queue in sorted({queue for queue, _key in wanted}):
            keys = self._to_be_sent(queue) if queue in transmission else [key for key, _md, _body in self._on(queue)]
            found.there.update(place for key in keys if (place := (queue, key)) in wanted)
        if missing := absent(pending, found):
            self._at_home(missing, found)
            self._later(missing, found)
        return found

    def _to_be_sent(self, queue: str) -> Iterator[str]:
        """What is known of the messages on a transmission queue: each as it is, and what the MQXQH has behind it."""
        for _key, md, body in self._on(queue):
            yield content_key(md, body)
            if (inner := without_xqh(Got(md, body))) is not None:
                yield content_key(inner.md, inner.body)

    def _at_home(self, missing: list[Moved], found: Seen) -> None:
        """Messages on the queues they came from that the run did not leave there, nor forward to the same queue."""
        left = Counter(self._books.left)
        wanted = {(one.home, one.content) for one in missing}
        for queue in sorted({one.home for one in missing}):
            for key, md, body in self._on(queue):
                if left[queue, key] > 0:
                    left[queue, key] -= 1
                elif not found.there[queue, key] and (place := (queue, content_key(md, body))) in wanted:
                    found.home[place] += 1

    def _on(self, queue: str) -> list[tuple[str, bytes, bytes]]:
        """Identity, MQMD and body of the messages on a queue; one that is not seen whole is hidden (rule 6)."""
        for whole in (True, False):
            try:
                if self._deepest and (messages := depth(self._session, queue)) > self._deepest:
                    self._hidden.add(queue)
                    self._books.places.note(queue, f"it has {messages} messages, which takes long")
                    break
                return picture(self._session, queue, _told, whole=whole)
            except InProgress:
                self._hidden.add(queue)
            except TransientMQError:
                raise
            except MQError as error:
                self._hidden.add(queue)
                self._books.places.note(queue, str(error))
                break
        return []

    def _later(self, missing: list[Moved], found: Seen) -> None:
        """Which of the messages that are missing other runs dealt with after this one had begun to act (rule 3).

        One that came back has another MQDLH, so that its digest in the ledger is not enough: where that is of neither
        body, the other run's snapshot tells, while it is there.
        """
        mine = self._books.order.plan
        known = {(one.msg_id, body): one.content for one in missing for body in self._books.bodies[one.content]}
        ids = {one.msg_id for one in missing}
        begun = min((marker.at for marker in self._ledger.markers(plan=mine) if marker.kind == "acted"), default="")
        others: dict[str, list[MarkerRow]] = {}
        for marker in self._ledger.markers(kind="acted"):
            if (marker.run, marker.plan) == (mine.run, mine.digest) or marker.at <= begun:
                continue
            for row in marker.rows:
                if (body := (row[2], row[8])) in known:
                    found.again[known[body]] += 1
                elif row[2] in ids:
                    others.setdefault(marker.run, []).append(row)
        for run, rows in others.items():
            self._from_snapshot(run, rows, found)

    def _from_snapshot(self, run: str, rows: list[MarkerRow], found: Seen) -> None:
        snapshot = RunFolder(self._books.run.path.parent / run).snapshot
        keys = {row[1] for row in rows}
        contents: dict[str, str] = {}
        with suppress(LakeError):
            for one in rows_with(snapshot, {"msg_key": keys}, ["md", "body"]):
                contents[one["msg_key"]] = content_key(one["md"], one["body"])
        for row in rows:
            if row[1] in contents:
                found.again[contents[row[1]]] += 1
            else:
                self._unsure.add(row[2])


def _told(got: Got) -> tuple[str, bytes, bytes]:
    return key_of(got.md, got.body), got.md, got.body


def _lines(order: Order, rows: Mapping[int, MarkerRow], changed: Mapping[int, str], at: datetime) -> Iterator[Marker]:
    """The lines for the ledger, one for each outcome, or more where it has many messages."""
    time = utc_text(at)
    for outcome in sorted(set(changed.values())):
        mine = [rows[row] for row, found in changed.items() if found == outcome]
        for start in range(0, len(mine), LINE_ROWS):
            part = tuple(mine[start : start + LINE_ROWS])
            yield Marker(
                unit=order.plan.outcome_id(time, part[0][0]).hex(),
                run=order.plan.run,
                plan=order.plan.digest,
                kind="outcome",
                at=time,
                rows=part,
                outcome=outcome,
            )


def _summary(books: _Books, known: Mapping[int, str], changed: Mapping[int, str], at: datetime) -> OutcomeSummary:
    return OutcomeSummary(
        run=books.order.plan.run,
        queue_manager=books.order.queue_manager,
        plan=books.order.plan.digest,
        looked_at=utc_text(at),
        moved=books.moved,
        outcomes=dict(sorted(Counter(known.values()).items())),
        changed=len(changed),
        untold=books.moved - len(known),
        remarks=books.places.remarks(),
    )
