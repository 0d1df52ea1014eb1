"""The poison guard on a real queue manager: who loops, where the messages go, and that each is in one place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mq_support import DLQ, Manager, until
from pymqi import CMQC

from mqwire import constants as c
from mqwire.structures import MQDLH

QUEUES = """\
DEFINE QLOCAL(PAY.IN) BOTHRESH(3) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(REPLIES)
DEFINE QLOCAL(XMITQ) USAGE(XMITQ)
DEFINE QALIAS(PAY.BOQ.ALIAS) TARGET(PAY.BOQ)
"""
PROGRAM = Path(__file__).with_name("looping_program.py")


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def mqops(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command with --json, in this process."""
    from click.testing import CliRunner

    from mqops.cli import main

    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))

    def run(*arguments: str, expect: int = 0) -> Any:
        done = CliRunner().invoke(main, [*arguments, "-m", "QM1", "--json"])
        assert done.exit_code == expect, done.output
        return json.loads(done.stdout)

    return run


def backed_out(manager: Manager, queue: str, times: int, messages: int = 1) -> None:
    """Get the first messages of a queue under syncpoint and back out, so often."""
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_SHARED)
        for _ in range(times):
            for _ in range(messages):
                handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            connection.backout()
        handle.close()


@contextmanager
def looping(manager: Manager, queue: str, done: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(PROGRAM), "QM1", queue, str(done)]
    with subprocess.Popen(command, env=manager.environment) as program:
        try:
            yield program
        finally:
            if program.poll() is None:
                program.kill()


def counts(manager: Manager, queue: str) -> list[int]:
    return [md["BackoutCount"] for md, _body in manager.messages(queue)]


def test_P13_P08_a_program_that_loops_is_freed_and_each_message_is_in_one_place(manager, mqops, tmp_path):
    done = tmp_path / "done"
    (poison,) = manager.put("PAY.IN", [({}, b"bad one")])
    manager.put("PAY.IN", [({}, b"good %d" % number) for number in range(20)])
    with looping(manager, "PAY.IN", done) as program:
        until(lambda: max(counts(manager, "PAY.IN"), default=0) > 5)
        planned = mqops("backout", "guard", "PAY.IN", "--dry-run", "--watch", "0.5")
        assert planned["plan"]["actions"] == {"FWD": 1}
        told = " ".join(planned["plan"]["remarks"])
        assert "1 message at or over BOTHRESH(3)" in told
        assert "backouts a minute" in told
        assert "read by " in told
        assert "looping_program.py" in told
        assert poison.hex() in told
        assert "messages wait behind" in told
        assert "to its backout queue PAY.BOQ" in told
        acted = mqops("dlq", "act", Path(planned["run"]).name, "--approve", planned["plan"]["digest"])
        assert (acted["workflow"], acted["moved"], acted["balanced"]) == ("poison_guard", 1, True)
        manager.put("PAY.IN", [({}, b"end")])
        assert program.wait(60) == 0
    assert done.read_text().split("\n")[:-2] == [f"good {number}" for number in range(20)]
    assert (manager.bodies("PAY.IN"), manager.bodies("PAY.BOQ")) == ([], [b"bad one"])
