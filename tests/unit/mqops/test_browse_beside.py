"""Browsing takes nothing: a snapshot and a quality run beside four programs that put and get on the same queue."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import commands
import pyarrow.parquet as pq
from mq_support import Manager

PROGRAM = Path(__file__).with_name("held_program.py")
HOLDS = ("put", "get", "co_op", "handle")
MESSAGES = 12
SUITE = {
    "suite": "steady",
    "expectations": [
        {"id": "priority", "expect": "column_values_to_be_between", "column": "priority", "max_value": 9},
        {"id": "text", "expect": "column_values_to_be_in_set", "column": "payload_kind", "value_set": ["text"]},
    ],
}


def test_law1_a_snapshot_and_a_quality_run_beside_four_programs_change_nothing(queue_manager, tmp_path):
    manager = queue_manager(mqsc="DEFINE QLOCAL(IN) SHARE\nALTER QMGR MARKINT(NOLIMIT)\n")
    given = [({"Format": "MQSTR", "Priority": 9 - number // 3}, b"old %d" % number) for number in range(MESSAGES)]
    manager.put("IN", given)
    manager.back_out("IN", messages=3)
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    pipes: dict[str, Any] = {"env": environment, "text": True, "stdout": subprocess.PIPE}

    def mqops(*arguments: str) -> Any:
        done = commands.run([sys.executable, "-m", "mqops.cli", *arguments, "--json"], **pipes)
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)

    with ExitStack() as ended:
        programs = []
        for hold in HOLDS:  # one after the other: each finds what those before it hold
            command = [sys.executable, PROGRAM, "QM1", "IN", hold]
            programs.append(subprocess.Popen(command, stdin=subprocess.PIPE, **pipes))
            ended.callback(programs[-1].kill)
            assert programs[-1].stdout.readline() == "held\n"
        before = state(manager)
        assert all(step(program) == "busy" for program in programs)
        run = mqops("snapshot", "take", "IN", "-m", "QM1")["run"]
        checked = mqops("quality", "check", "--snapshot", run, "--suite", str(tmp_path / "suite.json"))
        assert all(int(step(program)) > 1 for program in programs)
        assert state(manager) == before
        held = [json.loads(step(program)) for program in programs]
        assert [program.wait() for program in programs] == [0, 0, 0, 0]

    old = [f"old {number}" for number in range(MESSAGES)]
    # uncommitted work and marks were each program's own to the end
    assert held[:2] == [["new 0", "new 1", "new 2"], old[:2]]
    assert [sorted(one) for one in held[2:]] == [sorted([*old, *held[0]])] * 2
    assert [one[:2] for one in held[2:]] == [old[2:4]] * 2
    left = manager.messages("IN")
    assert [body.decode() for _md, body in left] == [*old, *held[0]]
    assert [md["BackoutCount"] for md, _body in left] == [2, 2, 1] + [0] * MESSAGES
    # what was seen is what was committed, in its order
    (part,) = (tmp_path / "lake" / "QM1" / "runs" / run / "snapshot").glob("*.parquet")
    rows = pq.read_table(part, columns=["body", "backout_count"]).to_pylist()
    assert [one["body"].decode() for one in rows if not one["body"].startswith(b"busy")] == old[2:]
    assert [one["backout_count"] for one in rows] == [1] + [0] * (len(rows) - 1)
    assert (checked["found"], checked["left"]) == (len(rows), 0)


def state(manager: Manager) -> list[Any]:
    """Messages with their whole MQMDs in their order, depth, and whether there is uncommitted work."""
    status = manager.mqlite("mqsc", "QM1", text="DISPLAY QSTATUS(IN) CURDEPTH UNCOM IPPROCS OPPROCS\n")
    return [manager.messages("IN"), manager.depth("IN"), status]


def step(program: subprocess.Popen[str]) -> str:
    """Let a program go on; the line that it prints then."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    return program.stdout.readline().strip()
