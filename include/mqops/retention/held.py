"""The runs that a pass of retention has to look at, by the index of the runs: what it costs does not grow with history.

1. Those that have a snapshot or a plan, or that moved nothing, and are old enough for one of the policy's ages.
2. All of a workflow and queue that has more runs with messages than `most_runs`; all with messages where the lake has
   more than `most_bytes`.
3. For each workflow and queue of these the newest runs, and for each queue the newest snapshot of all its messages: by
   them it is decided who must stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from mqops.clock import utc_text
from mqops.lake.stop import stop_in
from mqops.look.core.run_state import RunLine, as_of
from mqops.look.runs import Runs
from mqops.look.runs_index import RunsIndex
from mqops.look.words.state import RunState
from mqops.retention.core.due import OVER, Ages, Candidate, Policy
from mqops.workflow import COPIES

_COLUMNS = "SELECT run.run, run.state, run.line, run.snapshot, run.plan"
_RUN = f"{_COLUMNS} FROM run WHERE "
_OF_QUEUE = f"{_COLUMNS} FROM queue_of JOIN run USING (run) WHERE queue_of.queue = ?"
_NEWEST = " ORDER BY queue_of.at DESC, run.run DESC"
_WITH_MESSAGES = "run.run IN (SELECT run FROM run WHERE snapshot UNION SELECT run FROM run WHERE plan)"
_SIZE = (
    "SELECT (SELECT COALESCE(SUM(snapshot), 0) FROM run WHERE snapshot) + "
    "(SELECT COALESCE(SUM(plan), 0) FROM run WHERE plan)"
)
_GROUPS = (
    "SELECT workflow, queue FROM (SELECT run, workflow FROM run WHERE snapshot UNION SELECT run, workflow FROM run "
    "WHERE plan) CROSS JOIN queue_of USING (run) GROUP BY workflow, queue HAVING COUNT(*) > ?"
)
_MARGIN = timedelta(seconds=1)
"""Times are compared as texts here, which may leave out fractions of a second; the policy compares exactly."""


def candidates(runs: Runs, policy: Policy, *, now: datetime) -> list[Candidate]:
    """The runs of rules 1 to 3, newest first. Raises `LakeError`."""
    stopped = stop_in(runs.folder) is not None
    return runs.ask(lambda index: _Look(index, policy, now, stopped=stopped).all())


def needed(runs: Runs) -> Iterator[tuple[str, str]]:
    """The runs that an undo needs which is not over, each with the reason. Raises `LakeError`."""
    over = sorted(OVER - {RunState.PLANNED})
    marks = ", ".join("?" * len(over))
    statement = f"SELECT run, undoes FROM run WHERE undoes <> '' AND state NOT IN ({marks})"  # noqa: S608 - only marks
    undoes = runs.ask(lambda index: index.rows(statement, over).fetchall())
    for undo, run in undoes:
        line = runs.one(undo)
        if line is not None and line.state not in over:
            yield run, f"undo {undo} of it is {line.state}"


class _Look:
    """One look at the index."""

    def __init__(self, index: RunsIndex, policy: Policy, now: datetime, *, stopped: bool) -> None:
        self._index, self._policy, self._now, self._stopped = index, policy, now, stopped
        self._found: dict[str, Candidate] = {}
        self._at: dict[str, tuple[str, str]] = {}

    def all(self) -> list[Candidate]:
        for workflow, ages in self._of_workflows():
            self._add_older(workflow, ages)
        self._add_too_many()
        if self._policy.most_bytes:
            ((size,),) = self._index.rows(_SIZE)
            if size > self._policy.most_bytes:
                self._add(f"{_RUN}{_WITH_MESSAGES}")
        self._add_newest()
        return sorted(self._found.values(), key=lambda one: self._at[one.run], reverse=True)

    def _of_workflows(self) -> Iterator[tuple[tuple[str, tuple[str, ...]], Ages]]:
        """Each condition for workflows with the ages that hold there."""
        own = tuple(self._policy.workflows)
        yield (f"workflow NOT IN ({', '.join('?' * len(own))})", own), self._policy.ages
        for name, ages in self._policy.workflows.items():
            yield ("workflow = ?", (name,)), ages

    def _add_older(self, workflow: tuple[str, tuple[str, ...]], ages: Ages) -> None:
        where, names = workflow
        limits = (
            ("snapshot", min(filter(None, (ages.snapshots, ages.plans)), default=None)),
            ("plan", ages.plans),
            ("NOT begun", ages.runs),
        )
        for part, age in limits:
            if age:
                until = utc_text(self._now - age + _MARGIN)
                self._add(f"{_RUN}{part} AND aged > '' AND aged <= ? AND {where}", until, *names)

    def _add_too_many(self) -> None:
        if not self._policy.most_runs:
            return
        for workflow, queue in self._index.rows(_GROUPS, (self._policy.most_runs,)).fetchall():
            self._add(f"{_OF_QUEUE} AND workflow = ? AND {_WITH_MESSAGES}", queue, workflow)

    def _add_newest(self) -> None:
        """Rule 3."""
        found = tuple(self._found.values())
        for workflow, queue in {(one.workflow, queue) for one in found for queue in one.queues or ("",)}:
            self._add(f"{_OF_QUEUE} AND workflow = ?{_NEWEST} LIMIT ?", queue, workflow, self._policy.newest)
        for queue in {queue for one in found if one.snapshot for queue in one.queues}:
            for row in self._index.rows(f"{_OF_QUEUE} AND snapshot{_NEWEST}", (queue,)):
                if self._keep(row).whole:
                    break

    def _add(self, statement: str, *values: object) -> None:
        for row in self._index.rows(statement, values).fetchall():
            self._keep(row)

    def _keep(self, row: Sequence[Any]) -> Candidate:
        run, state, text, snapshot, plan = row
        line = as_of(self._index.line(run, state, text), utc_text(self._now), stopped=self._stopped)
        self._at[run] = line.at, run
        self._found[run] = found = _candidate(line, snapshot=snapshot, plan=plan)
        return found


def _candidate(line: RunLine, *, snapshot: int, plan: int) -> Candidate:
    at = line.proved_at or line.at
    return Candidate(
        run=line.run,
        workflow=line.workflow,
        queues=tuple(filter(None, line.queue.split(","))),
        state=line.state,
        at=datetime.fromisoformat(at) if at else None,
        begun=line.begun,
        whole=line.workflow not in COPIES and not line.partial,
        snapshot=snapshot,
        plan=plan,
    )
