"""SPEC T: the conditions for a trigger event as the queue manager keeps them, seen through pymqi and MQSC."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC

from mqwire.structures import MQDLH, MQTM, MQXQH

SYNCPOINT = CMQC.MQPMO_SYNCPOINT
GET_SYNCPOINT = CMQC.MQGMO_SYNCPOINT
PROCESS = "DEFINE PROCESS(P) APPLTYPE(CICS) APPLICID('/usr/bin/serve') ENVRDATA('&') USERDATA('for the user')"
TOLD = MQTM(
    q_name="APP", process_name="P", trigger_data="data", appl_type=1, appl_id="/usr/bin/serve", env_data="&",
    user_data="for the user",
)  # fmt: skip
DIES = """
import os, signal, pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
{calls}
os.kill(os.getpid(), signal.SIGKILL)
"""


def define(attributes: str = "", name: str = "APP", process: str = "P") -> None:
    """A queue for the initiation queue IQ, with triggering on unless `attributes` say otherwise."""
    control = "" if "NOTRIGGER" in attributes else "TRIGGER"
    run_mqsc(f"DEFINE QLOCAL({name}) {control} INITQ(IQ) PROCESS({process}) TRIGDATA('data') {attributes}")


def alter(attributes: str, name: str = "APP") -> None:
    run_mqsc(f"ALTER QLOCAL({name}) {attributes}")


def triggering_is_on(name: str = "APP") -> bool:
    return any(line.split() == ["TRIGGER"] for line in run_mqsc(f"DISPLAY QLOCAL({name}) TRIGGER"))


def killed(calls: str) -> None:
    """Another process makes these calls on `manager` and dies."""
    done = subprocess.run([sys.executable, "-c", DIES.format(calls=calls)], env=os.environ)
    assert done.returncode == -9


class Monitor:
    """A trigger monitor: it has the initiation queue open, in a connection of its own."""

    def __init__(self, queue: str = "IQ") -> None:
        self.application = Application()
        self.queue = self.application.open(queue, CMQC.MQOO_INPUT_SHARED)

    def messages(self) -> list[tuple[Any, bytes]]:
        """The trigger messages that have come since the last time, with their descriptors."""
        found = []
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            while True:
                found.append(self.application.get(self.queue))
        return found

    def triggered(self) -> list[str]:
        """The queues that they are for."""
        return [MQTM.unpack(body, ccsid=1208).q_name for _, body in self.messages()]

    def stop(self) -> None:
        if self.application.manager.is_connected:
            self.application.manager.disconnect()


@pytest.fixture
def monitor(application: Application) -> Iterator[Monitor]:
    """A trigger monitor on IQ of `application`'s queue manager, where process P is defined."""
    run_mqsc(f"DEFINE QLOCAL(IQ)\n{PROCESS}")
    made = Monitor()
    yield made
    made.stop()


@pytest.fixture
def other(application: Application) -> Iterator[Application]:
    """A second connection."""
    made = Application()
    yield made
    made.manager.disconnect()


# 1 to 3: a message is put


