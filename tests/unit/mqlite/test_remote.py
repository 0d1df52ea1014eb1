"""Messages for other queue managers: what stands on the transmission queue."""

from __future__ import annotations

import pymqi
import pytest
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC

from mqwire.headers import walk
from mqwire.structures import MQXQH

QM2 = "DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(THEIR.QUEUE) RQMNAME(QM2) DEFPRTY(4)"


def test_remote_queue_definition(application: Application) -> None:
    run_mqsc(QM2)
    md = application.put("R", b"data", Format=CMQC.MQFMT_STRING, CorrelId=b"C" * 24, Persistence=1)
    outer, body = application.get("QM2")
    assert outer.Format == CMQC.MQFMT_XMIT_Q_HEADER
    assert outer.CorrelId == md.MsgId
    assert outer.Persistence == 1
    header = MQXQH.unpack(body)
    assert (header.remote_q_name, header.remote_q_mgr_name) == ("THEIR.QUEUE", "QM2")
    inner = header.msg_desc
    assert (inner.msg_id, inner.correl_id, inner.priority, inner.format) == (md.MsgId, b"C" * 24, 4, "MQSTR")
    assert inner.version == 1
    assert body[428:] == b"data"


def test_queue_manager_named_in_the_object_descriptor(application: Application) -> None:
    run_mqsc(QM2)
    application.open("ANY", CMQC.MQOO_OUTPUT, ObjectQMgrName=b"QM2").put(b"data")
    header = MQXQH.unpack(application.get("QM2")[1])
    assert (header.remote_q_name, header.remote_q_mgr_name) == ("ANY", "QM2")


@pytest.mark.parametrize(
    ("queue", "queue_manager", "resolved", "local"),
    [
        ("R", b"", (b"THEIR.QUEUE", b"QM2"), (b"QM2", b"QM1")),
        ("ALSO.R", b"", (b"THEIR.QUEUE", b"QM2"), (b"QM2", b"QM1")),
        ("ANY", b"QM2", (b"ANY", b"QM2"), (b"QM2", b"QM1")),
        ("ALSO.A", b"", (b"A", b"QM1"), (b"A", b"QM1")),
        ("A", b"MYSELF", (b"A", b"QM1"), (b"A", b"QM1")),
    ],
)
def test_the_local_queue_is_named_where_it_is_asked_for(application, queue, queue_manager, resolved, local) -> None:
    """IBM MQ, "MQOPEN option for resolving local queue names", MQPMO_RESOLVE_LOCAL_Q."""
    run_mqsc(QM2 + "\nDEFINE QALIAS(ALSO.R) TARGET(R)\nDEFINE QLOCAL(A)\nDEFINE QALIAS(ALSO.A) TARGET(A)")
    run_mqsc("DEFINE QREMOTE(MYSELF) RQMNAME(QM1)")
    for more, names in ((0, resolved), (CMQC.MQOO_RESOLVE_LOCAL_Q, local)):
        named = pymqi.OD(Version=CMQC.MQOD_VERSION_4, ObjectName=queue.encode(), ObjectQMgrName=queue_manager)
        handle = pymqi.Queue(application.manager)
        handle.open(named, CMQC.MQOO_OUTPUT | more)
        assert (named.ResolvedQName.strip(), named.ResolvedQMgrName.strip()) == names
        put = pymqi.PMO(Options=CMQC.MQPMO_RESOLVE_LOCAL_Q if more else 0)
        handle.put(b"data", pymqi.MD(), put)
        assert (put.ResolvedQName.strip(), put.ResolvedQMgrName.strip()) == names
        handle.close()


def test_queue_manager_alias(application: Application) -> None:
    run_mqsc(QM2 + "\nDEFINE QREMOTE(ELSEWHERE) RNAME('') RQMNAME(QM2)")
    application.open("ANY", CMQC.MQOO_OUTPUT, ObjectQMgrName=b"ELSEWHERE").put(b"data")
    assert MQXQH.unpack(application.get("QM2")[1]).remote_q_mgr_name == "QM2"


def test_reply_queue_manager_is_the_sender(application: Application) -> None:
    run_mqsc(QM2)
    application.put("R", b"data", MsgType=CMQC.MQMT_REQUEST, ReplyToQ=b"REPLIES")
    inner = MQXQH.unpack(application.get("QM2")[1]).msg_desc
    assert (inner.reply_to_q, inner.reply_to_q_mgr) == ("REPLIES", "QM1")


def test_grouped_message_carries_an_mqmde(application: Application) -> None:
    run_mqsc(QM2)
    application.put("R", b"data", GroupId=b"G" * 24, MsgSeqNumber=2, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
    outer, body = application.get("QM2")
    chain = walk(outer.Format.decode().strip(), outer.Encoding, outer.CodedCharSetId, body)
    assert [header.name for header in chain.headers] == ["MQXQH", "MQMDE"]
    assert body[chain.payload_offset :] == b"data"


def test_the_way_is_inhibited_at_either_end(application: Application) -> None:
    run_mqsc(QM2)
    opened = application.open("R", CMQC.MQOO_OUTPUT)
    run_mqsc("ALTER QREMOTE(R) PUT(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        opened.put(b"x")
    run_mqsc("ALTER QREMOTE(R) PUT(ENABLED)\nALTER QLOCAL(QM2) PUT(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        opened.put(b"x")


@pytest.mark.parametrize("body", [b"", b"no header", b"XQH " + bytes(100)])
def test_put_straight_to_a_transmission_queue_needs_a_header(application: Application, body: bytes) -> None:
    run_mqsc(QM2)
    with refused(CMQC.MQRC_XQH_ERROR):
        application.put("QM2", body, Format=CMQC.MQFMT_XMIT_Q_HEADER)


def test_alias_of_a_remote_queue(application: Application) -> None:
    run_mqsc(QM2 + "\nDEFINE QALIAS(A) TARGET(R)")
    application.put("A", b"data")
    assert MQXQH.unpack(application.get("QM2")[1]).remote_q_name == "THEIR.QUEUE"
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("A", CMQC.MQOO_BROWSE)
