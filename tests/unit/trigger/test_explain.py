"""`mqops trigger explain` and `audit`: what they say, and how."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from explain_support import explained, next_message_triggers, queue_manager
from mqlite_command import mqlite_here
from mqlite_support import INPUT, Application, run_mqsc
from pymqi import CMQC
from sharing_support import SHARED, group
from trigger_support import Monitor, define

from mqops.cli import main
from mqops.mq import inquire

__all__ = ["group"]
ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    trigger_monitor: {queues: [IQ, NOT.THERE], dags: [orders, bills]}
"""
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
        writer = server.open("APP", CMQC.MQOO_OUTPUT)
        (beside,) = [one for one in explained().conditions if one.id == "T04"]
        assert beside.found == served.found  # who only puts there is not named
        writer.close()
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


def test_the_audit_names_what_the_estate_has_for_the_trigger_monitor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    with queue_manager(mqsc="DEFINE PROCESS(ORDERS) APPLICID('orders')"):
        define("TRIGTYPE(FIRST)", process="ORDERS")
        run_mqsc("ALTER QLOCAL(APP) INITQ(' ')")
        document = json.loads(mqops("audit", "QM1", "--json")[1])
        assert (document["unserved"], document["dags"]) == (["IQ", "NOT.THERE"], ["bills"])
        assert "ALTER QLOCAL(APP) INITQ(IQ)" in explained().fixes()
        assert (
            "warning DAG bills: the estate allows it, and no process names it as APPLICID" in mqops("audit", "QM1")[1]
        )


def test_T09_a_program_that_serves_a_queue_of_type_depth_switches_it_on_itself() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(DEPTH) TRIGDPTH(1)")
        monitor, server = Monitor(), Application()
        application.put("APP")
        assert mqops("audit", "QM1")[0] == 1  # it triggered, and no program came
        served = server.open("APP", INPUT)
        assert mqops("audit", "QM1")[0] == 0
        served.close()
        server.manager.disconnect()
        monitor.stop()


def test_T02_a_message_of_lower_priority_makes_no_trigger_message() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(EVERY) TRIGMPRI(5)")
        monitor = Monitor()
        (priority,) = [one for one in explained().conditions if one.id == "T02"]
        assert priority.state == "unknown"
        assert "has DEFPRTY(0) and does not count" in priority.found
        assert not next_message_triggers(application)
        assert explained().would_trigger
        assert next_message_triggers(application, Priority=5)
        monitor.stop()


def test_T11_the_time_of_the_next_event_is_told_where_the_queue_manager_tells_the_last_put() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        run_mqsc("ALTER QMGR TRIGINT(60000)")
        monitor = Monitor()
        application.put("APP")
        assert "When that was made is not known: with MONQ(LOW)" in found_of("T11")
        run_mqsc("ALTER QMGR MONQ(LOW)")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")
        run_mqsc("ALTER QLOCAL(APP) TRIGGER")
        told = re.search(
            r"at (\S+ \S+): the next one is due at (\S+ \S+) by the queue manager's clock", found_of("T11")
        )
        assert told
        shown = "".join(run_mqsc("DISPLAY QSTATUS(IQ) LPUTDATE LPUTTIME"))
        date, time = re.search(r"LPUTDATE\((.+?)\)", shown), re.search(r"LPUTTIME\((.+?)\)", shown)
        assert date
        assert time
        last = datetime.strptime(f"{date[1]} {time[1]}", "%Y-%m-%d %H.%M.%S")
        assert [datetime.fromisoformat(each) for each in told.groups()] == [last, last + timedelta(minutes=1)]
        assert not next_message_triggers(application)
        run_mqsc("ALTER QMGR TRIGINT(0)")
        assert explained().state("T03") == "holds"
        assert next_message_triggers(application)
        monitor.stop()


def found_of(number: str) -> str:
    return next(one.found for one in explained().conditions if one.id == number)


