"""The dead-letter queue handler: pass after pass, until the rules table's WAIT says that it is over.

1. Each pass is a run of its own: plan, act, ledger, proof.
2. A message whose try failed is tried again RETRYINT seconds later and not sooner: a pass that is made meanwhile leaves
   it (action LATER, `mqops.decide.retry_not_due`). While there is such a message, or one that was left for the sake of
   another, the handler does not end.
3. Meanwhile, and else until WAIT is over, it waits, browsing, for a message that the last pass has not left there, and
   makes no run while none comes. Messages seldom come alone: the pass begins a second behind the first. Each pass
   looks at all that is on the queue, also what stays, so the deeper the queue the longer others are waited for: five
   times as long as the last pass needed for what stayed, and RETRYINT at most. What stays at the beginning of the queue
   is not copied to the lake again (`mqops.observe.unchanged`).
4. It ends WAIT seconds after the last pass that tried something or saw a message with an MQDLH for the first time;
   NO is 0 seconds, with YES it does not end by itself. A message without an MQDLH prolongs nothing.
5. Every RETRYINT seconds it looks at the whole queue, so that a message is seen wherever it was put (D13), and tells of
   the messages without an MQDLH that are still there (D05).
6. A table that asks for the AGE or the BACKOUT count of messages, or a gate that does, may say something else of them
   later: while there are any, a pass comes every 10 RETRYINT seconds, as IBM's handler comes back to what it has left.
7. What was left because its destination had no room (`--in-flight`) uses up no try and does not prolong WAIT: until
   then a pass comes every RETRYINT seconds.
8. A message that a rule put back on the queue itself as it was is left from then on (action LATER, with no next try):
   each pass would put it back again. It prolongs nothing, and another start of the handler deals with it again.
9. A message that BACKOFF leaves prolongs nothing: a pass comes when the first of them is due, if the handler is still
   there then, and else a later start deals with it.
10. Where canaries came back, or were not read, it ends: another pass would send others after them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Protocol

from mqops.act.canary import CAME_BACK, UNREAD
from mqops.clock import utc, utc_now
from mqops.command import command
from mqops.decide.core import PlanSummary
from mqops.decide.gate import SETTING
from mqops.decide.message_groups import waiting_until
from mqops.decide.retry_not_due import NEVER
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.pass_outcome import Outcome, outcome_of
from mqops.deciders.run import PlannedRun, carry_out, plan_run
from mqops.errors import Stopped
from mqops.expiry.first_tell import refuse_at_stake
from mqops.lake.files import make_folder
from mqops.lake.run import RunFolder
from mqops.lake.stop import lift, stop_in
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.file import LedgerFile
from mqops.ledger.opened import OpenLedger
from mqops.model import RunSummary
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import connect
from mqops.mq.inquire import depth, queue_manager_name, try_resolve_queue
from mqops.mq.named_queue import usable_dead_letter_queue
from mqops.mq.session import Session
from mqops.observe import anatomy
from mqops.observe.arrivals import ArrivalWatch
from mqops.observe.core.expired import Expired
from mqops.observe.expired import discarded, states_of
from mqops.prove.records import SESSION, SUMMARY, PassOf

_OVER = {
    CAME_BACK: "canaries came back, and the other messages were left. Find out why the application refuses them",
    UNREAD: "no program has read the canaries, and the other messages were left. See whether the application runs",
}
"""Why messages were left → why there is to be no other pass (rule 10)."""
FOREVER = float("inf")
SLICE = 1.0
"""Seconds of one waiting MQGET, behind which it is looked whether to end."""
GATHER = 1.0
"""Seconds between a message that arrives and its pass, at least (rule 3)."""
PAUSE = 5
"""Times that a pass needed for what stayed, between its end and the next one (rule 3)."""
REVISIT = 10
"""Retry intervals between two passes over messages that change (rule 6)."""


class Ending(Protocol):
    """Whether a signal or a person wants the handler to end."""

    @property
    def asked(self) -> str:
        """The name of the signal, "" if none came."""

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds, or until the end is asked for."""

    def stops(self, run: RunFolder) -> None:
        """From now on, and if it was asked for before, asking for the end stops this run (`mqops.lake.stop`)."""


