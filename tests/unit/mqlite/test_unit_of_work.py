"""Units of work: MQCMIT, MQBACK, MQDISC, and what others see meanwhile."""

from __future__ import annotations

import pymqi
import pytest
from mqlite_support import INPUT, OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC

GET = CMQC.MQGMO_SYNCPOINT
PUT = CMQC.MQPMO_SYNCPOINT


def test_K01_back_out_restores_puts_and_gets(application: Application) -> None:
    for body in (b"a", b"b", b"c"):
        application.put("Q1", body)
    application.put("Q1", b"new", options=PUT)
    opened = application.open("Q1")
    assert application.get(opened, GET)[1] == b"a"
    assert application.get(opened, GET)[1] == b"b"
    assert application.depth("Q1") == 2  # an uncommitted put counts, an uncommitted get does not
    application.manager.backout()
    assert application.bodies("Q1") == [b"a", b"b", b"c"]
    assert application.depth("Q1") == 3


def test_P07_backout_count(application: Application) -> None:
    application.put("Q1", b"poison")
    opened = application.open("Q1")
    for count in range(4):
        md, _ = application.get(opened, GET)
        assert md.BackoutCount == count
        application.manager.backout()
    assert application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[0].BackoutCount == 4


@pytest.mark.parametrize(("platform", "count"), [("unix", 257), ("zos", 255)])
def test_P07_backout_count_on_zos_stops_at_255(home: object, platform: str, count: int) -> None:
    make("QM1", "DEFINE QLOCAL(Q1) SHARE", platform=platform)
    application = Application()
    application.put("Q1", b"poison")
    opened = application.open("Q1")
    for _ in range(257):
        application.get(opened, GET)
        application.manager.backout()
    assert application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[0].BackoutCount == count
    assert application.get(opened)[0].BackoutCount == count
    application.manager.disconnect()


def test_P07_browsing_does_not_count(application: Application) -> None:
    application.put("Q1", b"x")
    opened = application.open("Q1")
    application.get(opened, CMQC.MQGMO_BROWSE_NEXT)
    application.manager.backout()
    assert application.get(opened, GET)[0].BackoutCount == 0


def test_committed_messages_are_gone_or_there(application: Application) -> None:
    application.put("Q1", b"a")
    opened = application.open("Q1")
    application.get(opened, GET)
    application.put("Q1", b"b", options=PUT)
    application.manager.commit()
    assert application.bodies("Q1") == [b"b"]


def test_order_is_kept_over_a_back_out(application: Application) -> None:
    for number in range(5):
        application.put("Q1", b"%d" % number)
    opened = application.open("Q1")
    for _ in range(3):
        application.get(opened, GET)
    application.manager.backout()
    assert application.bodies("Q1") == [b"0", b"1", b"2", b"3", b"4"]


def test_disconnect_commits(application: Application) -> None:
    other = Application()
    other.put("Q1", b"x", options=PUT)
    assert application.bodies("Q1") == []
    other.manager.disconnect()
    assert application.bodies("Q1") == [b"x"]


def test_close_leaves_the_unit_of_work_alone(application: Application) -> None:
    application.put("Q1", b"x")
    opened = application.open("Q1")
    application.get(opened, GET)
    opened.close()
    application.manager.backout()
    assert application.bodies("Q1") == [b"x"]


def test_syncpoint_if_persistent(application: Application) -> None:
    application.put("Q1", b"not", Persistence=CMQC.MQPER_NOT_PERSISTENT)
    application.put("Q1", b"yes", Persistence=CMQC.MQPER_PERSISTENT)
    opened = application.open("Q1")
    for _ in range(2):
        application.get(opened, CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT)
    application.manager.backout()
    assert application.bodies("Q1") == [b"yes"]


def test_truncated_message_stays_out_of_the_unit_of_work(application: Application) -> None:
    application.put("Q1", b"0123456789")
    opened = application.open("Q1")
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED):
        opened.get(3, pymqi.MD(), pymqi.GMO(Options=GET))
    application.manager.backout()
    assert application.get(opened, GET)[0].BackoutCount == 0


def test_unit_of_work_on_a_dynamic_queue_that_goes(application: Application) -> None:
    model = application.open("SYSTEM.DEFAULT.MODEL.QUEUE", INPUT | OUTPUT)
    model.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    application.get(model, GET)
    application.put("Q1", b"kept", options=PUT)
    model.close()
    application.manager.commit()
    assert application.bodies("Q1") == [b"kept"]


def test_several_queues_in_one_unit(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    application.put("Q1", b"moving")
    for end in (application.manager.backout, application.manager.commit):
        opened = application.open("Q1")
        body = application.get(opened, GET)[1]
        application.put("Q2", body, options=PUT)
        end()
    assert (application.bodies("Q1"), application.bodies("Q2")) == ([], [b"moving"])
