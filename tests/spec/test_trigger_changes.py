"""SPEC T: trigger events without a put: a queue is closed, a definition is changed, a trigger monitor comes."""

from __future__ import annotations

from pathlib import Path

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, Application, make, run_mqsc
from pymqi import CMQC
from trigger_support import (
    KINDS,
    PROCESS,
    SYNCPOINT,
    Monitor,
    alter,
    define,
    killed,
)

GET_SYNCPOINT = CMQC.MQGMO_SYNCPOINT


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
    alter("TRIGGER TRIGTYPE(FIRST) TRIGDPTH(7) DESCR('FIRST asks for no depth')")
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
