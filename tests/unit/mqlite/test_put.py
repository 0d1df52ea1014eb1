"""MQPUT and MQPUT1: what the queue manager fills in, and what it refuses."""

from __future__ import annotations

import errno
import os
import struct

import pymqi
import pytest
from mqlite_support import INPUT, OUTPUT, Application, refused, run_mqsc
from pymqi import CMQC


def test_message_comes_back_byte_for_byte(application: Application) -> None:
    body = bytes(range(256)) * 100
    application.put("Q1", body)
    assert application.get("Q1")[1] == body


def test_empty_message(application: Application) -> None:
    application.put("Q1", b"")
    assert application.get("Q1")[1] == b""


def test_identifiers_are_made_and_returned(application: Application) -> None:
    first, second = application.put("Q1"), application.put("Q1")
    assert first.MsgId[:8] == b"AMQ QM1 "
    assert first.MsgId != second.MsgId
    assert application.get("Q1")[0].MsgId == first.MsgId


def test_new_identifiers_on_request(application: Application) -> None:
    options = CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_NEW_CORREL_ID | CMQC.MQPMO_NO_SYNCPOINT
    md = application.put("Q1", MsgId=b"M" * 24, CorrelId=b"C" * 24, options=options)
    assert md.MsgId != b"M" * 24
    assert md.CorrelId not in (b"C" * 24, bytes(24))


def test_defaults_of_the_queue(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) DEFPSIST(YES) DEFPRTY(6)")
    application.put("Q1")
    md, _ = application.get("Q1")
    assert (md.Persistence, md.Priority) == (CMQC.MQPER_PERSISTENT, 6)


def test_queue_manager_ccsid_is_filled_in(application: Application) -> None:
    application.put("Q1", CodedCharSetId=CMQC.MQCCSI_Q_MGR)
    assert application.get("Q1")[0].CodedCharSetId == 1208


def test_reply_queue_manager_is_filled_in_for_the_getter(application: Application) -> None:
    md = application.put("Q1", ReplyToQ=b"REPLIES", MsgType=CMQC.MQMT_REQUEST)
    assert md.ReplyToQMgr.strip(b"\0 ") == b""
    assert application.get("Q1")[0].ReplyToQMgr.strip() == b"QM1"


def test_reply_to_alias(application: Application) -> None:
    run_mqsc("DEFINE QREMOTE(REPLY.ALIAS) RNAME(REAL.REPLIES) RQMNAME(OTHER)")
    application.put("Q1", ReplyToQ=b"REPLY.ALIAS", MsgType=CMQC.MQMT_REQUEST)
    md, _ = application.get("Q1")
    assert (md.ReplyToQ.strip(), md.ReplyToQMgr.strip()) == (b"REAL.REPLIES", b"OTHER")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("Feedback", -1, CMQC.MQRC_FEEDBACK_ERROR),
        ("Feedback", 1 << 30, CMQC.MQRC_FEEDBACK_ERROR),
        ("Priority", -2, CMQC.MQRC_PRIORITY_ERROR),
        ("Persistence", 7, CMQC.MQRC_PERSISTENCE_ERROR),
        ("MsgType", 0, CMQC.MQRC_MSG_TYPE_ERROR),
        ("MsgType", 65535, CMQC.MQRC_MSG_TYPE_ERROR),
        ("MsgType", CMQC.MQMT_REQUEST, CMQC.MQRC_MISSING_REPLY_TO_Q),
        ("Report", 1 << 29, CMQC.MQRC_REPORT_OPTIONS_ERROR),
        ("Report", 0x00400000, CMQC.MQRC_REPORT_OPTIONS_ERROR),  # data of a report that is not asked for
        ("Report", CMQC.MQRO_COA, CMQC.MQRC_MISSING_REPLY_TO_Q),
        ("MsgFlags", 0x4000, CMQC.MQRC_MSG_FLAGS_ERROR),
    ],
)
def test_descriptor_errors(application: Application, field: str, value: int, reason: int) -> None:
    with refused(reason):
        application.put("Q1", **{field: value})
    assert application.depth("Q1") == 0


def test_priority_above_the_highest_is_put_as_the_highest_with_a_warning(application: Application) -> None:
    for priority in (8, 9):
        application.put("Q1", b"%d" % priority, Priority=priority)
    with refused(CMQC.MQRC_PRIORITY_EXCEEDS_MAXIMUM) as caught:
        application.put("Q1", b"12", Priority=12)
    assert caught.value.comp == CMQC.MQCC_WARNING
    application.put("Q1", b"9 again", Priority=9)
    assert application.bodies("Q1") == [b"9", b"12", b"9 again", b"8"]
    application.get("Q1")
    assert application.get("Q1")[0].Priority == 12


@pytest.mark.parametrize(
    ("flags", "sequence", "offset", "reason"),
    [
        (CMQC.MQMF_MSG_IN_GROUP, 0, 0, CMQC.MQRC_MSG_SEQ_NUMBER_ERROR),
        (CMQC.MQMF_SEGMENT, 1, -1, CMQC.MQRC_OFFSET_ERROR),
    ],
)
def test_place_in_group_errors(application: Application, flags: int, sequence: int, offset: int, reason: int) -> None:
    with refused(reason):
        application.put("Q1", MsgFlags=flags, MsgSeqNumber=sequence, Offset=offset)


