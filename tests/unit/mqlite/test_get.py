"""MQGET: order, matching, truncation, waiting, and what it refuses."""

from __future__ import annotations

import threading
import time

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, refused, run_mqsc
from pymqi import CMQC


def test_priority_then_arrival(application: Application) -> None:
    for body, priority in ((b"low 1", 1), (b"high 1", 7), (b"low 2", 1), (b"high 2", 7)):
        application.put("Q1", body, Priority=priority)
    assert application.bodies("Q1") == [b"high 1", b"high 2", b"low 1", b"low 2"]


def test_fifo_takes_no_notice_of_priority(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MSGDLVSQ(FIFO)")
    for body, priority in ((b"a", 1), (b"b", 7), (b"c", 9)):
        application.put("Q1", body, Priority=priority)
    assert [application.get("Q1")[1] for _ in range(3)] == [b"a", b"b", b"c"]


def test_empty_queue(application: Application) -> None:
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1")


@pytest.mark.parametrize("field", ["MsgId", "CorrelId"])
def test_match_by_identifier(application: Application, field: str) -> None:
    wanted = b"W" * 24
    application.put("Q1", b"other", **{field: b"O" * 24})
    application.put("Q1", b"wanted", **{field: wanted})
    md, body = application.get("Q1", **{field: wanted})
    assert body == b"wanted"
    assert md[field] == wanted
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("Q1", **{field: wanted})
    assert application.get("Q1")[1] == b"other"


def test_match_none_ignores_identifiers(application: Application) -> None:
    application.put("Q1", b"any")
    opened = application.open("Q1")
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, MatchOptions=CMQC.MQMO_NONE, Options=CMQC.MQGMO_NO_SYNCPOINT)
    assert opened.get(None, pymqi.MD(MsgId=b"Z" * 24), gmo) == b"any"


def test_match_by_group_and_sequence(application: Application) -> None:
    for number in (1, 2, 3):
        application.put("Q1", b"%d" % number, GroupId=b"G" * 24, MsgSeqNumber=number, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
    opened = application.open("Q1")
    gmo = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        MatchOptions=CMQC.MQMO_MATCH_GROUP_ID | CMQC.MQMO_MATCH_MSG_SEQ_NUMBER,
        Options=CMQC.MQGMO_NO_SYNCPOINT,
    )
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, GroupId=b"G" * 24, MsgSeqNumber=2)
    assert opened.get(None, md, gmo) == b"2"
    assert md.MsgFlags == CMQC.MQMF_MSG_IN_GROUP


def test_match_by_token(application: Application) -> None:
    for body in (b"a", b"b"):
        application.put("Q1", body)
    opened = application.open("Q1")
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_3, Options=CMQC.MQGMO_BROWSE_NEXT)
    opened.get(None, pymqi.MD(), gmo)
    opened.get(None, pymqi.MD(), gmo)
    token = gmo.MsgToken
    again = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_3,
        MatchOptions=CMQC.MQMO_MATCH_MSG_TOKEN,
        MsgToken=token,
        Options=CMQC.MQGMO_NO_SYNCPOINT,
    )
    assert opened.get(None, pymqi.MD(), again) == b"b"
    again.Options = CMQC.MQGMO_NO_SYNCPOINT
    again.MsgToken = b"\xff" * 16
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        opened.get(None, pymqi.MD(), again)


def test_match_by_group_needs_a_version_2_descriptor(application: Application) -> None:
    opened = application.open("Q1")
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID)
    with refused(CMQC.MQRC_WRONG_MD_VERSION):
        opened.get(None, pymqi.MD(Version=CMQC.MQMD_VERSION_1), gmo)


def test_message_longer_than_the_buffer_stays(application: Application) -> None:
    application.put("Q1", b"0123456789")
    opened = application.open("Q1")
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED) as caught:
        opened.get(4, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT))
    assert caught.value.original_length == 10
    assert caught.value.message == b"0123"
    assert application.depth("Q1") == 1


