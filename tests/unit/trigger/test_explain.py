"""`mqops trigger explain` and `audit` name what is broken, and the queue manager agrees by not triggering.

MQOPS_TRIGGER_EXAMPLES says how many combinations of broken conditions are tried.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqlite_support import INPUT, Application, make, run_mqsc
from pymqi import CMQC
from trigger_support import PROCESS, Monitor, define

from mqops.cli import main
from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core import Explanation
from mqops.trigger.core import explain as judge
from mqops.trigger.look import manager, triggered_queue

EXAMPLES = int(os.environ.get("MQOPS_TRIGGER_EXAMPLES", "60"))
MQSC_BREAKS = {
    "T01": "ALTER QLOCAL(APP) PUT(DISABLED)",
    "T05": "ALTER QLOCAL(APP) GET(DISABLED)",
    "T06": "DELETE PROCESS(P)",
    "T06 blank": "ALTER QLOCAL(APP) PROCESS(' ')",
    "T07 missing": "ALTER QLOCAL(APP) INITQ(IQ2)",
    "T07 blank": "ALTER QLOCAL(APP) INITQ(' ')",
    "T07 put": "ALTER QLOCAL(IQ) PUT(DISABLED)",
    "T07 get": "ALTER QLOCAL(IQ) GET(DISABLED)",
    "T09": "ALTER QLOCAL(APP) NOTRIGGER",
    "T10": "ALTER QLOCAL(APP) TRIGTYPE(NONE)",
    "T14": "ALTER QLOCAL(APP) MSGDLVSQ(FIFO) DEFPRTY(0) TRIGMPRI(5)",
}
BREAKS = [*MQSC_BREAKS, "T03", "T04", "T08"]
OTHER_QUEUES = """\
DEFINE QALIAS(A) TARGET(APP)
DEFINE QLOCAL(X) USAGE(XMITQ)
DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM2) XMITQ(X)
"""
BY_HAND = {"name of a process": "P", "name of an initiation queue": "IQ", "program to start": "serve"}


@contextmanager
def queue_manager(platform: str = "unix", mqsc: str = "") -> Iterator[Application]:
    """QM1 with initiation queue IQ and process P, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", home)
        make("QM1", f"DEFINE QLOCAL(IQ)\n{PROCESS}\n{mqsc}", platform=platform)
        application = Application()
        try:
            yield application
        finally:
            application.manager.disconnect()


def explained(queue: str = "APP") -> Explanation:
    with connect(MqConnection(queue_manager="QM1")) as session:
        return judge(triggered_queue(session, queue, manager(session)))


def failing(found: Explanation) -> set[str]:
    return {one.id for one in found.conditions if one.state == "fails"}


def next_message_triggers(application: Application) -> bool:
    """Put one more message, and see whether a trigger message stands on IQ that was not there before."""
    initiation = application.open("IQ", CMQC.MQOO_INQUIRE)
    before = initiation.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    with suppress(pymqi.MQMIError):  # PUT(DISABLED)
        application.put("APP", Priority=CMQC.MQPRI_PRIORITY_AS_Q_DEF)
    after = initiation.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    initiation.close()
    return bool(after > before)


def expected(breaks: set[str], kind: str, platform: str) -> set[str]:
    """The conditions that fail, by IBM's page."""
    failing = {name.partition(" ")[0] for name in breaks}
    if {"T07 missing", "T07 blank"} & breaks:
        failing.add("T08")
    if platform != "zos":
        failing.discard("T05")
    if kind == "EVERY" or "T10" in breaks:
        failing.discard("T03")
    if kind == "EVERY" and "T10" not in breaks:
        failing.discard("T04")
    return failing


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    breaks=st.sets(st.sampled_from(BREAKS), max_size=3),
    kind=st.sampled_from(["FIRST", "EVERY"]),
    platform=st.sampled_from(["unix", "zos"]),
)
def test_what_is_broken_is_named_and_the_queue_manager_agrees(breaks: set[str], kind: str, platform: str) -> None:
    with queue_manager(platform) as application:
        define(f"NOTRIGGER TRIGTYPE({kind})")
        if "T03" in breaks:
            application.put("APP")
        run_mqsc("ALTER QLOCAL(APP) TRIGGER")
        monitor = Monitor()
        if "T08" in breaks:
            monitor.stop()
        for name in sorted(breaks & MQSC_BREAKS.keys(), reverse=True):  # a type only while triggering is on
            run_mqsc(MQSC_BREAKS[name])
        server = Application()
        opened = server.open("APP", INPUT) if "T04" in breaks and "T05" not in breaks else None
        wrong = expected(breaks - ({"T04"} if opened is None else set()), kind, platform)
        found = explained()
        assert failing(found) == wrong
        assert found.would_trigger == (not wrong)
        assert next_message_triggers(application) == found.would_trigger
        for _ in range(2):  # the process that PROCESS names from now on may have to be defined
            mend(explained())
        assert failing(explained()) <= wrong & {"T03", "T04", "T08"} | {"T03"}
        server.manager.disconnect()
        monitor.stop()


