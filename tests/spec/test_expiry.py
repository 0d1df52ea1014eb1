"""SPEC E: expiry as the queue manager keeps it, seen through pymqi."""

from __future__ import annotations

import pymqi
import pytest
from mq_support import time_goes_by
from mqlite_support import BROWSE, INPUT, Application, expire, refused, run_mqsc
from pymqi import CMQC

from mqwire.structures import MQMD, MQXQH

NEXT, LOCK = CMQC.MQGMO_BROWSE_NEXT, CMQC.MQGMO_LOCK
FULL_DATA, DATA, PLAIN = (
    CMQC.MQRO_EXPIRATION_WITH_FULL_DATA,
    CMQC.MQRO_EXPIRATION_WITH_DATA,
    CMQC.MQRO_EXPIRATION,
)
TRIGGERED = "DEFINE QLOCAL(INIT)\nDEFINE PROCESS(P)\nALTER QLOCAL(Q1) TRIGGER INITQ(INIT) PROCESS(P)"
XQH = MQXQH(remote_q_name="X", remote_q_mgr_name="QM2", msg_desc=MQMD(version=1)).pack()
INNER_EXPIRY = MQXQH.LAYOUT.size - MQMD.LAYOUT.length(1) + MQMD.LAYOUT.offset("Expiry")


@pytest.mark.parametrize("expiry", [0, -2, 1_000_000_000])
def test_E01_values_that_are_no_expiry(application: Application, expiry: int) -> None:
    with refused(CMQC.MQRC_EXPIRY_ERROR):
        application.put("Q1", Expiry=expiry)
    opened = application.open("Q1")
    with refused(CMQC.MQRC_EXPIRY_ERROR):
        opened.put(b"x", pymqi.MD(Expiry=expiry))


def test_E01_unlimited_never_expires(application: Application) -> None:
    application.put("Q1", Expiry=CMQC.MQEI_UNLIMITED)
    assert application.get("Q1")[0].Expiry == CMQC.MQEI_UNLIMITED


def test_E02_what_remains_is_returned(application: Application) -> None:
    application.put("Q1", Expiry=10_000)
    expire()
    md, _ = application.get("Q1")
    assert 9_000 < md.Expiry < 10_000


def test_E02_is_greater_than_zero_to_the_very_end(application: Application) -> None:
    opened, seen = application.open("Q1"), set()
    for _ in range(20):  # until it was looked at in the last tenth of a second
        application.put("Q1", Expiry=2)
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            while True:
                seen.add(application.get(opened, CMQC.MQGMO_BROWSE_FIRST)[0].Expiry)
        if 1 in seen:
            break
    assert 1 in seen
    assert min(seen) == 1


def test_E02_counts_down_on_a_transmission_queue(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)")
    application.put("R", Expiry=10_000)
    expire()
    md, body = application.get("QM2")
    assert 9_000 < md.Expiry < 10_000
    assert 9_000 < MQXQH.unpack(body).msg_desc.expiry < 10_000


def test_E03_fifo_get_discards_up_to_the_first_live_message(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MSGDLVSQ(FIFO)")
    for body, expiry in ((b"1", 1), (b"2", 1), (b"live", -1), (b"3", 1)):
        application.put("Q1", body, Expiry=expiry)
    expire()
    assert application.depth("Q1") == 4
    assert application.get("Q1")[1] == b"live"
    assert application.depth("Q1") == 1


def test_E03_priority_get_discards_those_of_higher_priority_too(application: Application) -> None:
    for body, priority, expiry in ((b"h", 9, 1), (b"m", 5, 1), (b"live", 5, -1), (b"later", 5, 1), (b"low", 1, 1)):
        application.put("Q1", body, Priority=priority, Expiry=expiry)
    expire()
    assert application.get("Q1")[1] == b"live"
    assert application.depth("Q1") == 2


def test_E03_get_by_identifier_discards_what_it_would_have_returned(application: Application) -> None:
    application.put("Q1", b"other", Expiry=1, MsgId=b"O" * 24)
    application.put("Q1", b"wanted", Expiry=1, MsgId=b"W" * 24)
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1", MsgId=b"W" * 24)
    assert application.depth("Q1") == 1


def test_E04_expired_message_is_neither_browsed_nor_got(application: Application) -> None:
    application.put("Q1", b"x", Expiry=1)
    opened = application.open("Q1")
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened, NEXT)
    application.put("Q1", b"y", Expiry=1)
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened)