def test_group_identifier_is_made_where_none_was_given(application: Application) -> None:
    md = application.put("Q1", MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP, MsgSeqNumber=3)
    assert md.GroupId != bytes(24)
    assert application.get("Q1")[0].GroupId == md.GroupId


def test_a_message_of_no_group_has_no_group_identifier(application: Application) -> None:
    application.put("Q1", GroupId=b"G" * 24, MsgSeqNumber=5)
    md, _ = application.get("Q1")
    assert (md.GroupId, md.MsgSeqNumber) == (bytes(24), 1)


def test_queue_full(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MAXDEPTH(2)")
    for _ in range(2):
        application.put("Q1")
    with refused(CMQC.MQRC_Q_FULL):
        application.put("Q1")
    application.get("Q1")
    application.put("Q1")


def test_put_inhibited(application: Application) -> None:
    opened = application.open("Q1", OUTPUT)
    run_mqsc("ALTER QLOCAL(Q1) PUT(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        opened.put(b"x")


def test_message_longer_than_the_queue_takes(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MAXMSGL(10)")
    application.put("Q1", b"x" * 10)
    with refused(CMQC.MQRC_MSG_TOO_BIG_FOR_Q):
        application.put("Q1", b"x" * 11)


def test_message_longer_than_the_queue_manager_takes(application: Application) -> None:
    run_mqsc("ALTER QMGR MAXMSGL(40000)\nALTER QLOCAL(Q1) MAXMSGL(100000)")
    with refused(CMQC.MQRC_MSG_TOO_BIG_FOR_Q_MGR):
        application.put("Q1", b"x" * 40001)


def test_persistent_message_on_a_temporary_queue(application: Application) -> None:
    model = application.open("SYSTEM.DEFAULT.MODEL.QUEUE", INPUT | OUTPUT)
    with refused(CMQC.MQRC_PERSISTENT_NOT_ALLOWED):
        model.put(b"x", pymqi.MD(Persistence=CMQC.MQPER_PERSISTENT))


def test_not_open_for_output(application: Application) -> None:
    with refused(CMQC.MQRC_NOT_OPEN_FOR_OUTPUT):
        application.open("Q1", INPUT).put(b"x")


@pytest.mark.parametrize(
    "options",
    [
        0x40000000,
        CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NO_SYNCPOINT,
        CMQC.MQPMO_NO_CONTEXT | CMQC.MQPMO_DEFAULT_CONTEXT,
    ],
)
def test_options_errors(application: Application, options: int) -> None:
    with refused(CMQC.MQRC_OPTIONS_ERROR):
        application.put("Q1", options=options)


@pytest.mark.parametrize(("md", "pmo", "reason"), [(7, 1, CMQC.MQRC_MD_ERROR), (1, 7, CMQC.MQRC_PMO_ERROR)])
def test_structures_of_unknown_versions(application: Application, md: int, pmo: int, reason: int) -> None:
    descriptor, options = pymqi.MD(), pymqi.PMO()
    descriptor["Version"], options["Version"] = md, pmo
    with refused(reason):
        application.open("Q1", OUTPUT).put(b"x", descriptor, options)


def test_units_of_work_end_at_maxumsgs(application: Application) -> None:
    run_mqsc("ALTER QMGR MAXUMSGS(3)")
    for _ in range(3):
        application.put("Q1", options=CMQC.MQPMO_SYNCPOINT)
    with refused(CMQC.MQRC_SYNCPOINT_LIMIT_REACHED):
        application.put("Q1", options=CMQC.MQPMO_SYNCPOINT)
    application.manager.commit()
    assert application.depth("Q1") == 3


def test_version_1_putter_brings_version_2_fields_in_an_mqmde(application: Application) -> None:
    extension = (
        b"MDE " + struct.pack("<iiii8si", 2, 72, CMQC.MQENC_NATIVE, 1208, b"MQSTR   ", 0)
        + b"G" * 24 + struct.pack("<iiii", 7, 0, CMQC.MQMF_MSG_IN_GROUP, -1)
    )  # fmt: skip
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_1, Format=CMQC.MQFMT_MD_EXTENSION)
    application.manager.put1(b"Q1", extension + b"data", md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    got, body = application.get("Q1")
    assert body == b"data"
    assert (got.GroupId, got.MsgSeqNumber, got.Format) == (b"G" * 24, 7, CMQC.MQFMT_STRING)


@pytest.mark.parametrize("call", ["MQPUT", "MQPUT1"])
def test_a_persistent_message_outside_syncpoint_is_on_the_disk_when_its_put_is_answered(
    application: Application, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    other = Application()
    opened = other.open("Q1", OUTPUT)
    outside = pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT)

    def put(persistence: int) -> None:
        md = pymqi.MD(Persistence=persistence)
        if call == "MQPUT":
            opened.put(b"x", md, outside)
        else:
            other.manager.put1("Q1", b"x", md, outside)

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        put(CMQC.MQPER_NOT_PERSISTENT)
        with refused(CMQC.MQRC_CONNECTION_BROKEN):
            put(CMQC.MQPER_PERSISTENT)
