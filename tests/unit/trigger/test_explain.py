"""`mqops trigger explain` and `audit`: what they say, and how."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from explain_support import explained, next_message_triggers, queue_manager
from mqlite_support import INPUT, Application, run_mqsc
from pymqi import CMQC
from trigger_support import Monitor, define

from mqops.cli import main

OTHER_QUEUES = """\
DEFINE QALIAS(A) TARGET(APP)
DEFINE QLOCAL(X) USAGE(XMITQ)
DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM2) XMITQ(X)
"""


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