class Handler:
    """One invocation.

    Parameters: `what` each pass is asked for; `ending` is asked all the time; `once` for one pass, whatever WAIT says;
    `report_errors` gets the MsgIds of messages without a valid MQDLH that are on the queue.
    Attributes: `queue` and `queue_manager` by their names; `outcome` of the last pass; `passes` so far; `expired` what
        the queue manager discarded when the queue was looked at between passes; `remarks` of a plan that found no
        message; `over` why there is to be no other
        pass (rule 10), "" while there may be.

    Raises:
        MqopsError: the queue cannot be browsed, the queue manager cannot be reached, or the lake cannot be written.
    """

    def __init__(
        self,
        what: DeadLetterRequest,
        ending: Ending,
        *,
        once: bool = False,
        report_errors: Callable[[Sequence[str]], None],
    ) -> None:
        with connect(what.connection) as session:
            self.queue_manager = queue_manager_name(session)
            self.queue = what.queue or usable_dead_letter_queue(session)
            session.close(session.open(self.queue, OPEN_OPTIONS))
            self._is_filled = depth(session, self.queue) != 0  # asked for at once, by `has_work`
        self._what = replace(what, queue=self.queue)
        self._lake = RunFolder.at(what.lake, self.queue_manager, "any").lake_folder
        make_folder(self._lake)  # `mqops stop` takes no queue manager that the lake does not have
        self._ending = ending
        self._once = once
        self._report_errors = report_errors
        self._interval = max(1, what.table.control.retryint)
        self._useful = self._began = self._passed = time.monotonic()
        self._copied = 0.0
        self._due: dict[str, float] = {}
        self._put_back: frozenset[str] = frozenset()
        self._before: RunFolder | None = None
        self._waits_until = FOREVER
        self._table_changes = any(question.changes for question in what.table.questions)
        self._changes = self._table_changes
        self.over = ""
        self._session = ""
        self._is_over = False
        self.remarks: tuple[str, ...] = ()
        self.passes = 0
        self.expired = Expired()
        self.outcome = Outcome()

    @property
    def only_waits_for_tries(self) -> bool:
        """Whether nothing is left of the last pass but messages whose next try is not due yet."""
        out = self.outcome
        return bool(self._due) and not (out.untried or out.without_room) and dict(out.failures) == dict(out.to_retry)

    def has_work(self) -> bool:
        """Wait for something to do; False where the handler is to end.

        Raises:
            Stopped: somebody stopped the queue manager's runs.
            NotLookedAt: the queue is left because of what a look would do (`mqops.expiry.first_tell`).
            MqopsError: the queue can no longer be browsed.
        """
        self._refuse_if_stopped()
        if self._ending.asked or self.over or self._is_over or (self._once and self.passes):
            return False
        if not self.passes and not self._is_filled:
            anatomy.note_empty(self._lake, self.queue_manager, self.queue, utc_now())
            if self._once:
                return False
        return self._once or (self._comes() and not self._ending.asked)

    def plan(self) -> PlannedRun:
        """The plan of the next pass. Raises as `plan_run`."""
        now = self._began = time.monotonic()
        due = {key: _clock_time(at - now) for key, at in self._due.items() if at > now}
        not_due = dict.fromkeys(self._put_back, NEVER) | due
        return plan_run(DEAD_LETTERS, replace(self._what, not_due=not_due, before=self._before))

    def pass_over(self, plan: PlanSummary) -> None:
        """Note that a plan found no message: they are gone since they were seen."""
        self.remarks = plan.remarks
        self.outcome = Outcome()
        self._passed = time.monotonic()
        self._is_over = self._once

    def make_pass(self, run: RunFolder, plan: PlanSummary) -> RunSummary:
        """Carry out a plan. If the handler is ended meanwhile, the summary says what was done until then.

        Raises:
            Stopped: somebody else stopped it.
            MqopsError: as `mqops.deciders.run.carry_out`.
        """
        self._session = self._session or run.run
        SESSION.write(run, PassOf(session=self._session))
        self._ending.stops(run)
        file = LedgerFile(run.lake_folder)  # of the proof, and of what is learned of it
        try:
            summary = carry_out(DEAD_LETTERS, self._what, run, plan, file=file)
        except Stopped:
            if not self._ending.asked:
                raise
            summary = SUMMARY.read(run)
        if self._ending.asked and summary.finished:
            lift(run.path)  # the end came behind its last unit of work
        self._learn(run, summary, file)
        self._copied = (self._passed - self._began) * self.outcome.there.total() / max(1, plan.rows)
        self.passes += 1
        return summary

    def _learn(self, run: RunFolder, summary: RunSummary, file: LedgerFile) -> None:
        ledger = OpenLedger(file, PlanIdentity(run=summary.run, digest=summary.plan), run)
        with connect(self._what.connection) as session:
            before, self.outcome = (
                self.outcome.there,
                outcome_of(run, ledger, self._what.table, _returns(session, self.queue)),
            )
        in_error = set(self.outcome.in_error)
        is_new = any(sight not in before and sight not in in_error for sight in self.outcome.there)
        if is_new or summary.moved or summary.discarded or summary.failed:
            self._useful = time.monotonic()
        gate = SETTING.find(run)
        self._changes = self._table_changes or (gate is not None and gate.changes)
        self._before = run if self._may_keep(summary) else None
        self._passed = time.monotonic()
        due = self._passed + self._what.table.control.retryint
        waiting = {key: at for key, at in self._due.items() if key in self.outcome.not_due}
        self._due = waiting | dict.fromkeys(self.outcome.failed, due)
        self._put_back = (self._put_back & self.outcome.not_due).union(self.outcome.put_back)
        first = min(waiting_until(run, self._what.table, ()), default=None)
        self._waits_until = self._passed + (first - utc()).total_seconds() if first else FOREVER
        self.over = next((why for reason, why in _OVER.items() if reason in summary.left_because), "")

    def _may_keep(self, summary: RunSummary) -> bool:
        """Whether the next pass need not copy again what this one has (`mqops.observe.unchanged`): no rule and
        no check of the gate asks how old a message is, and no message that was planned was missing, or had another
        body."""
        waits = any(rule.backoff for rule in self._what.table.rules)
        return summary.finished and not (summary.gone or self._changes or waits)

    def _comes(self) -> bool:
        """Wait for a message that the last pass has not left there, or the time to go on without one (rules 2 to 7)."""
        with connect(self._what.connection) as session:
            refuse_at_stake(self._what.first_tell, session, self._what.lake, [self.queue])
            handle = session.open(self.queue, OPEN_OPTIONS)
            report_at = time.monotonic() + self._interval
            again_at = self._again_at()
            while True:
                watch = ArrivalWatch(session, handle, self.queue, self.outcome.there)
                before = states_of(session, [self.queue])
                is_new = watch.sees_new(lambda: bool(self._ending.asked) or time.monotonic() >= again_at)
                self._tell_expired(discarded(before, states_of(session, [self.queue])))
                if is_new:
                    return self._gathered(again_at)
                if again_at > time.monotonic() >= report_at:
                    self._report_errors([sight.msg_id.hex() for sight in self.outcome.in_error if sight in watch.seen])
                    report_at = time.monotonic() + self._interval
                while time.monotonic() < min(report_at, again_at) and not watch.is_deeper():
                    self._refuse_if_stopped()
                    left = min(self._left(), report_at - time.monotonic(), again_at - time.monotonic(), SLICE)
                    if self._ending.asked or self._left() <= 0:
                        return False
                    if watch.gets_new(left):
                        return self._gathered(again_at)
                if time.monotonic() >= again_at:
                    self._refuse_if_stopped()
                    return again_at <= self._ends_at()  # who wakes late may find that WAIT ended before

    def _tell_expired(self, found: Mapping[str, Expired]) -> None:
        """Say what the queue manager discarded when the queue was looked at: no pass has these messages."""
        if one := found.get(self.queue):
            self.expired = Expired(self.expired.messages + one.messages, self.expired.exact and one.exact)
            self._what.warn(f"{one.sentence(self.queue)}; {self.expired.messages:,} between passes so far")

    def _gathered(self, again_at: float) -> bool:
        """A message came: let others come, too (rule 3), until there is a pass in any case."""
        if not self.passes:
            return True
        rested = self._passed + min(self._interval, PAUSE * self._copied)
        until = max(time.monotonic() + GATHER, min(rested, again_at))
        while (left := until - time.monotonic()) > 0 and not self._ending.asked:
            self._refuse_if_stopped()
            self._ending.sleep(min(left, SLICE))
        return True

    def _again_at(self) -> float:
        """The time of the next pass, although no message has arrived (rules 2, 6, 7 and 9)."""
        times = [*self._due.values(), self._waits_until]
        if self.outcome.untried:
            times.append(self._passed + self._what.table.control.retryint)
        if self.outcome.without_room:
            times.append(self._passed + self._interval)
        if self._changes and self.outcome.there:
            times.append(self._passed + REVISIT * self._interval)
        return min(times, default=FOREVER)

    def _left(self) -> float:
        """Seconds until WAIT ends (`_ends_at`)."""
        return self._ends_at() - time.monotonic()

    def _ends_at(self) -> float:
        """When WAIT ends; FOREVER with WAIT(YES), or while a message waits for its next try (rule 2)."""
        wait = self._what.table.control.wait
        if wait == "YES" or self._due or self.outcome.untried:
            return FOREVER
        return self._useful + (0 if wait == "NO" else wait)

    def _refuse_if_stopped(self) -> None:
        found = stop_in(self._lake)
        if found is not None:
            raise Stopped(
                f"All acting on {self.queue_manager} was stopped {found}. What was done is in the ledger, everything "
                f"else is where it was. To go on: `{command('mqops', 'resume', '-m', self.queue_manager)}`, and start "
                "the handler again"
            )


def _returns(session: Session, home: str) -> Callable[[str, str], bool]:
    """Whether what is put to a name of a queue and of a queue manager lies on `home` again."""

    @cache
    def resolved_queue(queue: str, queue_manager: str) -> str:
        return try_resolve_queue(session, queue, queue_manager).queue

    return lambda queue, queue_manager: resolved_queue(queue, queue_manager) == resolved_queue(home, "") != ""


def _clock_time(seconds: float) -> str:
    """The time in so many seconds, UTC, ISO 8601."""
    return (utc() + timedelta(seconds=seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")