def test_T01_a_put_triggers_whoever_makes_it(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    run_mqsc("DEFINE QALIAS(ALIAS) TARGET(APP)")
    assert monitor.triggered() == []
    application.put("APP")
    application.put("ALIAS")
    opened = application.open("APP", OUTPUT)
    opened.put(b"x")
    assert monitor.triggered() == ["APP"] * 3


def test_T01_a_report_of_the_queue_manager_triggers(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    application.put("Q1", Report=CMQC.MQRO_COA, ReplyToQ=b"APP")
    assert monitor.triggered() == ["APP"]
    application.put("Q1", Report=CMQC.MQRO_COA, ReplyToQ=b"APP", options=SYNCPOINT)
    assert monitor.triggered() == []
    application.manager.commit()
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("kind", ["FIRST", "EVERY", "DEPTH"])
def test_T02_only_messages_of_the_threshold_priority_or_above_trigger(
    application: Application, monitor: Monitor, kind: str
) -> None:
    define(f"TRIGTYPE({kind}) TRIGMPRI(5)")
    application.put("APP", Priority=4)
    assert monitor.triggered() == []
    application.put("APP", Priority=5)
    assert monitor.triggered() == ["APP"]


def test_T02_T03_messages_below_the_threshold_are_not_counted(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(DEPTH) TRIGDPTH(2) TRIGMPRI(5)")
    for priority in (9, 1, 1, 1):
        application.put("APP", Priority=priority)
    assert monitor.triggered() == []
    application.put("APP", Priority=5)
    assert monitor.triggered() == ["APP"]


def test_T03_first_triggers_when_the_queue_was_empty(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    for _ in range(3):
        application.put("APP")
    assert monitor.triggered() == ["APP"]


def test_T03_every_triggers_for_each_message(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    for _ in range(3):
        application.put("APP")
    assert monitor.triggered() == ["APP"] * 3


def test_T03_depth_triggers_at_its_depth_and_switches_itself_off(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(DEPTH) TRIGDPTH(3)")
    for _ in range(2):
        application.put("APP")
    assert (monitor.triggered(), triggering_is_on()) == ([], True)
    application.put("APP")
    assert (monitor.triggered(), triggering_is_on()) == (["APP"], False)
    application.put("APP")
    assert monitor.triggered() == []


def test_T03a_uncommitted_messages_count(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    other.put("APP", options=SYNCPOINT)
    application.put("APP")
    assert monitor.triggered() == []
    other.manager.commit()
    assert monitor.triggered() == ["APP"]


def test_T03a_messages_got_in_a_unit_of_work_do_not_count(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) NOTRIGGER")
    application.put("APP")
    opened = application.open("APP")
    application.get(opened, GET_SYNCPOINT)
    opened.close()
    alter("TRIGGER")
    application.put("APP")
    assert monitor.triggered() == ["APP"]


# 4 to 10: what has to hold besides


@pytest.mark.parametrize(("kind", "triggers"), [("FIRST", 0), ("DEPTH", 0), ("EVERY", 1)])
def test_T04_a_served_queue_triggers_only_with_every(
    application: Application, monitor: Monitor, other: Application, kind: str, triggers: int
) -> None:
    define(f"TRIGTYPE({kind})")
    server = other.open("APP", CMQC.MQOO_INPUT_SHARED)
    application.put("APP")
    assert len(monitor.triggered()) == triggers
    server.close()


def test_T04_other_opens_than_for_input_do_not_serve(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    opened = application.open("APP", BROWSE | OUTPUT | CMQC.MQOO_INQUIRE | CMQC.MQOO_SET)
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    opened.close()


def test_T04_a_dead_server_does_not_serve(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    killed('server = pymqi.Queue(manager, "APP", CMQC.MQOO_INPUT_SHARED)')
    application.put("APP")
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("usage", ["NORMAL", "XMITQ"])
@pytest.mark.parametrize(("platform", "triggers"), [("unix", 1), ("zos", 0)])
def test_T05_on_zos_a_get_inhibited_queue_does_not_trigger(
    home: Path, platform: str, triggers: int, usage: str
) -> None:
    make("QM1", f"DEFINE QLOCAL(IQ) SHARE DEFSOPT(SHARED)\n{PROCESS}", platform=platform)
    define(f"TRIGTYPE(FIRST) GET(DISABLED) USAGE({usage})")
    application, monitor = Application(), Monitor()
    application.put("APP", transmitted() if usage == "XMITQ" else b"x")
    assert len(monitor.messages()) == triggers
    monitor.stop()
    application.manager.disconnect()


def transmitted() -> bytes:
    """Data that a transmission queue takes."""
    return MQXQH(remote_q_name="THERE", remote_q_mgr_name="QM2").pack()


@pytest.mark.parametrize("process", ["MISSING", "' '"])
def test_T06_without_its_process_a_queue_does_not_trigger(
    application: Application, monitor: Monitor, process: str
) -> None:
    define("TRIGTYPE(EVERY)", process=process)
    application.put("APP")
    assert monitor.triggered() == []
    run_mqsc(PROCESS.replace("P)", "MISSING)", 1))
    application.put("APP")
    assert monitor.triggered() == ([] if process == "' '" else ["APP"])


def test_T06_the_trigger_message_tells_of_the_process(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    ((md, body),) = monitor.messages()
    assert md.Format == CMQC.MQFMT_TRIGGER
    assert len(body) == 684
    assert MQTM.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId) == TOLD


def test_T06_on_zos_the_trigger_message_is_in_its_encoding_and_character_set(home: Path) -> None:
    make("QM1", f"DEFINE QLOCAL(IQ)\n{PROCESS}", platform="zos")
    define("TRIGTYPE(EVERY)")
    application, monitor = Application(), Monitor()
    application.put("APP")
    ((md, body),) = monitor.messages()
    assert (md.Encoding, md.CodedCharSetId) == (CMQC.MQENC_S390, 500)
    assert body[:4] == "TM  ".encode("cp500")
    assert MQTM.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId) == TOLD
    monitor.stop()
    application.manager.disconnect()


def test_T06_a_transmission_queue_needs_no_process(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) USAGE(XMITQ)", process="' '")
    application.put("APP", transmitted())
    ((_, body),) = monitor.messages()
    assert MQTM.unpack(body, ccsid=1208) == MQTM(q_name="APP", trigger_data="data", appl_type=CMQC.MQAT_UNKNOWN)


def test_T06_a_transmission_queue_that_names_a_process_needs_it(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY) USAGE(XMITQ)", process="MISSING")
    application.put("APP", transmitted())
    assert monitor.triggered() == []
    alter("PROCESS(P)")
    application.put("APP", transmitted())
    ((_, body),) = monitor.messages()
    assert MQTM.unpack(body, ccsid=1208) == TOLD


def test_T06_a_message_on_its_way_triggers_its_transmission_queue(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) USAGE(XMITQ)", process="' '")
    run_mqsc("DEFINE QREMOTE(FAR) RNAME(THERE) RQMNAME(QM2) XMITQ(APP)")
    application.put("FAR")
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("attributes", ["INITQ(' ')", "INITQ(MISSING)", "INITQ(ALIAS)", "INITQ(OTHER)"])
def test_T07_the_initiation_queue_is_a_local_queue_that_is_served(
    application: Application, monitor: Monitor, attributes: str
) -> None:
    run_mqsc("DEFINE QALIAS(ALIAS) TARGET(IQ)\nDEFINE QLOCAL(OTHER)")
    define("TRIGTYPE(EVERY)")
    alter(attributes)
    application.put("APP")
    assert monitor.triggered() == []


@pytest.mark.parametrize("attributes", ["GET(DISABLED)", "PUT(DISABLED)"])
def test_T07_neither_puts_nor_gets_of_the_initiation_queue_are_inhibited(
    application: Application, monitor: Monitor, attributes: str
) -> None:
    define("TRIGTYPE(EVERY)")
    alter(attributes, "IQ")
    application.put("APP")
    alter("GET(ENABLED)", "IQ")
    assert monitor.triggered() == []


def test_T07_the_initiation_queue_is_no_transmission_queue(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    run_mqsc("ALTER QLOCAL(IQ) USAGE(XMITQ) FORCE")
    application.put("APP")
    assert monitor.triggered() == []


def test_T07_a_dynamic_initiation_queue_serves_until_it_is_deleted(
    application: Application, monitor: Monitor, other: Application
) -> None:
    run_mqsc("DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)")
    maker = other.open("MODEL", INPUT, DynamicQName=b"DYNAMIC")
    reader = application.open("DYNAMIC", CMQC.MQOO_INPUT_SHARED)
    define("TRIGTYPE(EVERY)")
    alter("INITQ(DYNAMIC)")
    application.put("APP")
    application.get(reader)
    maker.close(CMQC.MQCO_DELETE)
    application.put("APP")
    assert application.depth("APP") == 2
    with refused(CMQC.MQRC_Q_DELETED):
        application.get(reader)


@pytest.mark.parametrize("options", [None, BROWSE | OUTPUT | CMQC.MQOO_INQUIRE])
def test_T08_nobody_has_the_initiation_queue_open_for_input(
    application: Application, monitor: Monitor, options: int | None
) -> None:
    define("TRIGTYPE(EVERY)")
    monitor.queue.close()
    opened = application.open("IQ", options) if options else None
    application.put("APP")
    assert application.depth("IQ") == 0
    assert opened is None or opened.close() is None


def test_T08_a_dead_trigger_monitor_has_it_open_no_more(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    monitor.stop()
    killed('monitor = pymqi.Queue(manager, "IQ", CMQC.MQOO_INPUT_SHARED)')
    application.put("APP")
    assert application.depth("IQ") == 0


def test_T09_triggering_is_on(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY) NOTRIGGER")
    application.put("APP")
    assert monitor.triggered() == []


def test_T10_the_type_is_not_none(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(NONE)")
    application.put("APP")
    alter("NOTRIGGER")
    alter("TRIGGER")
    assert monitor.triggered() == []


# 10: units of work

KINDS = ["FIRST", "EVERY", "DEPTH"]


@pytest.mark.parametrize("kind", KINDS)
def test_T10a_the_trigger_message_comes_with_the_commit(application: Application, monitor: Monitor, kind: str) -> None:
    define(f"TRIGTYPE({kind})")
    application.put("APP", options=SYNCPOINT)
    assert monitor.triggered() == []
    assert application.depth("IQ") == 1
    application.manager.commit()
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize(("kind", "triggers"), [("FIRST", 1), ("DEPTH", 1), ("EVERY", 0)])
def test_T10a_backed_out_every_takes_its_trigger_message_back(
    application: Application, monitor: Monitor, kind: str, triggers: int
) -> None:
    define(f"TRIGTYPE({kind})")
    application.put("APP", options=SYNCPOINT)
    application.manager.backout()
    assert len(monitor.triggered()) == triggers
    assert (application.depth("APP"), application.depth("IQ")) == (0, 0)


@pytest.mark.parametrize(("kind", "triggers"), [("FIRST", 1), ("DEPTH", 1), ("EVERY", 0)])
def test_T10a_so_does_a_unit_of_work_whose_process_is_killed(
    application: Application, monitor: Monitor, kind: str, triggers: int
) -> None:
    define(f"TRIGTYPE({kind})")
    killed('manager.put1("APP", b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))')
    assert len(monitor.triggered()) == triggers
    assert (application.depth("APP"), application.depth("IQ")) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_T10a_disconnecting_commits(application: Application, monitor: Monitor, kind: str) -> None:
    define(f"TRIGTYPE({kind})")
    application.put("APP", options=SYNCPOINT)
    application.manager.disconnect()
    assert monitor.triggered() == ["APP"]


def test_T10a_one_trigger_message_each_for_every(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    for _ in range(3):
        application.put("APP", options=SYNCPOINT)
    application.manager.commit()
    assert monitor.triggered() == ["APP"] * 3


def test_T10a_switching_depth_off_is_not_backed_out(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(DEPTH)")
    application.put("APP", options=SYNCPOINT)
    application.manager.backout()
    assert not triggering_is_on()


def test_T10a_changes_in_the_meantime_do_not_touch_the_trigger_message(
    application: Application, monitor: Monitor
) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP", options=SYNCPOINT)
    alter("NOTRIGGER TRIGDATA('later')")
    application.manager.commit()
    ((_, body),) = monitor.messages()
    assert MQTM.unpack(body, ccsid=1208) == TOLD


# 11: the trigger interval


def test_T11_first_triggers_again_after_the_interval(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    run_mqsc("ALTER QMGR TRIGINT(300)")
    began = time.monotonic()
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    again: list[str] = []
    while not again:
        application.put("APP")
        again = monitor.triggered()
    assert again == ["APP"]
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(("interval", "triggers"), [(0, 3), (999_999_999, 1)])
def test_T11_the_interval_decides_on_a_queue_that_is_not_empty(
    application: Application, monitor: Monitor, interval: int, triggers: int
) -> None:
    run_mqsc(f"ALTER QMGR TRIGINT({interval})")
    define("TRIGTYPE(FIRST)")
    for _ in range(3):
        application.put("APP")
    assert len(monitor.triggered()) == triggers


def test_T11_each_queue_has_its_own_interval(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)", process="MISSING")
    define("TRIGTYPE(FIRST)", name="APP2")
    application.put("APP")
    application.put("APP2")
    assert monitor.triggered() == ["APP2"]
    alter("PROCESS(P)")
    application.put("APP")
    application.put("APP2")
    assert monitor.triggered() == ["APP"]


def test_T11_a_served_queue_does_not_trigger_again(
    application: Application, monitor: Monitor, other: Application
) -> None:
    run_mqsc("ALTER QMGR TRIGINT(0)")
    define("TRIGTYPE(FIRST)")
    server = other.open("APP", INPUT)
    for _ in range(3):
        application.put("APP")
    assert monitor.triggered() == []
    server.close()


def test_T11_depth_triggers_whenever_there_are_more(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(DEPTH) TRIGDPTH(2)", process="MISSING")
    for _ in range(4):
        application.put("APP")
    alter("PROCESS(P)")
    assert monitor.triggered() == []
    application.put("APP")
    assert monitor.triggered() == ["APP"]


def test_T11_a_restart_forgets_the_interval(application: Application, monitor: Monitor) -> None:
    run_mqsc("DEFINE QLOCAL(OTHER)")
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    application.put("APP")
    assert monitor.triggered() == []
    alter("INITQ(OTHER)")
    monitor.stop()
    application.manager.disconnect()
    again, monitor_again = Application(), Monitor()
    alter("INITQ(IQ)")
    assert monitor_again.triggered() == []
    for _ in range(2):
        again.put("APP")
    assert monitor_again.triggered() == ["APP"]
    monitor_again.stop()
    again.manager.disconnect()


# 12: the server closes the queue


@pytest.mark.parametrize(("kind", "triggers"), [("FIRST", 1), ("DEPTH", 1), ("EVERY", 0)])
def test_T12_the_only_server_closes_and_messages_are_left(
    application: Application, monitor: Monitor, other: Application, kind: str, triggers: int
) -> None:
    run_mqsc("DEFINE QLOCAL(APP)")
    server = other.open("APP", INPUT)
    for _ in range(2):
        application.put("APP")
    run_mqsc(f"ALTER QLOCAL(APP) TRIGGER INITQ(IQ) PROCESS(P) TRIGTYPE({kind}) TRIGDPTH(2) TRIGMPRI(0)")
    monitor.messages()
    server.close()
    assert len(monitor.triggered()) == triggers


def test_T12_not_enough_messages_are_left(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(DEPTH) TRIGDPTH(2)")
    define("TRIGTYPE(FIRST) TRIGMPRI(5)", name="APP2")
    servers = [other.open(name, INPUT) for name in ("APP", "APP2")]
    application.put("APP")
    application.put("APP2", Priority=4)
    for server in servers:
        server.close()
    assert monitor.triggered() == []


def test_T12_needs_a_trigger_monitor(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    server = other.open("APP", INPUT)
    application.put("APP")
    monitor.stop()
    server.close()
    assert application.depth("IQ") == 0


def test_T12_another_server_is_left(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    servers = [one.open("APP", INPUT) for one in (other, application)]
    application.put("APP")
    servers[0].close()
    assert monitor.triggered() == []
    servers[1].close()
    assert monitor.triggered() == ["APP"]


def test_T12_who_browses_does_not_serve(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    reader = other.open("APP", BROWSE)
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    reader.close()
    assert monitor.triggered() == []


def test_T12_disconnecting_closes(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    server = Application()
    served = server.open("APP", INPUT)
    application.put("APP")
    assert monitor.triggered() == []
    server.manager.disconnect()
    assert monitor.triggered() == ["APP"]
    del served


def test_T12_triggering_was_switched_on_after_the_open(
    application: Application, monitor: Monitor, other: Application
) -> None:
    define("TRIGTYPE(FIRST) NOTRIGGER")
    server = other.open("APP", INPUT)
    application.put("APP")
    application.put("APP")
    other.get(server)
    alter("TRIGGER")
    assert monitor.triggered() == []
    server.close()
    assert monitor.triggered() == ["APP"]


def test_T12a_backed_out_before_the_close(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    server = other.open("APP", INPUT)
    other.get(server, GET_SYNCPOINT)
    other.manager.backout()
    server.close()
    assert monitor.triggered() == ["APP"]


def test_T12a_closed_before_the_back_out(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    server = other.open("APP", INPUT)
    other.get(server, GET_SYNCPOINT)
    server.close()
    other.manager.backout()
    assert monitor.triggered() == []
    assert application.depth("APP") == 1


def test_T12a_the_server_is_killed(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    killed(
        'server = pymqi.Queue(manager, "APP", CMQC.MQOO_INPUT_SHARED)\n'
        "server.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))"
    )
    assert monitor.triggered() == ["APP"]


def test_T12b_the_backout_count_tells_of_an_endless_loop(
    application: Application, monitor: Monitor, other: Application
) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    for count in range(4):
        assert monitor.triggered() == ["APP"]
        server = other.open("APP", INPUT)
        assert other.get(server, GET_SYNCPOINT)[0].BackoutCount == count
        other.manager.backout()
        server.close()


# 13: somebody changes something, while messages are there


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["command", "MQSET"])
def test_T13_triggering_is_switched_on(application: Application, monitor: Monitor, kind: str, by: str) -> None:
    define(f"NOTRIGGER TRIGTYPE({kind}) TRIGDPTH(2)")
    for _ in range(2):
        application.put("APP")
    assert monitor.triggered() == []
    if by == "command":
        alter("TRIGGER")
    else:
        opened = application.open("APP", CMQC.MQOO_SET)
        opened.set(CMQC.MQIA_TRIGGER_CONTROL, CMQC.MQTC_ON)
    assert monitor.triggered() == ["APP"]


def test_T13_by_pcf(application: Application, monitor: Monitor) -> None:
    define("NOTRIGGER TRIGTYPE(FIRST)")
    application.put("APP")
    pymqi.PCFExecute(application.manager).MQCMD_CHANGE_Q(
        {
            CMQC.MQCA_Q_NAME: b"APP",
            CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
            CMQC.MQIA_TRIGGER_CONTROL: CMQC.MQTC_ON,
        }
    )
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize(
    ("before", "change", "triggers"),
    [
        ("TRIGTYPE(DEPTH) TRIGDPTH(9)", "TRIGTYPE(FIRST)", 1),
        ("TRIGTYPE(DEPTH) TRIGDPTH(9)", "TRIGTYPE(EVERY)", 1),
        ("TRIGTYPE(DEPTH) TRIGDPTH(9)", "TRIGDPTH(2)", 1),
        ("TRIGTYPE(DEPTH) TRIGDPTH(9)", "TRIGDPTH(3)", 0),
        ("TRIGTYPE(FIRST) TRIGMPRI(9)", "TRIGMPRI(3)", 1),
        ("TRIGTYPE(FIRST) TRIGMPRI(9)", "TRIGMPRI(8)", 0),
        ("TRIGTYPE(FIRST) TRIGMPRI(9)", "TRIGDPTH(2)", 0),
        ("TRIGTYPE(FIRST) TRIGMPRI(9)", "DESCR('x')", 0),
    ],
)
def test_T13_what_decides_is_changed(
    application: Application, monitor: Monitor, before: str, change: str, triggers: int
) -> None:
    define(before)
    for _ in range(2):
        application.put("APP", Priority=3)
    assert monitor.triggered() == []
    alter(change)
    assert len(monitor.triggered()) == triggers


def test_T13_nothing_is_changed(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    alter("TRIGGER TRIGTYPE(FIRST)")
    assert monitor.triggered() == []


def test_T13_needs_no_trigger_monitor(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) NOTRIGGER")
    monitor.queue.close()
    application.put("APP")
    alter("TRIGGER")
    assert application.depth("IQ") == 1


def test_T13_a_served_queue_does_not_trigger(application: Application, monitor: Monitor, other: Application) -> None:
    define("TRIGTYPE(FIRST) NOTRIGGER")
    server = other.open("APP", INPUT)
    application.put("APP")
    alter("TRIGGER")
    assert monitor.triggered() == []
    server.close()


@pytest.mark.parametrize("kind", KINDS)
def test_T13a_puts_to_the_initiation_queue_are_allowed_again(
    application: Application, monitor: Monitor, kind: str
) -> None:
    alter("PUT(DISABLED)", "IQ")
    for name in ("APP", "APP2", "EMPTY", "OFF"):
        define(f"TRIGTYPE({kind}) TRIGDPTH(2)", name=name)
    alter("NOTRIGGER", "OFF")
    for name in ("APP", "APP2", "OFF"):
        for _ in range(2):
            application.put(name)
    assert monitor.triggered() == []
    alter("PUT(ENABLED)", "IQ")
    assert monitor.triggered() == ["APP", "APP2"]


def test_T13a_needs_a_trigger_monitor(application: Application, monitor: Monitor) -> None:
    alter("PUT(DISABLED)", "IQ")
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    monitor.stop()
    alter("PUT(ENABLED)", "IQ")
    assert application.depth("IQ") == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("platform", "by"), [("unix", "command"), ("zos", "MQSET")])
def test_T13b_gets_from_the_queue_are_allowed_again(home: Path, kind: str, platform: str, by: str) -> None:
    make("QM1", f"DEFINE QLOCAL(IQ) SHARE DEFSOPT(SHARED)\n{PROCESS}", platform=platform)
    define(f"TRIGTYPE({kind}) TRIGDPTH(2) GET(DISABLED)", process="MISSING")
    application, monitor = Application(), Monitor()
    for _ in range(2):
        application.put("APP")
    alter("PROCESS(P)")
    assert monitor.messages() == []
    if by == "command":
        alter("GET(ENABLED)")
    else:
        opened = application.open("APP", CMQC.MQOO_SET)
        opened.set(CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_ALLOWED)
    assert len(monitor.messages()) == 1
    monitor.stop()
    application.manager.disconnect()


@pytest.mark.parametrize("kind", KINDS)
def test_T13c_a_trigger_monitor_opens_the_initiation_queue(
    application: Application, monitor: Monitor, kind: str
) -> None:
    monitor.stop()
    for name in ("APP", "APP2", "EMPTY", "SERVED"):
        define(f"TRIGTYPE({kind}) TRIGDPTH(2)", name=name)
    for name in ("APP", "APP2"):
        for _ in range(2):
            application.put(name)
    assert application.depth("IQ") == 0
    again = Monitor()
    assert again.triggered() == ["APP", "APP2"]
    again.stop()


def test_T13c_only_the_first_trigger_monitor(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    application.put("APP")
    assert monitor.triggered() == ["APP"]
    second = Monitor()
    browser = application.open("IQ", BROWSE)
    assert second.triggered() == []
    browser.close()
    second.stop()


# 14 to 17


@pytest.mark.parametrize("kind", KINDS)
def test_T14_with_fifo_the_default_priority_of_the_queue_counts(
    application: Application, monitor: Monitor, kind: str
) -> None:
    define(f"TRIGTYPE({kind}) MSGDLVSQ(FIFO) DEFPRTY(4) TRIGMPRI(5)")
    define(f"TRIGTYPE({kind}) MSGDLVSQ(FIFO) DEFPRTY(4) TRIGMPRI(4)", name="APP2")
    for name in ("APP", "APP2"):
        for priority in (9, 0):
            application.put(name, Priority=priority)
    assert monitor.triggered() == (["APP2"] * 2 if kind == "EVERY" else ["APP2"])


def test_T14_with_fifo_messages_come_in_their_order_with_their_own_priority(application: Application) -> None:
    alter("MSGDLVSQ(FIFO) DEFPRTY(4)", "Q1")
    for priority in (0, 9, 4):
        application.put("Q1", Priority=priority)
    assert [application.get("Q1")[0].Priority for _ in range(3)] == [0, 9, 4]


def test_T14_with_priority_a_hundred_lesser_messages_are_none(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) TRIGMPRI(5)")
    for _ in range(100):
        application.put("APP", Priority=4)
    assert monitor.triggered() == []
    application.put("APP", Priority=5)
    assert monitor.triggered() == ["APP"]


def test_T15_such_trigger_messages_belong_to_no_unit_of_work(
    application: Application, monitor: Monitor, other: Application
) -> None:
    define("TRIGTYPE(FIRST)")
    server = other.open("APP", INPUT)
    application.put("APP")
    other.put("Q1", options=SYNCPOINT)
    server.close()
    assert monitor.triggered() == ["APP"]
    setter = other.open("APP", CMQC.MQOO_SET)
    for control in (CMQC.MQTC_OFF, CMQC.MQTC_ON):
        setter.set(CMQC.MQIA_TRIGGER_CONTROL, control)
    assert monitor.triggered() == ["APP"]
    other.manager.backout()


def test_T15_one_trigger_message_of_every_for_many_messages(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY) NOTRIGGER")
    for _ in range(5):
        application.put("APP")
    alter("TRIGGER")
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("kind", KINDS)
def test_T16_segments_that_an_application_puts_count_each(
    application: Application, monitor: Monitor, kind: str
) -> None:
    define(f"TRIGTYPE({kind}) TRIGDPTH(3)")
    opened = application.open("APP", OUTPUT)
    for flags in (CMQC.MQMF_SEGMENT, CMQC.MQMF_SEGMENT, CMQC.MQMF_LAST_SEGMENT):
        assert monitor.triggered() == [] or kind != "DEPTH"
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags)
        opened.put(b"x" * 16, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT | CMQC.MQPMO_LOGICAL_ORDER))
    assert len(monitor.triggered()) == (0 if kind == "FIRST" else 1)


def test_T17_trigger_messages_never_expire_and_come_from_the_queue_manager(
    application: Application, monitor: Monitor
) -> None:
    alter("DEFPRTY(6)", "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("APP", Expiry=100, Priority=2, Persistence=CMQC.MQPER_PERSISTENT)
    ((md, _),) = monitor.messages()
    assert (md.MsgType, md.Report, md.Feedback) == (CMQC.MQMT_DATAGRAM, 0, 0)
    assert (md.Expiry, md.Priority, md.Persistence) == (CMQC.MQEI_UNLIMITED, 6, CMQC.MQPER_NOT_PERSISTENT)
    assert (md.MsgId != CMQC.MQMI_NONE, md.CorrelId) == (True, CMQC.MQCI_NONE)
    assert (md.ReplyToQ.strip(), md.ReplyToQMgr.strip()) == (b"", b"QM1")
    assert (md.UserIdentifier.strip(), md.AccountingToken) == (b"", CMQC.MQACT_NONE)
    assert (md.PutApplType, md.PutApplName.strip()) == (CMQC.MQAT_QMGR, b"QM1")


def test_T17_the_initiation_queue_may_ask_for_persistent_ones(application: Application, monitor: Monitor) -> None:
    alter("DEFPSIST(YES)", "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    assert [md.Persistence for md, _ in monitor.messages()] == [CMQC.MQPER_PERSISTENT]


def test_T17_each_has_its_own_identifier(application: Application, monitor: Monitor) -> None:
    for name in ("APP", "APP2"):
        define("TRIGTYPE(EVERY) NOTRIGGER", name=name)
        application.put(name)
        alter("TRIGGER", name)
        application.put(name)
    found = [md.MsgId for md, _ in monitor.messages()]
    assert len(set(found)) == len(found) == 4


# What the initiation queue does not take


@pytest.mark.parametrize(
    ("attributes", "reason"), [("MAXDEPTH(1)", CMQC.MQRC_Q_FULL), ("MAXMSGL(683)", CMQC.MQRC_MSG_TOO_BIG_FOR_Q)]
)
def test_T07_what_the_initiation_queue_does_not_take_goes_to_the_dead_letter_queue(
    application: Application, monitor: Monitor, attributes: str, reason: int
) -> None:
    run_mqsc("DEFINE QLOCAL(DLQ)\nALTER QMGR DEADQ(DLQ)")
    alter(attributes, "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("IQ")
    application.put("APP")
    md, body = application.get("DLQ")
    header = MQDLH.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId)
    assert md.Format == CMQC.MQFMT_DEAD_LETTER_HEADER
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (reason, "IQ", "QM1")
    assert (header.format, header.put_appl_type) == ("MQTRIG", CMQC.MQAT_QMGR)
    assert MQTM.unpack(body, offset=MQDLH.LAYOUT.size, encoding=header.encoding, ccsid=1208) == TOLD


@pytest.mark.parametrize("end", ["commit", "backout"])
def test_T10a_there_it_waits_for_the_end_of_the_unit_of_work_too(
    application: Application, monitor: Monitor, end: str
) -> None:
    run_mqsc("DEFINE QLOCAL(DLQ)\nALTER QMGR DEADQ(DLQ)")
    alter("MAXDEPTH(0)", "IQ")
    define("TRIGTYPE(FIRST)")
    application.put("APP", options=SYNCPOINT)
    assert application.bodies("DLQ") == []
    getattr(application.manager, end)()
    assert len(application.bodies("DLQ")) == 1


@pytest.mark.parametrize("dead", ["ALTER QMGR DEADQ(' ')", "ALTER QMGR DEADQ(GONE)", "ALTER QLOCAL(DLQ) PUT(DISABLED)"])
def test_T07_what_the_dead_letter_queue_does_not_take_is_discarded(
    application: Application, monitor: Monitor, dead: str
) -> None:
    run_mqsc(f"DEFINE QLOCAL(DLQ)\nALTER QMGR DEADQ(DLQ)\n{dead}")
    alter("MAXDEPTH(0)", "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    assert (application.depth("APP"), application.depth("DLQ")) == (1, 0)


def test_T07_the_dead_letter_queue_is_triggered_by_it_in_turn(application: Application, monitor: Monitor) -> None:
    run_mqsc("DEFINE QLOCAL(DLQ.IQ)\nALTER QLOCAL(IQ) MAXDEPTH(0)\nALTER QMGR DEADQ(DLQ)")
    define("TRIGTYPE(EVERY)")
    define("TRIGTYPE(EVERY)", name="DLQ")
    application.put("APP")
    assert application.depth("DLQ") == 1  # its own trigger message, for IQ as well, is discarded
    alter("INITQ(DLQ.IQ)", "DLQ")
    second = Monitor("DLQ.IQ")
    second.messages()
    application.put("APP")
    ((_, body),) = second.messages()
    assert MQTM.unpack(body, ccsid=1208) == replace(TOLD, q_name="DLQ")
    second.stop()


def test_T08_a_waiting_trigger_monitor_is_told(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    waits = (
        'queue = pymqi.Queue(manager, "APP", CMQC.MQOO_OUTPUT); '
        'queue.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))'
    )
    process = subprocess.Popen([sys.executable, "-c", DIES.format(calls=waits)])
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=CMQC.MQWI_UNLIMITED)
    body = monitor.queue.get(None, pymqi.MD(), gmo)
    process.wait()
    assert MQTM.unpack(body, ccsid=1208) == TOLD


def test_T13_mqset_sets_what_decides(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(DEPTH) TRIGDPTH(9)")
    application.put("APP")
    application.put("APP")
    opened = application.open("APP", CMQC.MQOO_SET | CMQC.MQOO_INQUIRE)
    opened.set(CMQC.MQIA_TRIGGER_DEPTH, 2)
    assert monitor.triggered() == ["APP"]
    assert opened.inquire(CMQC.MQIA_TRIGGER_CONTROL) == CMQC.MQTC_OFF
    opened.set(CMQC.MQIA_TRIGGER_TYPE, CMQC.MQTT_FIRST)
    assert monitor.triggered() == []
    opened.set(CMQC.MQIA_TRIGGER_CONTROL, CMQC.MQTC_ON)
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("syncpoint", [False, True])
def test_T16_a_message_segmented_by_the_queue_manager_triggers_once_when_all_is_there(
    application: Application, monitor: Monitor, kind: str, syncpoint: bool
) -> None:
    define(f"TRIGTYPE({kind}) TRIGDPTH(2) MAXMSGL(40)")
    body, flags = bytes(range(80)), CMQC.MQMF_SEGMENTATION_ALLOWED
    application.put("APP", body, MsgFlags=flags, options=SYNCPOINT if syncpoint else CMQC.MQPMO_NO_SYNCPOINT)
    application.manager.commit()
    assert monitor.triggered() == ["APP"]
    found = [application.get("APP") for _ in range(3)]
    assert b"".join(data for _, data in found) == body
    assert [(md.Offset, md.OriginalLength) for md, _ in found] == [(0, 32), (32, 32), (64, 16)]
    last = [bool(md.MsgFlags & CMQC.MQMF_LAST_SEGMENT) for md, _ in found]
    assert last == [False, False, True]
    assert len({(md.GroupId, md.MsgSeqNumber) for md, _ in found}) == 1


@pytest.mark.parametrize(
    ("fields", "attributes"),
    [
        ({}, "MAXMSGL(40)"),
        ({"MsgFlags": CMQC.MQMF_SEGMENTATION_ALLOWED, "Format": CMQC.MQFMT_RF_HEADER_2}, "MAXMSGL(40)"),
        ({"MsgFlags": CMQC.MQMF_SEGMENTATION_ALLOWED}, "MAXMSGL(15)"),
    ],
)
def test_T16_what_may_not_be_segmented_is_too_big(
    application: Application, monitor: Monitor, fields: dict[str, Any], attributes: str
) -> None:
    define(f"TRIGTYPE(EVERY) {attributes}")
    with refused(CMQC.MQRC_MSG_TOO_BIG_FOR_Q):
        application.put("APP", bytes(80), **fields)
    assert monitor.triggered() == []


def test_T16_the_queue_takes_all_segments_or_none(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY) MAXMSGL(32) MAXDEPTH(2)")
    with refused(CMQC.MQRC_Q_FULL):
        application.put("APP", bytes(80), MsgFlags=CMQC.MQMF_SEGMENTATION_ALLOWED)
    assert (application.depth("APP"), monitor.triggered()) == (0, [])


def test_T17_E08_no_cap_lets_a_trigger_message_expire(application: Application, monitor: Monitor) -> None:
    alter("CAPEXPRY(1)", "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    ((md, _),) = monitor.messages()
    assert md.Expiry == CMQC.MQEI_UNLIMITED
