"""SPEC K: skipping back-out on a z/OS-like queue manager, and the refusal of one that has no such option."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqlite_support import INPUT, Application, make, refused, run_mqsc
from pymqi import CMQC

UNDER_SYNCPOINT = CMQC.MQGMO_SYNCPOINT
MARK = UNDER_SYNCPOINT | CMQC.MQGMO_MARK_SKIP_BACKOUT
QUEUES = "DEFINE QLOCAL(Q1) SHARE DEFSOPT(SHARED)\nDEFINE QLOCAL(Q2)\nDEFINE QLOCAL(REPORTS)"
TRIGGER = "INITQ(INIT) PROCESS(P)"
GETS_AND_DIES = """
import os, sys, pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
queue = pymqi.Queue(manager, "Q1", CMQC.MQOO_INPUT_SHARED)
options = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_MARK_SKIP_BACKOUT
queue.get(None, pymqi.MD(), pymqi.GMO(Options=options))
if "back out" in sys.argv:
    manager.backout()
os._exit(0)
"""


@pytest.fixture
def zos(home: Path) -> Iterator[Application]:
    """A connection to a z/OS-like QM1 with queues Q1, Q2 and REPORTS."""
    make("QM1", QUEUES, platform="zos")
    made = Application()
    yield made
    if made.manager.is_connected:
        made.manager.disconnect()


def test_K01_back_out_restores_everything(zos: Application) -> None:
    zos.put("Q1", b"1")
    opened = zos.open("Q1")
    zos.get(opened, UNDER_SYNCPOINT)
    zos.put("Q2", b"out", options=CMQC.MQPMO_SYNCPOINT)
    zos.manager.backout()
    assert (zos.bodies("Q1"), zos.bodies("Q2")) == ([b"1"], [])
    assert zos.get(opened)[0].BackoutCount == 1


def test_K02_marked_message_passes_to_a_new_unit_of_work(zos: Application) -> None:
    for body in (b"marked", b"other"):
        zos.put("Q1", body)
    opened = zos.open("Q1")
    assert zos.get(opened, MARK)[1] == b"marked"
    assert zos.get(opened, UNDER_SYNCPOINT)[1] == b"other"
    zos.put("Q2", b"out", options=CMQC.MQPMO_SYNCPOINT)
    zos.manager.backout()
    assert (zos.bodies("Q1"), zos.depth("Q1"), zos.depth("Q2")) == ([b"other"], 1, 0)


def test_K02_other_applications_do_not_see_it_meanwhile(zos: Application) -> None:
    zos.put("Q1")
    opened = zos.open("Q1")
    zos.get(opened, MARK)
    zos.manager.backout()
    other = Application()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        other.get("Q1")
    other.manager.disconnect()


def test_K02_without_a_back_out_it_is_a_get_like_any_other(zos: Application) -> None:
    zos.put("Q1", Persistence=1)
    zos.get(zos.open("Q1"), MARK)
    zos.manager.commit()
    assert zos.depth("Q1") == 0
    zos.manager.backout()
    assert zos.depth("Q1") == 0


@pytest.mark.parametrize("persistence", [0, 1])
def test_K03_new_unit_of_work_committed(zos: Application, persistence: int) -> None:
    zos.put("Q1", Persistence=persistence)
    zos.get(zos.open("Q1"), MARK)
    zos.manager.backout()
    zos.put("Q2", b"it failed", options=CMQC.MQPMO_SYNCPOINT)
    zos.manager.commit()
    assert (zos.depth("Q1"), zos.bodies("Q2")) == (0, [b"it failed"])
    zos.manager.backout()
    assert zos.depth("Q1") == 0


def test_K03_new_unit_of_work_backed_out(zos: Application) -> None:
    zos.put("Q1", b"marked")
    opened = zos.open("Q1")
    zos.get(opened, MARK)
    zos.manager.backout()
    zos.put("Q2", b"it failed", options=CMQC.MQPMO_SYNCPOINT)
    zos.manager.backout()
    assert (zos.depth("Q1"), zos.depth("Q2")) == (1, 0)
    other = Application()
    md, body = other.get("Q1")
    other.manager.disconnect()
    assert (md.BackoutCount, body) == (1, b"marked")


def test_K03_confirmation_of_delivery_goes_with_the_marked_message(zos: Application) -> None:
    zos.put("Q1", Report=CMQC.MQRO_COD, ReplyToQ=b"REPORTS")
    zos.get(zos.open("Q1"), MARK)
    zos.manager.backout()
    assert zos.bodies("REPORTS") == []
    zos.manager.commit()
    assert zos.bodies("REPORTS") == [b""]


@pytest.mark.parametrize("kind", ["FIRST", "EVERY"])
def test_K03_trigger_event_of_that_confirmation_too(zos: Application, kind: str) -> None:
    run_mqsc(f"DEFINE QLOCAL(INIT)\nDEFINE PROCESS(P)\nALTER QLOCAL(REPORTS) TRIGGER {TRIGGER} TRIGTYPE({kind})")
    monitor = zos.open("INIT", INPUT)
    zos.put("Q1", Report=CMQC.MQRO_COD, ReplyToQ=b"REPORTS")
    zos.get(zos.open("Q1"), MARK)
    zos.manager.backout()
    zos.manager.commit()
    assert (zos.depth("REPORTS"), zos.depth("INIT")) == (1, 1)
    assert zos.get(monitor)[1][:4] == "TM  ".encode("cp500")


def test_K03_place_in_a_group_is_behind_the_marked_message(zos: Application) -> None:
    for sequence, flags in ((1, CMQC.MQMF_MSG_IN_GROUP), (2, CMQC.MQMF_LAST_MSG_IN_GROUP)):
        zos.put("Q1", b"%d" % sequence, GroupId=b"G" * 24, MsgSeqNumber=sequence, MsgFlags=flags)
    opened = zos.open("Q1")
    zos.get(opened, MARK | CMQC.MQGMO_LOGICAL_ORDER)
    zos.manager.backout()
    assert zos.get(opened, UNDER_SYNCPOINT | CMQC.MQGMO_LOGICAL_ORDER)[1] == b"2"
    zos.manager.backout()
    assert zos.get(opened, CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_LOGICAL_ORDER)[1] == b"1"


def test_K04_second_mark_in_a_unit_of_work(zos: Application) -> None:
    for _ in range(3):
        zos.put("Q1")
    opened = zos.open("Q1")
    zos.get(opened, MARK)
    with refused(CMQC.MQRC_SECOND_MARK_NOT_ALLOWED):
        zos.get(opened, MARK)
    zos.manager.backout()
    zos.get(opened, MARK)  # what skipped the back-out is a get like any other in the new unit of work
    zos.manager.commit()
    assert zos.depth("Q1") == 1


def test_K04_get_that_found_nothing_is_no_mark(zos: Application) -> None:
    opened = zos.open("Q1")
    for _ in range(2):
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            zos.get(opened, MARK)


@pytest.mark.parametrize(
    "with_it",
    [
        CMQC.MQGMO_NO_SYNCPOINT,
        CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT,
        CMQC.MQGMO_NONE,  # the platform's default is syncpoint, but it has to be said
        CMQC.MQGMO_BROWSE_NEXT,
    ],
)
def test_K05_refused_without_syncpoint(zos: Application, with_it: int) -> None:
    zos.put("Q1")
    with refused(CMQC.MQRC_OPTIONS_ERROR):
        zos.get("Q1", with_it | CMQC.MQGMO_MARK_SKIP_BACKOUT)
    assert zos.depth("Q1") == 1


@pytest.mark.parametrize("then", ["die", "back out"])
def test_K06_crash_puts_the_message_back(zos: Application, then: str) -> None:
    zos.put("Q1", b"marked", Persistence=1)
    subprocess.run([sys.executable, "-c", GETS_AND_DIES, then], check=True)
    md, body = zos.get("Q1")
    assert (md.BackoutCount, body) == (1, b"marked")


@pytest.mark.parametrize("persistence", [0, 1])
def test_K06_disconnect_ends_the_first_unit_of_work_of_a_marked_message_as_any_other(
    zos: Application, persistence: int
) -> None:
    """MQDISC commits; the mark changes that in nothing."""
    for body in (b"marked", b"other"):
        zos.put("Q1", body, Persistence=persistence)
    other = Application()
    opened = other.open("Q1", INPUT)
    assert other.get(opened, MARK)[1] == b"marked"
    assert other.get(opened, UNDER_SYNCPOINT)[1] == b"other"
    other.put("Q2", b"out", options=CMQC.MQPMO_SYNCPOINT)
    other.manager.disconnect()
    assert (zos.depth("Q1"), zos.bodies("Q2")) == (0, [b"out"])


def test_K06_disconnect_ends_the_new_unit_of_work_as_any_other(zos: Application) -> None:
    zos.put("Q1")
    other = Application()
    other.get(other.open("Q1", INPUT), MARK)
    other.manager.backout()
    assert zos.bodies("Q1") == []
    other.manager.disconnect()
    assert zos.depth("Q1") == 0


def test_K07_refused_where_the_platform_has_no_such_option(application: Application) -> None:
    application.put("Q1")
    with refused(CMQC.MQRC_OPTIONS_ERROR):
        application.get("Q1", MARK)
    assert application.depth("Q1") == 1
