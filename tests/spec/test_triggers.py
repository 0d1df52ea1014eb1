"""SPEC T: the conditions for a trigger event when a message is put, and units of work."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC
from trigger_support import (
    KINDS,
    PROCESS,
    SYNCPOINT,
    TRIGGER_MESSAGE,
    Monitor,
    alter,
    define,
    killed,
    transmitted,
    triggering_is_on,
)

from mqwire.structures import MQTM

GET_SYNCPOINT = CMQC.MQGMO_SYNCPOINT


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
    opened = application.open("APP", OUTPUT)
    killed('server = pymqi.Queue(manager, "APP", CMQC.MQOO_INPUT_SHARED)')
    opened.put(b"x")
    assert monitor.triggered() == ["APP"]


@pytest.mark.parametrize("usage", ["NORMAL", "XMITQ"])
@pytest.mark.parametrize(("platform", "triggers"), [("unix", 1), ("zos", 0)])
def test_T05_on_zos_a_get_inhibited_queue_does_not_trigger(
    home: Path, platform: str, triggers: int, usage: str
) -> None:
    make("QM1", f"DEFINE QLOCAL(IQ) SHARE DEFSOPT(SHARED)\n{PROCESS}", platform=platform)
    define(f"TRIGTYPE(FIRST) GET(DISABLED) USAGE({usage})")
    application, monitor = Application(), Monitor()
    if usage == "XMITQ":
        application.put("APP", transmitted(), Format=CMQC.MQFMT_XMIT_Q_HEADER)
    else:
        application.put("APP", b"x")
    assert len(monitor.messages()) == triggers
    monitor.stop()
    application.manager.disconnect()


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


def test_T06_a_transmission_queue_that_names_a_process_needs_it(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY) USAGE(XMITQ)", process="MISSING")
    application.put("APP", transmitted(), Format=CMQC.MQFMT_XMIT_Q_HEADER)
    assert monitor.triggered() == []
    alter("PROCESS(P)")
    application.put("APP", transmitted(), Format=CMQC.MQFMT_XMIT_Q_HEADER)
    ((_, body),) = monitor.messages()
    assert MQTM.unpack(body, ccsid=1208) == TRIGGER_MESSAGE


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
    if opened:
        opened.close()
    reader = application.open("IQ", INPUT)
    application.get("APP")
    before = application.depth("IQ")
    application.put("APP")
    assert application.depth("IQ") == before + 1
    reader.close()


def test_T08_a_dead_trigger_monitor_has_it_open_no_more(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    monitor.stop()
    opened = application.open("APP", OUTPUT)
    killed('monitor = pymqi.Queue(manager, "IQ", CMQC.MQOO_INPUT_SHARED)')
    opened.put(b"x")
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
    assert MQTM.unpack(body, ccsid=1208) == TRIGGER_MESSAGE


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


def test_T11_the_start_of_the_service_forgets_the_interval_too(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST)")
    for _ in range(2):
        application.put("APP")
    assert monitor.triggered() == ["APP"]
    for command in ("start", "end"):
        subprocess.run([sys.executable, "-m", "mqlite.cli", command, "QM1"], check=True, capture_output=True)
    for _ in range(2):
        application.put("APP")
    assert monitor.triggered() == ["APP"]