def test_T04a_T04b_a_shared_queue_is_mended_in_the_shared_repository(group: Any) -> None:
    run_mqsc(f"DEFINE QLOCAL(APP) {SHARED} TRIGGER TRIGTYPE(FIRST) INITQ(IQ) PROCESS(P) PUT(DISABLED)")
    assert [explained().state(number) for number in ("T04a", "T04b")] == ["unknown", "unknown"]
    assert "DISPLAY QSTATUS(APP) TYPE(HANDLE) INPUT CMDSCOPE(*) tells" in found_of("T04b")
    (fix,) = [fix for fix in explained().fixes() if "QLOCAL(APP)" in fix]
    assert fix == "ALTER QLOCAL(APP) QSGDISP(SHARED) PUT(ENABLED)"
    assert mqops("explain", "APP", "QM1", "--fix", "--yes", "--applicid", "serve")[0] in {0, 1}
    assert explained().state("T01") == "holds"


RIGHTS = """\
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)
SET AUTHREC PROFILE(APP) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)
SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)
SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)
"""


def test_a_right_that_lacks_makes_its_condition_unknown_and_no_other() -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        mqlite_here("user", "add", "QM1", "app", stdin="secret\n")
        run_mqsc(RIGHTS)
        app = {"MQOPS_CONNECTION": json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})}
        done = CliRunner().invoke(main, ["trigger", "explain", "APP", "QM1", "--json"], env=app)
        states = {one["id"]: one["state"] for one in json.loads(done.stdout)["conditions"]}
        assert {number for number, state in states.items() if state == "unknown"} == {"T06", "T07", "T08"}
        assert done.exit_code == 1
        told = CliRunner().invoke(main, ["trigger", "explain", "APP", "QM1"], env=app).output
        assert "whether P is defined is not known: the connection's user may not inquire the process (+inq)" in told
        audit = CliRunner().invoke(main, ["trigger", "audit", "QM1"], env=app)
        assert "not known processes: the connection's user may not inquire it" in audit.output
        run_mqsc("SET AUTHREC PROFILE(P) OBJTYPE(PROCESS) PRINCIPAL('app') AUTHADD(INQ,DSP)")
        found = json.loads(CliRunner().invoke(main, ["trigger", "explain", "APP", "QM1", "--json"], env=app).stdout)
        assert [one["id"] for one in found["conditions"] if one["state"] == "unknown"] == ["T07", "T08"]


def test_an_audit_asks_for_names_once_and_again_only_where_a_queue_may_not_be_inquired(monkeypatch: Any) -> None:
    """Issue 37 D: of 100 queue managers this was a sixth of the first look at Estate."""
    asked: list[str] = []
    genuine = inquire.command
    noted = lambda session, name, *more, **options: (asked.append(name), genuine(session, name, *more, **options))[1]  # noqa: E731
    monkeypatch.setattr(inquire, "command", noted)
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        mqlite_here("user", "add", "QM1", "app", stdin="secret\n")
        run_mqsc(f"{RIGHTS}SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP)")
        app = {"MQOPS_CONNECTION": json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})}

        def unseen() -> tuple[list[str], int, int]:
            asked.clear()
            said = json.loads(CliRunner().invoke(main, ["trigger", "audit", "QM1", "--json"], env=app).stdout)
            return said["unseen"], *(asked.count(f"MQCMD_INQUIRE_{what}") for what in ("Q", "Q_NAMES"))

        assert unseen() == ([], 1, 1)
        run_mqsc("SET AUTHREC PROFILE(X) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\nDEFINE QLOCAL(X)")
        assert unseen() == (["X"], 2, 2)


FULL = "ALTER QLOCAL(IQ) MAXDEPTH(0)"
SHORT = "ALTER QLOCAL(IQ) MAXMSGL(683)"


