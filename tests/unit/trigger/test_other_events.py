"""SPEC T03b and T12a to T17 in `mqops trigger`: what it says of these events, and that the queue manager does so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymqi
import pytest
from explain_support import explained, next_message_triggers, queue_manager
from mqlite_support import INPUT, OUTPUT, Application, run_mqsc
from pymqi import CMQC
from sharing_support import SHARED, group
from trigger_support import SYNCPOINT, Monitor, alter, define, killed

from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core.message_made import trigger_message_made
from mqops.trigger.core.triggered_queue import TriggeredQueue
from mqops.trigger.look import manager, triggered_queue

__all__ = ["group"]


def look() -> TriggeredQueue:
    with connect(MqConnection(queue_manager="QM1")) as session:
        return triggered_queue(session, "APP", manager(session))


def found_of(number: str) -> str:
    return next(one.found for one in explained().conditions if one.id == number)


@contextmanager
def applications(attributes: str, platform: str = "unix") -> Iterator[tuple[Application, Application]]:
    """Two programs, and a queue APP with these attributes."""
    with queue_manager(platform) as application:
        define(attributes)
        server = Application()
        try:
            yield application, server
        finally:
            server.manager.disconnect()


def test_T03b_of_a_shared_queue_uncommitted_messages_leave_it_open(group: Any) -> None:
    run_mqsc(f"DEFINE QLOCAL(APP) {SHARED} TRIGGER TRIGTYPE(FIRST) INITQ(IQ) PROCESS(P)")
    group["QM1"].put("APP", options=SYNCPOINT)
    assert explained().state("T03") == "unknown"
    assert "only committed messages count (T03b)" in found_of("T03")
    group["QM1"].manager.backout()
    assert explained().state("T03") == "holds"
    group["QM1"].put("APP")
    assert explained().state("T03") == "fails"


CLOSED = "the last program has closed the queue, and messages are left (T12)"
GET_UNDER_SYNCPOINT = "server.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))"


@pytest.mark.parametrize("ends", ["backs out, closes", "dies", "closes, backs out"])
def test_T12a_a_server_that_backs_out_or_dies_before_it_closes_and_one_that_closes_first(ends: str) -> None:
    with applications("TRIGTYPE(FIRST)") as (application, server):
        monitor = Monitor()
        application.put("APP")
        assert monitor.triggered() == ["APP"]
        if ends == "dies":
            killed(f'server = pymqi.Queue(manager, "APP", CMQC.MQOO_INPUT_SHARED)\n{GET_UNDER_SYNCPOINT}')
        else:
            opened = server.open("APP", INPUT)
            server.get(opened, CMQC.MQGMO_SYNCPOINT)
            assert explained().state("T12") == "unknown"
            assert "when the last program closes the queue and at least 1 message is left" in found_of("T12")
            steps = {"backs out": server.manager.backout, "closes": opened.close}
            first, then = ends.split(", ")
            steps[first]()
            before = look()
            steps[then]()
            seen = trigger_message_made(before, look())
            assert seen == ("" if then == "backs out" else CLOSED)
        assert monitor.triggered() == ([] if ends == "closes, backs out" else ["APP"])
        assert explained().state("T03") == "fails"  # the message is there: the next one makes no trigger message
        assert not next_message_triggers(application)
        monitor.stop()


@pytest.mark.parametrize(
    ("broken", "mended", "why"),
    [
        ("ALTER QLOCAL(APP) NOTRIGGER", "ALTER QLOCAL(APP) TRIGGER", "triggering was switched on"),
        (
            "ALTER QLOCAL(IQ) PUT(DISABLED)",
            "ALTER QLOCAL(IQ) PUT(ENABLED)",
            "queue are allowed again (T13a)",
        ),
        ("ALTER QLOCAL(APP) GET(DISABLED)", "ALTER QLOCAL(APP) GET(ENABLED)", "gets are allowed again (T13b)"),
        ("", "", "a trigger monitor has opened the initiation queue (T13c)"),
    ],
)
def test_T13_T13a_T13b_T13c_what_makes_a_trigger_message_of_the_messages_that_are_there(
    broken: str, mended: str, why: str
) -> None:
    with applications("TRIGTYPE(FIRST)", "zos") as (application, _server):
        run_mqsc(broken) if broken else None
        monitor = Monitor() if broken else None
        application.put("APP")
        assert not (monitor and monitor.messages())
        before = look()
        assert not explained().would_trigger
        run_mqsc(mended) if mended else None
        monitor = monitor or Monitor()
        assert why in trigger_message_made(before, look())
        assert len(monitor.messages()) == 1
        assert trigger_message_made(look(), look()) == ""
        monitor.stop()


def test_T15_such_a_trigger_message_waits_for_no_unit_of_work_and_every_makes_one() -> None:
    with applications("NOTRIGGER TRIGTYPE(EVERY)") as (application, server):
        monitor = Monitor()
        for _ in range(5):
            application.put("APP")
        server.put("APP", options=SYNCPOINT)
        assert "a unit of work is open" in found_of("T10a")
        before = look()
        alter("TRIGGER")
        assert "triggering was switched on" in trigger_message_made(before, look())
        assert monitor.triggered() == ["APP"]
        server.manager.backout()
        assert monitor.triggered() == []
        monitor.stop()


def test_T16_each_segment_counts_from_when_all_are_there() -> None:
    with applications("TRIGTYPE(DEPTH) TRIGDPTH(3)") as (application, _server):
        monitor = Monitor()
        opened = application.open("APP", OUTPUT)
        for flags, to_come in ((CMQC.MQMF_SEGMENT, 2), (CMQC.MQMF_LAST_SEGMENT, 1)):
            md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags)
            opened.put(b"x" * 16, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT | CMQC.MQPMO_LOGICAL_ORDER))
            assert explained().would_trigger == (to_come == 1)
            assert f"{3 - to_come} message" in found_of("T03")
        assert monitor.triggered() == []
        assert next_message_triggers(application)
        monitor.stop()