def mend(found: Explanation) -> None:
    """Run the MQSC that the explanation has, with names where it leaves them to a person."""
    for fix in found.fixes():
        for words, name in BY_HAND.items():
            fix = fix.replace(words, name)  # noqa: PLW2901
        run_mqsc(fix)


@pytest.mark.parametrize(("before", "triggers"), [(0, False), (1, False), (2, True), (3, True)])
def test_T03_T11_depth_says_how_many_messages_are_to_come(before: int, triggers: bool) -> None:
    with queue_manager() as application:
        define("NOTRIGGER TRIGTYPE(DEPTH) TRIGDPTH(3)")
        for _ in range(min(before, 2)):
            application.put("APP")
        run_mqsc("ALTER QLOCAL(APP) TRIGGER")
        monitor = Monitor()
        if before == 3:
            application.put("APP")  # it triggers, and triggering is off
            run_mqsc("ALTER QLOCAL(APP) NOTRIGGER TRIGDPTH(9)\nALTER QLOCAL(APP) TRIGGER")
            run_mqsc("ALTER QLOCAL(APP) TRIGDPTH(4)")
        found = explained()
        assert found.would_trigger == triggers
        if not triggers:
            assert f"{3 - before} more messages to come" in found.verdict
        assert next_message_triggers(application) == triggers
        monitor.stop()


def test_T03a_T10a_T12_who_has_the_queue_open_is_named_and_uncommitted_messages_count() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        monitor, server = Monitor(), Application()
        opened = server.open("APP", INPUT)
        (served,) = [one for one in explained().conditions if one.id == "T04"]
        assert served.state == "fails"
        assert "1 handle of programs that have the queue open for input (" in served.found
        assert explained().state("T12") == "unknown"
        opened.close()
        application.put("APP", options=CMQC.MQPMO_SYNCPOINT)
        assert (explained().state("T03"), explained().state("T10a")) == ("fails", "unknown")
        assert not explained().would_trigger
        assert not next_message_triggers(server)
        server.get("APP")
        application.manager.backout()
        assert explained().would_trigger
        server.manager.disconnect()
        monitor.stop()


def mqops(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["trigger", *arguments])
    return result.exit_code, result.stdout


def test_the_command_has_a_line_a_condition_a_verdict_and_the_mqsc() -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        run_mqsc("ALTER QLOCAL(APP) INITQ('iq.lower')")
        code, text = mqops("explain", "APP", "QM1")
        lines = text.splitlines()
        assert code == 1
        assert "  T07   FAILS    there is no queue iq.lower" in lines
        assert lines[-2:] == ["To mend it (MQSC):", "  DEFINE QLOCAL('iq.lower')"]
        code, text = mqops("explain", "APP", "-m", "QM1", "--json")
        document = json.loads(text)
        assert code == 1
        assert list(document) == ["queue", "queue_manager", "would_trigger", "verdict", "conditions"]
        assert all(list(one) == ["id", "state", "found", "fix"] for one in document["conditions"])
        assert mqops("explain", "NO.SUCH.QUEUE", "QM1")[0] == 2


def test_an_alias_is_explained_by_its_queue_and_a_remote_queue_is_refused() -> None:
    with queue_manager(mqsc=OTHER_QUEUES):
        define("TRIGTYPE(FIRST)")
        assert explained("A").queue == "APP"
        result: Any = CliRunner().invoke(main, ["trigger", "explain", "R", "QM1"])
        assert result.exit_code == 2
        assert "R is a remote queue, which holds no messages" in result.stderr


def test_the_audit_tells_what_is_broken_stuck_unserved_and_unused() -> None:
    with queue_manager(mqsc="DEFINE PROCESS(UNUSED) APPLICID('x')\nDEFINE QLOCAL(PLAIN)") as application:
        define("TRIGTYPE(FIRST)")
        define("TRIGTYPE(FIRST)", name="WRONG", process="MISSING")
        code, text = mqops("audit", "QM1")
        assert code == 1
        assert "warning initiation queue IQ: no trigger monitor has it open for input" in text
        assert "warning process UNUSED: no queue names it" in text
        assert "QM1: 2 queues with triggering, 2 queues are broken" in text
        monitor = Monitor()
        run_mqsc("ALTER QLOCAL(WRONG) PROCESS(P)")
        assert mqops("audit", "QM1")[0] == 0
        application.put("APP")
        document = json.loads(mqops("audit", "QM1", "--json")[1])
        assert [one["queue"] for one in document["queues"] if one["broken"]] == ["APP"]  # nobody gets the message
        server = Application()
        opened = server.open("APP", INPUT)
        assert mqops("audit", "QM1")[0] == 0  # its program is at work
        opened.close()
        server.manager.disconnect()
        monitor.stop()
