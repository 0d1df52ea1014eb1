"""What of which runs is due to be removed (rules 1 to 4 of `mqops.retention.core.due`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqops.look.words.state import RunState
from mqops.retention.core.due import OVER, Ages, Candidate, Part, Policy, decided

NOW = datetime(2026, 11, 26, tzinfo=UTC)
DAY = timedelta(days=1)
MONTH = Policy(ages=Ages(snapshots=30 * DAY, plans=90 * DAY, runs=60 * DAY))
SNAPSHOT, PLAN, RUN = Part.SNAPSHOT, Part.PLAN, Part.RUN


def run(days: float, **other: Any) -> Candidate:
    """A run that is so old and moved messages."""
    usual: dict[str, Any] = {
        "run": f"run-{days}", "workflow": "dlq_rules", "queues": ("DLQ",), "state": RunState.DONE,
        "at": NOW - days * DAY, "begun": True, "whole": True, "snapshot": 100, "plan": 10,
    }  # fmt: skip
    return Candidate(**usual | other)


def due(*runs: Candidate, policy: Policy = MONTH, needed: dict[str, str] | None = None) -> dict[str, tuple[Part, ...]]:
    """Run → parts, behind a newer run that keeps all for being the newest."""
    newest = [run(0, queues=queues) for queues in dict.fromkeys(one.queues for one in runs)]
    found = decided([*newest, *runs], policy, needed=needed or {}, now=NOW).due
    return {one.run: one.parts for one in found}


@pytest.mark.parametrize(
    ("days", "other", "parts"),
    [
        (29, {}, None),
        (31, {}, (SNAPSHOT,)),
        (31, {"snapshot": 0}, None),
        (91, {}, (SNAPSHOT, PLAN)),
        (91, {"snapshot": 0}, (PLAN,)),
        (61, {"begun": False}, (RUN,)),
        (59, {"begun": False}, (SNAPSHOT,)),
        (61, {"begun": False, "snapshot": 0, "plan": 0}, (RUN,)),
        (999, {"snapshot": 0, "plan": 0}, None),  # its records stay
        (31, {"at": None}, None),
    ],
)
def test_by_age_messages_go_first_and_a_run_that_moved_nothing_goes_whole(
    days: float, other: dict[str, Any], parts: tuple[Part, ...] | None
) -> None:
    one = run(days, **other)
    assert due(one) == ({one.run: parts} if parts else {})


@pytest.mark.parametrize("state", RunState)
def test_only_a_run_that_is_over_loses_anything(state: RunState) -> None:
    one = run(999, state=state)
    assert bool(due(one)) == (state in OVER)
    assert OVER.isdisjoint(
        {
            RunState.UNBALANCED,
            RunState.UNFINISHED,
            RunState.STOPPED,
            RunState.BEGUN,
            RunState.APPROVED,
            RunState.WAITING,
        }
    )


def test_what_can_be_undone_and_what_an_undo_needs_keeps_all() -> None:
    policy = Policy(ages=Ages(snapshots=DAY), undo=7 * DAY)
    assert due(run(6), run(8), run(5, begun=False), policy=policy) == {"run-8": (SNAPSHOT,), "run-5": (SNAPSHOT,)}
    assert due(run(8), policy=policy, needed={"run-8": "an undo is not over"}) == {}


def test_the_newest_of_a_workflow_and_the_newest_snapshot_of_a_queue_keep_all() -> None:
    old = [run(40 + one) for one in range(4)]
    found = decided(old, MONTH, needed={}, now=NOW)
    assert [one.run for one in found.due] == ["run-41", "run-42", "run-43"]
    assert found.kept == {"one of the newest of its workflow and queue": 1}
    partial = run(39, whole=False)
    found = decided([partial, *old], MONTH, needed={}, now=NOW)
    assert [one.run for one in found.due] == ["run-41", "run-42", "run-43"]
    assert found.kept["the newest snapshot of a queue"] == 1  # run-40: the newer one has not all messages
    several = [run(40, queues=("A", "B")), run(41, queues=("A",)), run(42, queues=("B", "C"))]
    assert [one.run for one in decided(several, MONTH, needed={}, now=NOW).due] == ["run-41"]


def test_by_number_and_by_size() -> None:
    many = [run(8 + one) for one in range(4)]
    assert set(due(*many, policy=Policy(most_runs=3))) == {"run-10", "run-11"}
    assert set(due(*many, policy=Policy(most_bytes=350))) == {"run-10", "run-11"}  # the oldest, until 330 are left
    few = Policy(most_bytes=1, undo=9.5 * DAY)
    found = decided([run(0), *many], few, needed={}, now=NOW)
    assert {one.run for one in found.due} == {"run-10", "run-11"}
    assert sum(found.kept.values()) == 3


def test_a_workflow_may_have_ages_of_its_own() -> None:
    policy = Policy(ages=Ages(snapshots=30 * DAY), workflows={"expiry_scan": Ages(runs=DAY)})
    scan = run(2, workflow="expiry_scan", begun=False, snapshot=0, plan=0, state=RunState.SCANNED)
    newest = run(1.5, workflow="expiry_scan", begun=False, snapshot=0, plan=0, state=RunState.SCANNED)
    assert due(newest, scan, run(20), policy=policy) == {"run-2": (RUN,)}