def test_E05_counts_in_the_depth_until_it_is_discarded(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MAXDEPTH(1)")
    application.put("Q1", b"x", Expiry=1)
    expire()
    assert application.depth("Q1") == 1
    with refused(CMQC.MQRC_Q_FULL):
        application.put("Q1", b"y")
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1")
    assert application.depth("Q1") == 0
    application.put("Q1", b"y")


def test_E05_counts_for_depth_triggering(application: Application) -> None:
    run_mqsc(f"{TRIGGERED} TRIGTYPE(DEPTH) TRIGDPTH(2)")
    monitor = application.open("INIT", INPUT)
    application.put("Q1", Expiry=1)
    expire()
    application.put("Q1")
    assert application.get(monitor)[1][:4] == b"TM  "


@pytest.mark.parametrize(("option", "kept"), [(PLAIN, 0), (DATA, 100), (FULL_DATA, 250)])
def test_E06_report_at_the_discard(application: Application, option: int, kept: int) -> None:
    run_mqsc("DEFINE QLOCAL(REPORTS)")
    body = bytes(range(250))
    sent = application.put(
        "Q1", body, Expiry=1, Report=option, ReplyToQ=b"REPORTS", CorrelId=b"C" * 24, Priority=7, Persistence=1
    )
    expire()
    assert application.depth("REPORTS") == 0
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1")
    md, data = application.get("REPORTS")
    assert data == body[:kept]
    assert (md.MsgType, md.Feedback) == (CMQC.MQMT_REPORT, CMQC.MQFB_EXPIRATION)
    assert md.CorrelId == sent.MsgId
    assert md.MsgId not in (sent.MsgId, bytes(24))
    assert (md.Priority, md.Persistence, md.Expiry, md.Report) == (7, 1, CMQC.MQEI_UNLIMITED, 0)
    assert (md.PutApplType, md.PutApplName.strip()) == (CMQC.MQAT_QMGR, b"QM1")
    assert md.UserIdentifier == sent.UserIdentifier


def test_E06_identifiers_passed_on_request(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(REPORTS)")
    options = PLAIN | CMQC.MQRO_PASS_MSG_ID | CMQC.MQRO_PASS_CORREL_ID
    sent = application.put("Q1", Expiry=1, Report=options, ReplyToQ=b"REPORTS", CorrelId=b"C" * 24)
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1")
    md, _ = application.get("REPORTS")
    assert (md.MsgId, md.CorrelId) == (sent.MsgId, b"C" * 24)


def test_E06_report_that_has_no_place(application: Application) -> None:
    run_mqsc("ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)")
    for persistence in (0, 1):
        application.put("Q1", Expiry=1, Report=PLAIN, ReplyToQ=b"NOWHERE", Persistence=persistence)
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1")
    assert application.depth("SYSTEM.DEAD.LETTER.QUEUE") == 1
    md, body = application.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert md.Persistence == 1
    assert int.from_bytes(body[8:12], "little") == CMQC.MQRC_UNKNOWN_OBJECT_NAME


def test_E07_discard_and_report_are_outside_the_unit_of_work(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(REPORTS)")
    application.put("Q1", b"old", Expiry=1, Report=PLAIN, ReplyToQ=b"REPORTS")
    application.put("Q1", b"live")
    expire()
    opened = application.open("Q1")
    assert application.get(opened, CMQC.MQGMO_SYNCPOINT)[1] == b"live"
    assert application.depth("REPORTS") == 1
    application.manager.backout()
    assert application.depth("Q1") == 1
    assert application.depth("REPORTS") == 1


def test_E08_trigger_messages_never_expire(application: Application) -> None:
    run_mqsc(f"{TRIGGERED} TRIGTYPE(FIRST)")
    monitor = application.open("INIT", INPUT)
    application.put("Q1", Expiry=1)
    expire()
    assert application.get(monitor)[0].Expiry == CMQC.MQEI_UNLIMITED


def test_E09_backed_out_message_may_have_expired(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    application.put("Q1", Expiry=6000)
    opened = application.open("Q1")
    application.get(opened, CMQC.MQGMO_SYNCPOINT)
    time_goes_by(monkeypatch, 6000)
    application.manager.backout()
    assert application.depth("Q1") == 1
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened)


def test_E10_locked_message_may_expire(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    application.put("Q1", Expiry=6000)
    opened = application.open("Q1", INPUT | BROWSE)
    application.get(opened, NEXT | LOCK)
    time_goes_by(monkeypatch, 6000)
    with refused(CMQC.MQRC_NO_MSG_UNDER_CURSOR):
        application.get(opened, CMQC.MQGMO_MSG_UNDER_CURSOR)
    assert application.depth("Q1") == 0


def test_E11_forwarded_message_goes_on_counting(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    application.put("Q1", Expiry=1000)
    expire()
    md, body = application.get("Q1")
    application.put("Q2", body, Expiry=md.Expiry)
    expire()
    assert application.get("Q2")[0].Expiry < md.Expiry < 1000


def test_E13_both_expiries_are_set_and_both_count_down(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)")
    application.put("R", Expiry=1000)
    opened = application.open("QM2")
    md, body = application.get(opened, NEXT)
    assert MQXQH.unpack(body).msg_desc.expiry in (md.Expiry, md.Expiry + 1)
    expire()
    later, body = application.get(opened)
    assert later.Expiry < md.Expiry
    assert abs(MQXQH.unpack(body).msg_desc.expiry - later.Expiry) <= 1


def test_E13_outer_expiry_decides_and_the_inner_one_becomes_zero(application: Application) -> None:
    header = MQXQH(remote_q_name="X", remote_q_mgr_name="QM2", msg_desc=MQMD(version=1, expiry=1)).pack()
    application.put("Q1", header + b"data", Expiry=1000, Format=CMQC.MQFMT_XMIT_Q_HEADER)
    expire()
    md, body = application.get("Q1")
    assert md.Expiry > 900
    assert MQXQH.unpack(body).msg_desc.expiry == 0


def test_E13_data_too_short_for_the_field(application: Application) -> None:
    application.put("Q1", b"XQH short", Expiry=1000, Format=CMQC.MQFMT_XMIT_Q_HEADER)
    assert application.get("Q1")[1] == b"XQH short"


def test_E13_data_that_are_no_MQXQH_stay_as_they_are(application: Application) -> None:
    body = b"DLH " + bytes(116) + b"R   " + bytes(500)
    application.put("Q1", body, Expiry=1000, Format=CMQC.MQFMT_XMIT_Q_HEADER)
    expire()
    assert application.get("Q1")[1] == body


@pytest.mark.parametrize(("inner", "outer"), [(0, 100), (-5, 100), (100, -1), (-1, 100), (1_000_000_000, 100)])
def test_E14_inconsistent_expiries_are_refused(application: Application, inner: int, outer: int) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    header = bytearray(XQH)
    header[INNER_EXPIRY : INNER_EXPIRY + 4] = inner.to_bytes(4, "little", signed=True)
    with refused(CMQC.MQRC_EXPIRY_ERROR):
        application.put("QM2", bytes(header), Expiry=outer, Format=CMQC.MQFMT_XMIT_Q_HEADER)


@pytest.mark.parametrize(
    ("header", "format_name"),
    [
        (XQH, CMQC.MQFMT_STRING),
        (XQH, CMQC.MQFMT_NONE),
        (XQH[:-1], CMQC.MQFMT_XMIT_Q_HEADER),
        (b"DLH " + XQH[4:], CMQC.MQFMT_XMIT_Q_HEADER),
        (XQH[:4] + b"\2" + XQH[5:], CMQC.MQFMT_XMIT_Q_HEADER),
    ],
)
def test_E14_what_is_put_to_a_transmission_queue_is_an_MQXQH(
    application: Application, header: bytes, format_name: bytes
) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    with refused(CMQC.MQRC_XQH_ERROR):
        application.put("QM2", header, Format=format_name)
    assert application.depth("QM2") == 0


def test_E14_consistent_expiries_are_taken(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    header = MQXQH(remote_q_name="X", remote_q_mgr_name="QM2", msg_desc=MQMD(version=1, expiry=50)).pack()
    application.put("QM2", header, Expiry=100, Format=CMQC.MQFMT_XMIT_Q_HEADER)
    assert application.depth("QM2") == 1


def test_E12_message_expires_on_its_transmission_queue(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)\nDEFINE QLOCAL(REPORTS)")
    sent = application.put("R", b"data", Expiry=1, Report=FULL_DATA, ReplyToQ=b"REPORTS")
    expire()
    assert application.depth("QM2") == 1
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("QM2")
    assert application.depth("QM2") == 0
    md, body = application.get("REPORTS")
    assert (md.Feedback, md.CorrelId, body) == (CMQC.MQFB_EXPIRATION, sent.MsgId, b"data")


@pytest.mark.parametrize(("asked", "given"), [(CMQC.MQEI_UNLIMITED, 500), (9999, 500), (300, 300)])
@pytest.mark.parametrize("opened", ["Q1", "A1"])
def test_CAPEXPRY_is_the_lowest_on_the_way(application: Application, opened: str, asked: int, given: int) -> None:
    run_mqsc("ALTER QLOCAL(Q1) CAPEXPRY(500)\nDEFINE QALIAS(A1) TARGET(Q1) CAPEXPRY(800)")
    application.put(opened, Expiry=asked)
    assert given - 50 < application.get("Q1")[0].Expiry <= given


def test_CAPEXPRY_of_an_alias_and_of_those_put_before(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A1) TARGET(Q1)")
    opened = application.open("A1", CMQC.MQOO_OUTPUT)
    opened.put(b"before")
    run_mqsc("ALTER QALIAS(A1) CAPEXPRY(800)")
    opened.put(b"after")
    assert application.get("Q1")[0].Expiry == CMQC.MQEI_UNLIMITED
    assert 0 < application.get("Q1")[0].Expiry <= 800


def test_E13_CAPEXPRY_caps_both_expiries_of_a_remote_put(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2) CAPEXPRY(700)")
    application.put("R")
    md, body = application.get("QM2")
    assert 0 < md.Expiry <= 700
    assert 0 < MQXQH.unpack(body).msg_desc.expiry <= 700