def test_truncation_accepted_takes_the_message(application: Application) -> None:
    application.put("Q1", b"0123456789")
    opened = application.open("Q1")
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_3, Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG)
    with refused(CMQC.MQRC_TRUNCATED_MSG_ACCEPTED) as caught:
        opened.get(4, pymqi.MD(), gmo)
    assert (caught.value.message, caught.value.original_length) == (b"0123", 10)
    assert application.depth("Q1") == 0


def test_wait_ends_with_the_interval(application: Application) -> None:
    opened = application.open("Q1")
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=100)
    before = time.monotonic()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        opened.get(None, pymqi.MD(), gmo)
    assert time.monotonic() - before >= 0.1


def test_wait_ends_with_a_message(application: Application) -> None:
    opened = application.open("Q1")
    other = Application()
    thread = threading.Timer(0.05, lambda: other.put("Q1", b"late"))
    thread.start()
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=CMQC.MQWI_UNLIMITED)
    assert opened.get(None, pymqi.MD(), gmo) == b"late"
    thread.join()
    other.manager.disconnect()


def test_wait_ends_when_gets_are_inhibited(application: Application) -> None:
    opened = application.open("Q1")
    thread = threading.Timer(0.05, lambda: run_mqsc("ALTER QLOCAL(Q1) GET(DISABLED)"))
    thread.start()
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
    with refused(CMQC.MQRC_GET_INHIBITED):
        opened.get(None, pymqi.MD(), gmo)
    thread.join()


def test_interval_below_minus_one(application: Application) -> None:
    opened = application.open("Q1")
    with refused(CMQC.MQRC_WAIT_INTERVAL_ERROR):
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=-2))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (0x40000000, CMQC.MQRC_OPTIONS_ERROR),  # no such option
        (CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_BROWSE_NEXT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_SYNCPOINT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_LOCK, CMQC.MQRC_OPTIONS_ERROR),  # without browse
        (CMQC.MQGMO_UNLOCK | CMQC.MQGMO_WAIT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_MSG_UNDER_CURSOR, CMQC.MQRC_NO_MSG_UNDER_CURSOR),  # no browse yet
        (CMQC.MQGMO_MSG_UNDER_CURSOR | CMQC.MQGMO_WAIT, CMQC.MQRC_NO_MSG_UNDER_CURSOR),  # there is nothing to wait for
        (CMQC.MQGMO_UNLOCK, CMQC.MQRC_NO_MSG_LOCKED),
    ],
)
def test_options_that_do_not_go_together(application: Application, options: int, reason: int) -> None:
    opened = application.open("Q1")
    with refused(reason):
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=options))


@pytest.mark.parametrize(
    ("opened_for", "options", "reason"),
    [
        (OUTPUT, CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQRC_NOT_OPEN_FOR_INPUT),
        (BROWSE, CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQRC_NOT_OPEN_FOR_INPUT),
        (INPUT, CMQC.MQGMO_BROWSE_NEXT, CMQC.MQRC_NOT_OPEN_FOR_BROWSE),
    ],
)
def test_what_the_handle_was_not_opened_for(
    application: Application, opened_for: int, options: int, reason: int
) -> None:
    opened = application.open("Q1", opened_for)
    with refused(reason):
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=options))


@pytest.mark.parametrize(
    "options",
    [
        CMQC.MQGMO_NO_SYNCPOINT,
        CMQC.MQGMO_BROWSE_FIRST,
        CMQC.MQGMO_MSG_UNDER_CURSOR,  # the handle has not browsed: the queue is asked before the cursor
    ],
)
def test_get_inhibited(application: Application, options: int) -> None:
    application.put("Q1")
    opened = application.open("Q1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
    run_mqsc("ALTER QLOCAL(Q1) GET(DISABLED)")
    with refused(CMQC.MQRC_GET_INHIBITED):
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=options))


