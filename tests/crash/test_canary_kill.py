"""Law 1: killed with -9 between the canaries and the rest, or behind the decision: nothing is done or decided twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import commands
import pytest
from act_support import counts, send_back, taken
from crash.test_kill_nine import proved, run_until
from mq_support import DLQ, Manager, dead_letter, storage_estate

from mqops.act.canary import CAME_BACK
from mqops.deciders.run import finish_run
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B) MAXDEPTH(9000)\n")


def runs_of(lake: Path) -> list[RunFolder]:
    return [RunFolder(path) for path in lake.glob("QM1/runs/*")]


def killed(
    manager: Manager, lake: Path, moment: Callable[[RunFolder], bool], *options: str, pause: float = 0.004
) -> RunFolder:
    """Start a pass and kill it with -9 at a moment; gives the run."""
    environment = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json()}
    environment["MQOPS_ESTATE"] = storage_estate(lake.parent, "B")
    command = [sys.executable, "-m", "mqops.cli", "dlq", "run", "--once", DLQ, "QM1", "--lake", str(lake), *options]
    process = commands.Command(command, env=environment, stdin=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(b"ACTION(RETRY)\n")
    process.stdin.close()
    run_until(process, lambda: any(map(moment, runs_of(lake))), pause)
    process.kill()
    assert process.wait() == -9, "it ended before its moment came"
    return runs_of(lake)[0]


def test_law1_killed_while_it_waits_for_its_canaries(manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(20)])

    def waiting(_run: RunFolder) -> bool:
        return len(manager.bodies("A")) == 3  # committed: the depth would count what is not

    run = killed(manager, tmp_path / "lake", waiting, "--canary", "3", "--canary-wait", "60", pause=0.05)
    assert read_json(run.path.joinpath("canary.json"))["decision"] is None
    assert send_back(manager, "A") == 3
    summary = proved(manager, run, finish_run)
    assert counts(summary) == {"planned": 20, "moved": 3, "left": 17, "arrived": 3}
    assert (summary.finished, summary.left_because) == (True, {CAME_BACK: 17})
    assert manager.depth("A") == 0
    acted = [
        row[0]
        for entry in LedgerFile(run.lake_folder, str).entries()
        for row in Marker.from_json(entry).rows
        if entry["kind"] == "acted"
    ]
    assert acted == [0, 1, 2]


def test_law1_killed_behind_the_decision_it_stands_whatever_has_changed(manager, tmp_path):
    manager.put(DLQ, [dead_letter("AB"[n % 2], b"%d" % n) for n in range(600)])
    sent: list[int] = []

    def rest_begun(run: RunFolder) -> bool:
        if sum(sent) < 2:
            sent.append(send_back(manager, "A"))
        return (
            run.path.joinpath("canary.json").exists()
            and bool(read_json(run.path.joinpath("canary.json"))["decision"])
            and manager.depth("B") > 4
        )

    options = ("--canary", "2", "--canary-wait", "4", "--unit-size", "2")
    run = killed(manager, tmp_path / "lake", rest_begun, *options)
    decision = read_json(run.path.joinpath("canary.json"))["decision"]
    assert [one["why"] for one in decision] == [CAME_BACK, ""]
    assert manager.depth("B") < 300
    everything = taken(manager, DLQ)
    back = [(md, body) for md, body in everything if body[172:] in {b"0", b"2"}]
    assert len(back) == 2
    for md, body in everything:
        if body[172:] not in {b"0", b"2"}:  # the canaries of A are consumed now, those of B come back
            fields = {name: value for name, value in md.get().items() if name not in ("StrucId", "Version")}
            manager.put(DLQ, [(fields, body)], options=0x0800)
    manager.put(DLQ, [dead_letter("B", body) for body in (b"1", b"3")])
    summary = proved(manager, run, finish_run)
    assert read_json(run.path.joinpath("canary.json"))["decision"] == decision
    assert counts(summary) == {"planned": 600, "moved": 302, "left": 298, "arrived": 2}
    assert manager.bodies("B") == [b"%d" % n for n in range(1, 600, 2)]
    assert manager.depth("A") == 0
