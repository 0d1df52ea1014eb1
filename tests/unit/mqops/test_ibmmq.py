"""Where pymqi is not installed, IBM's own client for Python serves (`mqops.mq.library`): the same runs, the same words.

`make full` runs the tests of passes through it (`-p through_ibmmq`).
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from mq_support import DLQ, dead_letter

WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(','))); from mqops.cli import main; main()"
)
TABLE = "WAIT(NO)\nDESTQ(A) ACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN)\n")


@pytest.fixture
def without(manager, tmp_path):
    """Runs `mqops` in a process that cannot import these modules; what it prints."""

    def run(modules: str, *arguments: str, text: str = "", expect: int | None = 0, **more: str) -> str:
        command = [sys.executable, "-c", WITHOUT, modules, *arguments]
        environment = manager.environment | {"MQOPS_LAKE": str(tmp_path / "lake")} | more
        done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True)
        assert expect in (done.returncode, None), done.stderr
        return done.stdout or done.stderr

    return run


def test_a_pass_and_its_undo_are_the_same_through_ibm_s_client(manager, without):
    bodies = [b"message %d" % number for number in range(5)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    plans = [
        json.loads(without(modules, "dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE))["plan"]
        for modules in ("no_such_module", "pymqi")
    ]
    assert plans[0]["digest"] == plans[1]["digest"]
    run = json.loads(without("pymqi", "dlq", "run", DLQ, "QM1", "--once", "--json", text=TABLE))
    assert (run["moved"], run["balanced"]) == (5, True)
    assert manager.bodies("A") == bodies
    undone = json.loads(without("pymqi", "undo", run["run"], "--yes", "--json"))
    assert undone["balanced"]
    assert (manager.depth(DLQ), manager.depth("A")) == (5, 0)


def test_what_is_asked_by_mqinq_and_pcf_is_the_same(manager, without):
    manager.mqsc("DEFINE QLOCAL(T) NOTRIGGER TRIGTYPE(DEPTH) TRIGDPTH(2) INITQ(IQ) PROCESS(P)\n")
    words = ("trigger", "explain", "T", "QM1", "--json")
    found = [json.loads(without(modules, *words, expect=None)) for modules in ("no_such_module", "pymqi")]
    assert found[0] == found[1]
    assert "error" not in found[0]
    checks = json.loads(without("pymqi", "doctor", "QM1", "--json", expect=None))["checks"]
    (versions,) = (one["found"] for one in checks if one["check"] == "versions")
    assert "ibmmq" in versions
    assert "pymqi" not in versions


@pytest.mark.parametrize("modules", ["no_such_module", "pymqi"])
def test_a_client_s_connection(manager, without, modules):
    client = {"queue_manager": "QM1", "channel": "APP", "conn_name": "localhost(1414)"}
    manager.put("A", [({}, b"message")])
    found = without(modules, "message", "find", "A", "-m", "QM1", MQOPS_CONNECTION=json.dumps(client))
    assert "7 bytes" in found


def test_without_both_the_extra_is_told(without):
    told = without("pymqi,ibmmq", "message", "find", "-m", "QM1", expect=1)
    assert told == (
        "mqops: This needs the part mq (pymqi is not installed): pip install 'mqops[mq]'; "
        "where there is no compiler, 'mqops[ibmmq]'\n"
    )


def test_without_ibm_s_library_under_it_that_is_told(without):
    told = without("pymqi,ibmmqc,ibmmq.ibmmqc", "message", "find", "-m", "QM1", expect=1)
    assert told == (
        "mqops: The MQ library cannot be loaded (import of ibmmqc halted; None in sys.modules): install the IBM MQ "
        "client, and put its lib64 in LD_LIBRARY_PATH, or for embedded queue managers run `mqlite build`\n"
    )
