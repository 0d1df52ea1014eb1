"""The dead-letter queue handler: pass after pass, until the rules table's WAIT says that it is over.

1. Each pass is a run of its own: plan, act, ledger, proof.
2. While a put is to be tried again, or a message stands behind one that was, the next pass comes RETRYINT seconds
   after the last, whatever arrives, so that no try is used up sooner; and the handler does not end.
3. Otherwise it waits, browsing, for a message that the last pass has not left there, and makes no run while none comes.
   Messages seldom come alone: the pass begins a second behind the first.
4. It ends WAIT seconds after the last pass that tried something or saw a message with an MQDLH for the first time;
   NO is 0 seconds, with YES it does not end by itself. A message without an MQDLH prolongs nothing.
5. Every RETRYINT seconds it looks at the whole queue, so that a message is seen wherever it was put (D13), and tells of
   the messages without an MQDLH that are still there (D05).
6. A table that asks for the AGE of messages may say something else of them later: while there are any, a pass comes
   every 10 RETRYINT seconds, as IBM's handler comes back to what it has left.
7. What was left because its destination had no room (`--in-flight`) uses up no try and holds nobody past WAIT: until
   then a pass comes every RETRYINT seconds.
8. Where canaries came back it ends: another pass would send others after them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from mqops.act.lanes import ACTED
from mqops.act.mover import BEHIND
from mqops.act.part import GROUP_TOO_LARGE
from mqops.errors import Stopped
from mqops.ledger.account import Account, account
from mqops.model import RunSummary
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import connect
from mqops.mq.inquire import dead_letter_queue, depth, queue_manager_name
from mqops.mq.session import Session
from mqops.plan import PlanSummary
from mqops.rules import Table
from mqops.snapshot.decode import md_text
from mqops.store import tries
from mqops.store.arrow import read_parquet
from mqops.store.files import make_folder, read_json
from mqops.store.ledger import LedgerFile
from mqops.store.run import RunFolder
from mqops.store.stop import lift, stop_in
from mqops.workflow.canary import CAME_BACK
from mqops.workflow.canary import FAILED as CANARY_FAILED
from mqops.workflow.clock import utc_now
from mqops.workflow.decide import Past, read_messages
from mqops.workflow.dlq import Pass, carry_out, plan_pass
from mqops.workflow.throttle import is_for_room
from mqops.workflow.tickets import read_order
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

Sight: TypeAlias = tuple[bytes, bytes, str, str]
"""What tells a message from another without its body: MsgId, CorrelId, put date and time."""
Failure: TypeAlias = tuple[int, str, str, int]
"""A try that failed: line of the rule, destination queue and queue manager, reason code."""

FOREVER = float("inf")
SLICE = 1.0
"""Seconds of one waiting MQGET, behind which it is looked whether to end."""
GATHER = 1.0
"""Seconds between a message that arrives and its pass (rule 3)."""
REVISIT = 10
"""Retry intervals between two passes over messages that get older (rule 6)."""
_LOOK = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_PROPERTIES_FORCE_MQRFH2
)
_COLUMNS = [
    *("row", "msg_key", "msg_id", "correl_id", "put_date", "put_time"),
    *("action", "rule_line", "dest_q", "dest_q_mgr"),
]
_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")


class Ending(Protocol):
    """Whether somebody wants the handler to end, whoever that is."""

    @property
    def asked(self) -> str:
        """By what: the name of a signal, "" while nobody does."""

    def sleep(self, seconds: float) -> None:
        """Wait so long, less where somebody asks for the end."""

    def stops(self, run: RunFolder) -> None:
        """From now on, and if it was asked for before, asking for the end stops this run (`mqops.store.stop`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a pass left behind.

    Attributes: `there` the messages that stay on the queue; `in_error` those of them without a valid MQDLH, in the
    queue's order; `failures` how many tries failed and how; `to_retry` how many of these messages have a rule
    left; `untried` messages that were left and may go the next time; `without_room` those that were left because their
    destination had no room.
    """

    there: Counter[Sight] = field(default_factory=Counter)
    in_error: tuple[Sight, ...] = ()
    failures: Mapping[Failure, int] = field(default_factory=dict)
    to_retry: Mapping[Failure, int] = field(default_factory=dict)
    untried: int = 0
    without_room: int = 0

    def ids_in_error(self) -> list[str]:
        """The MsgIds, in hex, of the messages without a valid MQDLH."""
        return [msg_id.hex() for msg_id, *_rest in self.in_error]


class Handler:
    """One invocation.

    Parameters: `what` a pass does; `ending` is asked all the time; `once` for a single pass, whatever the table says;
    `tell_errors` gets the MsgIds of messages without a valid MQDLH that are on the queue.
    Attributes: `queue` and `queue_manager` by their names; `outcome` of the last pass; `passes` so far;
        `came_back` whether canaries did.

    Raises:
        MqopsError: the queue cannot be browsed, the queue manager cannot be reached, or the lake cannot be written.
    """

    def __init__(
        self, what: Pass, ending: Ending, *, once: bool = False, tell_errors: Callable[[Sequence[str]], None]
    ) -> None:
        with connect(what.connection) as session:
            self.queue_manager = queue_manager_name(session)
            self.queue = what.queue or dead_letter_queue(session)
            session.close(session.open(self.queue, OPEN_OPTIONS))
        self._what = replace(what, queue=self.queue)
        self._lake = RunFolder.at(what.lake, self.queue_manager, "any").lake_folder
        make_folder(self._lake)  # `mqops stop` takes no queue manager that the lake does not have
        self._ending = ending
        self._once = once
        self._tell_errors = tell_errors
        self._interval = max(1, what.table.control.retryint)
        self._useful = time.monotonic()
        self._ages = any(question.keyword == "AGE" for question in what.table.questions)
        self.came_back = False
        self.passes = 0
        self.outcome = Outcome()

    def has_work(self) -> bool:
        """Wait for something to do; False where the handler is to end.

        Raises:
            Stopped: somebody stopped the queue manager's runs.
            MqopsError: the queue can no longer be browsed.
        """
        self._refuse_if_stopped()
        if self._ending.asked or self.came_back or (self._once and self.passes):
            return False
        if self._once:
            return self._is_filled()
        if self.outcome.to_retry or self.outcome.untried:
            return self._retry_interval_is_over()
        arrived = self._arrived()
        if arrived and self.passes:
            self._ending.sleep(GATHER)
        return arrived and not self._ending.asked

    def plan(self) -> tuple[RunFolder, PlanSummary]:
        """The plan of the next pass. Raises as `plan_pass`."""
        return plan_pass(self._what)

    def carry_out(self, run: RunFolder, plan: PlanSummary) -> RunSummary:
        """Do it. A pass that was ended by the handler's end gives what it had done.

        Raises:
            Stopped: somebody else stopped it.
            MqopsError: as `mqops.workflow.dlq.carry_out`.
        """
        self._ending.stops(run)
        try:
            summary = carry_out(self._what, run, plan)
        except Stopped:
            if not self._ending.asked:
                raise
            summary = RunSummary.from_json(read_json(run.summary_json))
        if self._ending.asked and summary.finished:
            lift(run.path)  # the end came behind its last unit of work
        self._learn(run, summary)
        self.passes += 1
        return summary

    def _learn(self, run: RunFolder, summary: RunSummary) -> None:
        before, self.outcome = self.outcome.there, outcome_of(run, self._what.table)
        in_error = set(self.outcome.in_error)
        is_new = any(sight not in before and sight not in in_error for sight in self.outcome.there)
        if is_new or summary.moved or summary.discarded or summary.failed:
            self._useful = time.monotonic()
        self.came_back = CAME_BACK in summary.left_because

    def _is_filled(self) -> bool:
        with connect(self._what.connection) as session:
            return depth(session, self.queue) != 0

    def _retry_interval_is_over(self) -> bool:
        end = time.monotonic() + self._what.table.control.retryint
        while (left := end - time.monotonic()) > 0 and not self._ending.asked:
            self._ending.sleep(min(left, SLICE))
            self._refuse_if_stopped()
        return not self._ending.asked

    def _arrived(self) -> bool:
        """Wait for a message that the last pass has not left there, or the time to go on without one (rules 3 to 7)."""
        with connect(self._what.connection) as session:
            handle = session.open(self.queue, OPEN_OPTIONS)
            tell_at = time.monotonic() + self._interval
            again_at = time.monotonic() + self._again()
            while True:
                waiting = _Waiting(session, handle, self.queue, self.outcome.there)
                if waiting.sees_new(lambda: bool(self._ending.asked)):
                    return True
                if time.monotonic() >= tell_at:
                    self._tell_errors([sight[0].hex() for sight in self.outcome.in_error if sight in waiting.seen])
                    tell_at = time.monotonic() + self._interval
                while time.monotonic() < tell_at and not waiting.is_deeper():
                    self._refuse_if_stopped()
                    if time.monotonic() >= again_at:
                        return True
                    left = min(self._left(), tell_at - time.monotonic(), SLICE)
                    if self._ending.asked or self._left() <= 0:
                        return False
                    if waiting.gets_new(left):
                        return True

    def _again(self) -> float:
        """Seconds until another pass over what is there (rules 6 and 7)."""
        if self.outcome.without_room:
            return self._interval
        return REVISIT * self._interval if self._ages and self.outcome.there else FOREVER

    def _left(self) -> float:
        """Seconds until WAIT is over."""
        wait = self._what.table.control.wait
        if wait == "YES":
            return FOREVER
        return self._useful + (0 if wait == "NO" else wait) - time.monotonic()

    def _refuse_if_stopped(self) -> None:
        found = stop_in(self._lake)
        if found is not None:
            raise Stopped(
                f"All acting on {self.queue_manager} was stopped {found}. What was done is in the ledger, everything "
                f"else is where it was. To go on: `mqops resume -m {self.queue_manager}`, and start this again"
            )


class _Waiting:
    """A look at the whole queue, and a wait behind its last message.

    Parameters: `known` messages that may be there and are not new.
    """

    def __init__(self, session: Session, handle: int, queue: str, known: Counter[Sight]) -> None:
        self._session = session
        self._handle = handle
        self._queue = queue
        self._known = Counter(known)
        self._depth = self._deep()
        self.seen: set[Sight] = set()

    def sees_new(self, ended: Callable[[], bool]) -> bool:
        """Browse from the first message to the last one, or to a new one."""
        options = _LOOK | c.MQGMO_BROWSE_FIRST
        while not ended():
            sight = self._next(options, 0)
            if sight is None:
                return False
            if self._is_new(sight):
                return True
            options = _LOOK | c.MQGMO_BROWSE_NEXT
        return False

    def gets_new(self, seconds: float) -> bool:
        """Wait for a message behind the last one."""
        sight = self._next(_LOOK | c.MQGMO_BROWSE_NEXT, max(1, int(seconds * 1000)))
        return sight is not None and self._is_new(sight)

    def is_deeper(self) -> bool:
        """Whether more messages are there than when it began: one may have come before others that are there."""
        return self._depth >= 0 and self._deep() > self._depth

    def _deep(self) -> int:
        """Current depth; an alias has none of its own (`depth`)."""
        own = int(self._session.inquire(self._handle, c.MQIA_CURRENT_Q_DEPTH))
        return own if own >= 0 else depth(self._session, self._queue)

    def _next(self, options: int, wait_ms: int) -> Sight | None:
        got = self._session.get(self._handle, options, wait_ms=wait_ms, room=0, name=self._queue)
        if got is None:
            return None
        msg_id, correl_id, put_date, put_time = _identity(got.md)
        return msg_id, correl_id, md_text(put_date), md_text(put_time)

    def _is_new(self, sight: Sight) -> bool:
        self.seen.add(sight)
        self._known[sight] -= 1
        return self._known[sight] < 0


def outcome_of(run: RunFolder, table: Table) -> Outcome:
    """What a pass left behind, by its plan and its ledger. Raises `MqopsError`."""
    sums = account(LedgerFile(run.lake_folder, utc_now).markers(plan=read_order(run).plan))
    there: Counter[Sight] = Counter()
    in_error: list[Sight] = []
    failures: Counter[Failure] = Counter()
    failed: dict[str, Failure] = {}
    for batch in read_parquet(run.plan, _COLUMNS):
        for row in batch.to_pylist():
            if row["row"] in sums.acted:
                continue
            sight = (row["msg_id"], row["correl_id"], row["put_date"], row["put_time"])
            there[sight] += 1
            if row["action"] == "ERROR":
                in_error.append(sight)
            if row["row"] in sums.failed:
                failure = (row["rule_line"], row["dest_q"], row["dest_q_mgr"], sums.failed[row["row"]])
                failed[row["msg_key"]] = failure
                failures[failure] += 1
    untried, without_room = _to_come(sums)
    return Outcome(
        there=there,
        in_error=tuple(in_error),
        failures=failures,
        to_retry=_to_be_tried(run, table, failed),
        untried=untried,
        without_room=without_room,
    )


def _to_be_tried(run: RunFolder, table: Table, failed: Mapping[str, Failure]) -> Counter[Failure]:
    """How many of the messages whose try failed have a rule left. Parameters: `failed` msg_key → how."""
    if not failed:
        return Counter()
    past = Past(tries=tries.current(run.lake_folder))
    return Counter(
        failed[message["msg_key"]]
        for batch in read_messages(run.snapshot, table.questions)
        for message in batch.to_pylist()
        if message["msg_key"] in failed and past.row(0, message, table)["action"] in ACTED
    )


def _to_come(sums: Account) -> tuple[int, int]:
    """How many messages were left and may go in the next pass, and how many when their destination has room.

    What stands behind a failed message goes on when that one has used up a try. Where none failed it stands behind what
    was left itself, and another pass would find it the same.
    """
    behind = set() if sums.failed else {BEHIND, CANARY_FAILED}
    stays = {CAME_BACK, GROUP_TOO_LARGE, *behind}
    untried = without_room = 0
    for why in sums.left.values():
        if is_for_room(why) or (why == CANARY_FAILED and why in behind):
            without_room += 1
        elif why not in stays:
            untried += 1
    return untried, without_room