@pytest.mark.parametrize(
    ("mqsc", "why", "fate", "dead"),
    [
        (FULL, "(CURDEPTH 0, MAXDEPTH 0)", "goes to the dead-letter queue DLQ behind an MQDLH (MQRC_Q_FULL)", 1),
        (SHORT, "MAXMSGL(683), and a trigger message has 684 bytes", "DLQ behind an MQDLH (MQRC_MSG_TOO_BIG_", 1),
        (f"{FULL}\nALTER QMGR DEADQ(' ')", "IQ is full", "discarded, because the queue manager names no dead-", 0),
        (f"{FULL}\nALTER QMGR DEADQ(GONE)", "IQ is full", "because DEADQ names GONE, which is not there", 0),
        (f"{FULL}\nALTER QMGR DEADQ(D.ALIAS)", "IQ is full", "DEADQ names D.ALIAS, which is an alias of DLQ", 0),
        (f"{FULL}\nALTER QLOCAL(DLQ) PUT(DISABLED)", "IQ is full", "queue DLQ has PUT(DISABLED)", 0),
        (f"{FULL}\nALTER QLOCAL(DLQ) MAXDEPTH(0)", "IQ is full", "queue DLQ is full (CURDEPTH 0, MAX", 0),
        (f"{SHORT}\nALTER QLOCAL(DLQ) MAXMSGL(855)", "MAXMSGL(683)", "MAXMSGL(855), and it has 856 bytes there", 0),
    ],
)
def test_T07_what_becomes_of_a_trigger_message_that_cannot_be_put(mqsc: str, why: str, fate: str, dead: int) -> None:
    definitions = "DEFINE QLOCAL(DLQ)\nDEFINE QALIAS(D.ALIAS) TARGET(DLQ)\nALTER QMGR DEADQ(DLQ)"
    with queue_manager(mqsc=definitions) as application:
        define("TRIGTYPE(EVERY)")
        monitor = Monitor()
        assert mqops("explain", "APP", "QM1")[0] == mqops("audit", "QM1")[0] == 0
        run_mqsc(mqsc)
        code, text = mqops("explain", "APP", "QM1", "--json")
        found = json.loads(text)
        assert (code, found["would_trigger"]) == (1, False)
        assert found["verdict"].startswith(
            "The next message of sufficient priority makes a trigger message that starts n"
        )
        (told,) = [one["found"] for one in found["conditions"] if one["state"] == "fails"]
        assert why in told
        assert fate in told
        code, text = mqops("audit", "QM1")
        assert code == 1
        assert (
            "broken  APP: The next message of sufficient priority makes a trigger message that starts nothing" in text
        )
        application.put("APP")  # what the queue manager does with it
        assert (application.depth("IQ"), application.depth("DLQ")) == (0, dead)
        monitor.stop()


def test_T07_one_that_is_put_inhibited_gets_its_trigger_message_later() -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        monitor = Monitor()
        run_mqsc("ALTER QLOCAL(IQ) PUT(DISABLED)")
        code, text = mqops("explain", "APP", "QM1")
        assert code == 1
        assert "IQ has PUT(DISABLED): no trigger message is made; with PUT(ENABLED) again one is made" in " ".join(
            text.split()
        )
        application.put("APP")
        run_mqsc("ALTER QLOCAL(IQ) PUT(ENABLED)")
        assert monitor.triggered() == ["APP"]
        monitor.stop()


def test_T06_trigger_data_that_names_the_process_is_told() -> None:
    with queue_manager() as application:
        run_mqsc("DEFINE QLOCAL(APP) TRIGGER INITQ(IQ) TRIGTYPE(FIRST) TRIGDATA('P')")
        monitor = Monitor()
        (found,) = [one for one in explained().conditions if one.state == "fails"]
        assert (found.id, found.fix) == ("T06", "ALTER QLOCAL(APP) PROCESS(P)")
        assert "TRIGDATA names the process P, but it is no more than data for the program" in found.found
        assert not next_message_triggers(application)
        run_mqsc("ALTER QLOCAL(APP) PROCESS(P)\nCLEAR QLOCAL(APP)")
        assert explained().would_trigger
        monitor.stop()


@pytest.mark.parametrize(
    ("platform", "queue", "advice"),
    [
        ("unix", "IQ", "start one, for example runmqtrm -m QM1 -q IQ"),
        ("zos", "IQ", "start one, CKTI for CICS (CKQC STARTCKTI), CSQQTRMN for IMS"),
        ("unix", "SYSTEM.CHANNEL.INITQ", "START CHINIT, or mqlite start QM1 for an embedded one"),
        ("zos", "SYSTEM.CHANNEL.INITQ", "open for input: START CHINIT"),
    ],
)
def test_T08_the_trigger_monitor_to_start_is_that_of_the_platform(platform: str, queue: str, advice: str) -> None:
    with queue_manager(platform):
        define("TRIGTYPE(FIRST)")
        run_mqsc(f"ALTER QLOCAL(APP) INITQ({queue})")
        (told,) = [one.found for one in explained().conditions if one.id == "T08"]
        assert advice in told
