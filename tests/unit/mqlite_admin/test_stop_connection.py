"""STOP CONN and MQCMD_STOP_CONNECTION: the connection is broken, and its unit of work backed out at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pymqi
import pytest
from mqlite_support import INPUT, OUTPUT, Application, application, connected, home, refused, run_mqsc
from pymqi import CMQC, CMQCFC

__all__ = ["application", "home"]
# Another process: it puts a message and gets one in a unit of work, then says with what reasons its next calls end.
VICTIM = """
import sys, pymqi
from pymqi import CMQC
def reason(call, *arguments):
    try:
        call(*arguments)
    except pymqi.MQMIError as error:
        return error.reason
    return 0
manager = pymqi.connect("QM1")
queue = pymqi.Queue(manager, "Q1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
md = pymqi.MD()
queue.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
queue.put(b"mine", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
waiting = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT, WaitInterval=-1)
print("ready", flush=True)
if sys.argv[1] == "waits":
    print(reason(queue.get, None, pymqi.MD(MsgId=b"no such message".ljust(24)), waiting), flush=True)
    sys.stdin.readline()
else:
    sys.stdin.readline()
    print(reason(queue.inquire, CMQC.MQIA_CURRENT_Q_DEPTH), reason(manager.commit), flush=True)
manager.disconnect()  # pymqi does not tell what MQDISC answers
again = pymqi.connect("QM1")
print(reason(again.put1, b"Q1", b"again"))
again.disconnect()
"""


@pytest.fixture(params=["calls", "waits"])
def victim(request: pytest.FixtureRequest, application: Application) -> Iterator[subprocess.Popen[str]]:
    application.put("Q1", b"first")
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM, request.param], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.how = request.param  # type: ignore[attr-defined]
    yield process
    process.kill()
    process.wait()


def newest(pid: int) -> str:
    """CONN of the process's newest connection."""
    shown = "\n".join(run_mqsc(f"DISPLAY CONN(*) WHERE(PID EQ {pid})"))
    return max(re.findall(r" CONN\((\w{48})\)", shown))


def test_connection_of_another_process(victim: Any, application: Application) -> None:
    run_mqsc(f"STOP CONN({newest(victim.pid)})")
    assert application.bodies("Q1") == [b"first"]  # while the other process does nothing
    assert application.get("Q1")[0].BackoutCount == 1
    output = victim.communicate("go on\n")[0].split()
    broken = str(CMQC.MQRC_CONNECTION_BROKEN)
    assert output == [*[broken] * (2 if victim.how == "calls" else 1), "0"]
    assert application.bodies("Q1") == [b"again"]


def test_over_PCF(application: Application) -> None:
    other = connected("QM1")
    pymqi.Queue(other, "Q1", OUTPUT).put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    pcf = pymqi.PCFExecute(application.manager)
    rows = pcf.MQCMD_INQUIRE_CONNECTION({CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b"")})
    last = max(row[CMQCFC.MQBACF_CONNECTION_ID] for row in rows[:-1])
    pcf.MQCMD_STOP_CONNECTION({CMQCFC.MQBACF_CONNECTION_ID: pymqi.ByteString(last)})
    with refused(CMQC.MQRC_CONNECTION_BROKEN):
        other.commit()
    with refused(CMQCFC.MQRCCF_CONNECTION_ID_ERROR):
        pcf.MQCMD_STOP_CONNECTION({CMQCFC.MQBACF_CONNECTION_ID: pymqi.ByteString(last)})
    other.disconnect()
    pcf.disconnect()
    assert application.bodies("Q1") == []


def test_a_thread_whose_connection_is_broken_may_connect_again(application: Application) -> None:
    manager = pymqi.connect("QM1")
    run_mqsc(f"STOP CONN({newest(os.getpid())})")
    again = pymqi.connect("QM1")
    again.put1(b"Q1", b"x")
    with refused(CMQC.MQRC_CONNECTION_BROKEN):
        pymqi.Queue(manager, "Q1", INPUT).get()
    again.disconnect()


@pytest.mark.parametrize("name", ["00", "*"])
def test_names_one_connection(application: Application, name: str) -> None:
    with pytest.raises(AssertionError, match="AMQ8461I"):
        run_mqsc(f"STOP CONN({name})")
    assert application.depth("Q1") == 0


@pytest.mark.parametrize(("mode", "broken"), [("QUIESCE", False), ("FORCE", True), ("TERMINATE", True)])
def test_STOP_CHANNEL_breaks_the_connections_of_a_SVRCONN(application: Application, mode: str, broken: bool) -> None:
    def connect() -> Any:
        made = pymqi.QueueManager(None)
        made.connect_tcp_client("QM1", pymqi.CD(), "APP", "localhost(1414)", user=None, password=None)
        return made

    run_mqsc("DEFINE CHANNEL(APP) CHLTYPE(SVRCONN)")
    client = connect()
    run_mqsc(f"STOP CHANNEL(APP) MODE({mode})")
    if broken:
        with refused(CMQC.MQRC_CONNECTION_BROKEN):
            client.put1(b"Q1", b"x")
    else:
        client.put1(b"Q1", b"x")
    client.disconnect()
    assert application.depth("Q1") == int(not broken)
    with refused(CMQC.MQRC_CHANNEL_NOT_AVAILABLE):
        connect()
    run_mqsc("START CHANNEL(APP)")
    connect().disconnect()
