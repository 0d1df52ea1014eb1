"""`mqops trigger explain --watch`: only changes are printed, until a trigger message is made or a signal comes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import commands
import pytest
from explain_support import queue_manager
from mqlite_support import INPUT, Application, run_mqsc
from trigger_support import Monitor, define


@contextmanager
def watching(*options: str) -> Iterator[Any]:
    words = [sys.executable, "-m", "mqops.cli", "trigger", "explain", "APP", "QM1", "--watch", *options]
    with commands.Command(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_to(process: Any, beginning: str) -> list[str]:
    """The lines up to one that has this text."""
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if beginning in line:
            return lines
    raise AssertionError(lines)


def test_T08_T01_what_changes_is_printed_until_it_triggers() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        with watching() as process:
            read_to(process, "The next message makes no trigger message: no trigger monitor has IQ open")
            monitor = Monitor()
            change, _verdict = read_to(process, "The next message of sufficient priority makes a trigger message.")
            assert "T08   ok       IQ is open for input (" in change
            application.put("APP")
            lines = read_to(process, "triggered: a message has come, and all conditions held")
            assert all(" T0" in line or " T1" in line or "message" in line for line in lines)
            assert (process.wait(), process.stdout.read()) == (0, "")
        assert monitor.triggered() == ["APP"]
        monitor.stop()


@pytest.mark.parametrize(
    ("broken", "mended", "why"),
    [
        ("ALTER QLOCAL(APP) TRIGTYPE(FIRST)", "", "closed the queue, and messages are left (T12)"),
        ("ALTER QLOCAL(APP) NOTRIGGER", "ALTER QLOCAL(APP) TRIGGER", "switched on, or its type"),
        ("ALTER QLOCAL(IQ) PUT(DISABLED)", "ALTER QLOCAL(IQ) PUT(ENABLED)", "puts on the initiation queue"),
    ],
)
def test_T12_T13_other_events_are_seen_and_the_queue_manager_agrees(broken: str, mended: str, why: str) -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        monitor, server = Monitor(), Application()
        served = server.open("APP", INPUT)
        application.put("APP")
        run_mqsc(broken)
        if mended:
            served.close()
        assert not monitor.messages()
        with watching("--json") as process:
            assert json.loads(process.stdout.readline())["would_trigger"] is False
            run_mqsc(mended) if mended else served.close()
            line = read_to(process, '"triggered"')[-1]
            assert why in json.loads(line)["because"]
            assert process.wait() == 0
        assert monitor.triggered() == ["APP"]
        server.manager.disconnect()
        monitor.stop()


def test_a_signal_ends_it_with_exit_code_1() -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        with watching() as process:
            read_to(process, "The next message makes no trigger message")
            process.send_signal(signal.SIGINT)
            assert process.wait() == 1
