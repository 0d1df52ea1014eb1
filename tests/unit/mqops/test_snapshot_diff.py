"""`mqops snapshot diff`: what a later snapshot has otherwise, on recorded snapshots."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.decide.in_process import decide
from mqops.errors import SettingsError
from mqops.lake.handed_on import HANDED_ON, HandedOn
from mqops.lake.run import RunFolder
from mqops.look import snapshot_diff
from mqops.look.core.snapshot_diff import Change
from mqops.look.snapshot_diff import compared
from mqops.model import QueueObserved
from mqops.observe.recorded import OBSERVED
from mqops.rules import parse

sys.path.insert(0, str(Path(__file__).parent))
from snapshots import dead_letter, msg_id, recorded

LATER = "2026-01-04T03:04:05+00:00"


def _diff(lake: Path, *arguments: str, expect: int) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["snapshot", "diff", *arguments, "--lake", str(lake), "--json"])
    assert done.exit_code == expect, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _counts(found: dict[str, Any]) -> tuple[int, ...]:
    return tuple(found[change.value] for change in Change)


def test_what_arrived_left_stayed_and_was_backed_out_by_reason_and_application(tmp_path: Path) -> None:
    stays, leaves = dead_letter("A", b"stays"), ({"PutApplName": "orders"}, b"leaves")
    before = recorded(tmp_path, [stays, leaves, ({}, b"loops")])
    arrives = ({"PutApplName": "bills"}, b"arrives")
    after = recorded(tmp_path, [stays, arrives, ({"BackoutCount": 3}, b"loops")], run="run2", observed_at=LATER)
    found = _diff(tmp_path, "run1", "run2", expect=1)
    assert _counts(found) == (1, 1, 2, 1)
    by_application = {one["application"]: _counts(one) for one in found["by_application"]}
    assert by_application["orders"] == (0, 1, 0, 0)
    assert by_application["bills"] == (1, 0, 0, 0)
    assert {one["reason"]: _counts(one) for one in found["by_reason"]}["MQRC_Q_FULL"] == (0, 0, 1, 0)
    assert found["examples"] == {
        "arrived": [{"queue": "DLQ", "msg_id": msg_id(2)}],
        "left": [{"queue": "DLQ", "msg_id": msg_id(2)}],
        "backout_count_changed": [{"queue": "DLQ", "msg_id": msg_id(3)}],
    }
    assert found["remarks"] == []
    assert _counts(_diff(tmp_path, "run1", str(before.path), expect=0)) == (0, 0, 3, 0)
    assert _diff(tmp_path, str(after.snapshot), "run1", expect=1)["remarks"] == [
        "run1 is the older snapshot: what has arrived since then counts as left; name it first"
    ]
    told = CliRunner().invoke(main, ["snapshot", "diff", "run1", "run2", "--lake", str(tmp_path)])
    assert "from run1 to run2: 1 arrived, 1 left, 2 stayed, 1 of these with another BackoutCount" in told.stdout


def test_the_rule_of_a_message_is_that_of_the_plan(tmp_path: Path) -> None:
    letters = [dead_letter("A", b"x"), dead_letter("B", b"y")]
    for run, one in (("run1", letters), ("run2", letters[1:])):
        table = parse("DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n").table
        assert table
        decide(recorded(tmp_path, one, run=run, observed_at=LATER), table, text="", source="t")
    found = compared(tmp_path / "QM1/runs/run1", tmp_path / "QM1/runs/run2")
    assert [(bool(group.rule), counts[:3]) for group, counts in found.groups] == [(True, (1, 1, 0)), (True, (0, 1, 0))]


def _same(run: RunFolder, times: list[int]) -> None:
    """Make the first message of a snapshot stand there several times, equal but for its place and BackoutCount."""
    (part,) = run.snapshot.glob("*.parquet")
    table = pq.read_table(part)
    (row,) = table.slice(0, 1).to_pylist()
    rows = [{**row, "position": place, "backout_count": count} for place, count in enumerate(times)]
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), part)


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ([0, 0, 0], [0, 0], (0, 1, 2, 0)),
        ([0, 0], [0, 0, 0], (1, 0, 2, 0)),
        ([0, 0], [0, 1], (0, 0, 2, 1)),
        ([0, 1], [1, 0], (0, 0, 2, 0)),  # nobody can say that they have changed places
        ([0, 0, 0], [1], (0, 2, 1, 1)),
    ],
)
def test_messages_that_are_equal_in_everything_are_counted(
    tmp_path: Path, before: list[int], after: list[int], counts: tuple[int, ...]
) -> None:
    _same(recorded(tmp_path, [({}, b"x")]), before)
    _same(recorded(tmp_path, [({}, b"x")], run="run2", observed_at=LATER), after)
    assert tuple(compared(tmp_path / "QM1/runs/run1", tmp_path / "QM1/runs/run2").total) == counts


def test_compared_part_by_part_is_the_same_as_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(4)
    bodies = [[b"%d" % chosen.randrange(300) for _ in range(400)] for _ in range(2)]
    runs = [
        recorded(tmp_path, [({}, body) for body in own], run=f"run{number}").path
        for number, own in enumerate(bodies, 1)
    ]
    old, new = (Counter((number, body) for number, body in enumerate(own)) for own in bodies)
    whole = compared(*runs)
    monkeypatch.setattr(snapshot_diff, "MOST_AT_ONCE", 50)
    assert compared(*runs).to_json() | {"examples": {}} == whole.to_json() | {"examples": {}}
    assert whole.total[:3] == ((new - old).total(), (old - new).total(), (new & old).total())


def test_only_queues_that_both_have_looked_at_are_compared(tmp_path: Path) -> None:
    a = recorded(tmp_path, [({}, b"x")], queue="A")
    recorded(tmp_path, [({}, b"x")], queue="B", run="run2")
    with pytest.raises(SettingsError, match="looked at no queue in common"):
        compared(a.path, tmp_path / "QM1/runs/run2")
    recorded(tmp_path, [], queue="A", run="run3", observed_at=LATER)  # an empty queue was looked at
    assert _counts(_diff(tmp_path, "run1", "run3", expect=1)) == (0, 1, 0, 0)
    folder = a.snapshot.rename(tmp_path / "apart")
    assert "does not say which queues were looked at" in str(compared(folder, folder).remarks())


def test_a_queue_that_no_snapshot_could_see_is_named(tmp_path: Path) -> None:
    for run in ("run1", "run2"):
        made = recorded(tmp_path, [({}, b"x")], queue="A", run=run, observed_at=LATER)
        seen = OBSERVED.read(made)
        busy = QueueObserved(queue="BUSY", messages=0, bytes=0, unseen="BUSY has 1 message, and a browse is given none")
        OBSERVED.write(made, replace(seen, queues=(*seen.queues, busy)))
        HANDED_ON.write(made, HandedOn(found={"unseen": ["HIDDEN"], "inhibited": ["SHUT", "A"]}))
    told = "not compared, the messages could not be seen: BUSY, HIDDEN, SHUT"
    assert _diff(tmp_path, "run1", "run2", expect=0)["remarks"] == [told]
    shown = CliRunner().invoke(main, ["snapshot", "diff", "run1", "run2", "--lake", str(tmp_path)])
    assert told in shown.output
    recorded(tmp_path, [], queue="BUSY", run="run3", observed_at=LATER)
    with pytest.raises(SettingsError, match="looked at no queue in common"):
        compared(tmp_path / "QM1/runs/run1", tmp_path / "QM1/runs/run3")


def test_a_folder_without_a_snapshot_is_usage(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["snapshot", "diff", str(tmp_path), str(tmp_path), "--lake", str(tmp_path)])
    assert done.exit_code == 2
    assert f"There is no snapshot in {tmp_path}" in done.stderr
