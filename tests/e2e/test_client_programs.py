"""Programs on the MQ clients of PyPI, unchanged, each in a process of its own: request, reply, failure and backout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mqlite_support import home, make, run_mqsc

__all__ = ["home"]
PROGRAM = Path(__file__).parent / "client_program.py"
MQSC = """DEFINE QLOCAL(REQUESTS) BOTHRESH(2) BOQNAME(REQUESTS.BACK)
DEFINE QLOCAL(REQUESTS.BACK)
DEFINE QLOCAL(REPLIES)
DEFINE CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN)"""


def run(client: str, part: str) -> list[str]:
    """What the program prints."""
    environment = {**os.environ, "MQIPY_NOOTEL": "1"}
    command = [sys.executable, str(PROGRAM), client, part]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("requester", "server"), [("pymqi", "ibmmq"), ("ibmmq", "pymqi")])
def test_programs_of_either_client_work_with_each_other(home: Path, requester: str, server: str) -> None:
    make("QM1", MQSC)
    assert run(requester, "request") == ["refused 2442"]
    assert run(server, "serve") == ["failed 0", "failed 1", "no more 2033"]
    assert run(requester, "answer") == ["reply red 7 correlated"]
    depths = "\n".join(run_mqsc("DISPLAY QLOCAL(RE*) CURDEPTH"))
    assert depths.count("CURDEPTH(0)") == 2
    assert "CURDEPTH(1)" in depths, "the one that was backed out twice"


@pytest.mark.parametrize("client", ["pymqi", "ibmmq"])
def test_a_monitoring_agent_is_answered(home: Path, client: str) -> None:
    make("QM1", MQSC)
    assert run(client, "monitor") == ["age -1", "channel True localhost(1414)", "created True"]