@pytest.mark.parametrize(("md", "gmo", "reason"), [(3, 1, CMQC.MQRC_MD_ERROR), (1, 9, CMQC.MQRC_GMO_ERROR)])
def test_structures_of_unknown_versions(application: Application, md: int, gmo: int, reason: int) -> None:
    opened = application.open("Q1")
    descriptor, options = pymqi.MD(), pymqi.GMO()
    descriptor["Version"], options["Version"] = md, gmo
    with refused(reason):
        opened.get(None, descriptor, options)


def test_version_1_getter_finds_version_2_fields_in_an_mqmde(application: Application) -> None:
    application.put(
        "Q1", b"data", GroupId=b"G" * 24, MsgSeqNumber=5, MsgFlags=CMQC.MQMF_MSG_IN_GROUP, Format=CMQC.MQFMT_STRING
    )
    opened = application.open("Q1")
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_1)
    body = opened.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT))
    assert md.Format == CMQC.MQFMT_MD_EXTENSION
    assert body[:4] == b"MDE "
    assert body[20:28] == CMQC.MQFMT_STRING
    assert body[32:56] == b"G" * 24
    assert body[72:] == b"data"


def test_version_1_getter_of_a_plain_message_gets_no_mqmde(application: Application) -> None:
    application.put("Q1", b"data", Format=CMQC.MQFMT_STRING)
    opened = application.open("Q1")
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_1)
    assert opened.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)) == b"data"
    assert md.Format == CMQC.MQFMT_STRING


@pytest.mark.parametrize("puts", [0, 2])
def test_units_of_work_end_at_maxumsgs_with_what_was_put_in_them(application: Application, puts: int) -> None:
    run_mqsc("ALTER QMGR MAXUMSGS(3)\nDEFINE QLOCAL(Q2)")
    for _ in range(4):
        application.put("Q1")
    for _ in range(puts):
        application.put("Q2", options=CMQC.MQPMO_SYNCPOINT)
    opened = application.open("Q1")
    for _ in range(3 - puts):
        application.get(opened, CMQC.MQGMO_SYNCPOINT)
    with refused(CMQC.MQRC_SYNCPOINT_LIMIT_REACHED):
        application.get(opened, CMQC.MQGMO_SYNCPOINT)
    application.manager.commit()
    assert (application.depth("Q1"), application.depth("Q2")) == (1 + puts, puts)


@pytest.mark.parametrize(
    ("ccsid", "raw", "text"),
    [
        (930, "869662c10e4f5848f20f", "ｶﾅaA漢字"),
        (1383, "babad7d641", "汉字A"),
        (924, "519fb8c1", "é€œA"),
    ],
)
def test_code_pages_of_hosts_are_converted(application: Application, ccsid: int, raw: str, text: str) -> None:
    data = bytes.fromhex(raw)
    application.put("Q1", data, Format=CMQC.MQFMT_STRING, CodedCharSetId=ccsid)
    convert = CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_CONVERT
    md, body = application.get("Q1", convert, CodedCharSetId=1208)
    assert (md["CodedCharSetId"], body) == (1208, text.encode())
    application.put("Q1", body, Format=CMQC.MQFMT_STRING, CodedCharSetId=1208)
    assert application.get("Q1", convert, CodedCharSetId=ccsid)[1] == data


@pytest.mark.parametrize(("ccsid", "wanted"), [(1377, 1208), (1208, 1377), (300, 1208)])
def test_a_code_page_without_a_table_is_not_converted(application: Application, ccsid: int, wanted: int) -> None:
    application.put("Q1", "漢".encode(), Format=CMQC.MQFMT_STRING, CodedCharSetId=ccsid)
    with refused(CMQC.MQRC_NOT_CONVERTED) as caught:
        application.get("Q1", CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_CONVERT, CodedCharSetId=wanted)
    assert caught.value.message == "漢".encode()
