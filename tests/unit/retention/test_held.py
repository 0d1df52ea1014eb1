"""The runs that a pass looks at: too few would keep what is due, or take what must stay; it may not be all of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mqops.clock import utc_text
from mqops.look import runs as runs_module
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Runs
from mqops.look.runs_index import Row
from mqops.look.words.state import RunState
from mqops.retention import held
from mqops.retention.core.due import OVER, Ages, Candidate, Policy, decided

NOW = datetime(2026, 11, 26, tzinfo=UTC)
DAY = timedelta(days=1)
POLICIES = [
    Policy(ages=Ages(snapshots=30 * DAY)),
    Policy(ages=Ages(snapshots=30 * DAY, plans=90 * DAY, runs=60 * DAY), newest=2),
    Policy(ages=Ages(plans=20 * DAY), workflows={"expiry_scan": Ages(runs=DAY), "undo": Ages()}),
    Policy(ages=Ages(snapshots=100 * DAY), most_runs=3),
    Policy(most_bytes=2000),
]


def a_lake(base: Path, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The runs of a lake whose index says this of them."""
    for run in rows:
        (base / "QM1" / "runs" / run).mkdir(parents=True)
    monkeypatch.setattr(runs_module, "row_of", lambda folder: rows[folder.run])
    return Runs(base, "QM1").caught_up()


def any_run(chance: random.Random, number: int) -> Row:
    begun = chance.random() < 0.6
    at = NOW - chance.random() * 200 * DAY
    states = [RunState.DONE, RunState.UNBALANCED] if begun else [*(OVER - {RunState.DONE}), RunState.WAITING]
    line = RunLine(
        run=f"run-{number:04}",
        queue_manager="QM1",
        queue=chance.choice(["A", "B", "A,B", "B,C", ""]),
        workflow=chance.choice(["dlq_rules", "expiry_scan", "undo"]),
        state=chance.choice(states),
        at=utc_text(at) if chance.random() < 0.95 else "",
        proved_at=utc_text(at + DAY / 24) if begun else "",
        partial=chance.random() < 0.2,
        begun=begun,
    )
    undoes = f"run-{chance.randrange(number + 1):04}" if line.is_undo else ""
    snapshot, plan = (chance.choice([0, 100, 300]) for _ in range(2))
    return Row(line=line, undoes=undoes, snapshot=snapshot, plan=plan)


def of(row: Row) -> Candidate:
    return held._candidate(row.line, snapshot=row.snapshot, plan=row.plan)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pass_decides_as_if_it_had_looked_at_all_runs(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(34)
    rows = {one.line.run: one for one in (any_run(chance, number) for number in range(300))}
    runs = a_lake(tmp_path, rows, monkeypatch)
    everything = sorted(rows.values(), key=lambda one: (one.line.at, one.line.run), reverse=True)
    needed = dict(held.needed(runs))
    over = OVER - {RunState.PLANNED}
    assert needed.keys() == {one.undoes for one in everything if one.line.is_undo and one.line.state not in over}
    wanted = decided(map(of, everything), policy, needed=needed, now=NOW)
    looked_at = held.candidates(runs, policy, now=NOW)
    found = decided(looked_at, policy, needed=needed, now=NOW)
    if policy.most_runs:  # what has no messages any more does not count
        assert {one.run for one in found.due} <= {one.run for one in wanted.due}
    else:
        assert (found.due, found.kept) == (wanted.due, wanted.kept)
    assert found.due
    assert len(looked_at) < len(everything)


def pruned_long_ago(number: int) -> Row:
    at = utc_text(NOW - timedelta(minutes=30 * number))
    line = RunLine(
        run=f"run-{number:06}", queue_manager="QM1", queue="A", workflow="dlq_rules", state=RunState.DONE,
        at=at, proved_at=at, begun=True,
    )  # fmt: skip
    fresh = int(number < 30)
    return Row(line=line, snapshot=100 * fresh, plan=10 * fresh)


def test_a_pass_that_finds_nothing_looks_at_no_run_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {one.line.run: one for one in map(pruned_long_ago, range(400))}
    runs = a_lake(tmp_path, rows, monkeypatch)
    monkeypatch.setattr(held, "_candidate", unexpected)
    for policy in (
        Policy(ages=Ages(snapshots=DAY, plans=DAY, runs=DAY)),
        Policy(most_runs=30),
        Policy(most_bytes=9999),
    ):
        assert held.candidates(runs, policy, now=NOW) == []


unexpected: Callable[..., Candidate] = lambda line, **_sizes: pytest.fail(f"looked at {line.run}")  # noqa: E731
