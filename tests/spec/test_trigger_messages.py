"""SPEC T: what a trigger message says and where it is put; segments."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC
from trigger_support import (
    DIES,
    KINDS,
    PROCESS,
    SYNCPOINT,
    TRIGGER_MESSAGE,
    Monitor,
    alter,
    define,
    transmitted,
)

from mqwire.structures import MQDLH, MQTM


def test_T06_the_trigger_message_tells_of_the_process(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    ((md, body),) = monitor.messages()
    assert md.Format == CMQC.MQFMT_TRIGGER
    assert len(body) == 684
    assert MQTM.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId) == TRIGGER_MESSAGE


def test_T06_on_zos_the_trigger_message_is_in_its_encoding_and_character_set(home: Path) -> None:
    make("QM1", f"DEFINE QLOCAL(IQ)\n{PROCESS}", platform="zos")
    define("TRIGTYPE(EVERY)")
    application, monitor = Application(), Monitor()
    application.put("APP")
    ((md, body),) = monitor.messages()
    assert (md.Encoding, md.CodedCharSetId) == (CMQC.MQENC_S390, 500)
    assert body[:4] == "TM  ".encode("cp500")
    assert MQTM.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId) == TRIGGER_MESSAGE
    monitor.stop()
    application.manager.disconnect()


def test_T06_a_transmission_queue_needs_no_process(application: Application, monitor: Monitor) -> None:
    define("TRIGTYPE(FIRST) USAGE(XMITQ)", process="' '")
    application.put("APP", transmitted(), Format=CMQC.MQFMT_XMIT_Q_HEADER)
    ((_, body),) = monitor.messages()
    assert MQTM.unpack(body, ccsid=1208) == MQTM(q_name="APP", trigger_data="data", appl_type=CMQC.MQAT_UNKNOWN)


@pytest.mark.parametrize("kind", KINDS)
def test_T16_segments_that_an_application_puts_count_each(
    application: Application, monitor: Monitor, kind: str
) -> None:
    define(f"TRIGTYPE({kind}) TRIGDPTH(3)")
    opened, made = application.open("APP", OUTPUT), []
    for flags in (CMQC.MQMF_SEGMENT, CMQC.MQMF_SEGMENT, CMQC.MQMF_LAST_SEGMENT):
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags)
        opened.put(b"x" * 16, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT | CMQC.MQPMO_LOGICAL_ORDER))
        made.append(len(monitor.triggered()))
    assert made == {"FIRST": [1, 0, 0], "EVERY": [1, 1, 1], "DEPTH": [0, 0, 1]}[kind]


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
    assert MQTM.unpack(body, offset=MQDLH.LAYOUT.size, encoding=header.encoding, ccsid=1208) == TRIGGER_MESSAGE


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
    application: Application, monitor: Monitor, home: Path, dead: str
) -> None:
    run_mqsc(f"DEFINE QLOCAL(DLQ)\nALTER QMGR DEADQ(DLQ)\n{dead}")
    alter("MAXDEPTH(0)", "IQ")
    define("TRIGTYPE(EVERY)")
    application.put("APP")
    assert (application.depth("APP"), application.depth("DLQ")) == (1, 0)
    (log,) = home.glob("*/errors.log")
    assert (
        "the trigger message for queue APP was discarded: initiation queue IQ did not take it (2053)" in log.read_text()
    )


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
    assert MQTM.unpack(body, ccsid=1208) == replace(TRIGGER_MESSAGE, q_name="DLQ")
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
    assert MQTM.unpack(body, ccsid=1208) == TRIGGER_MESSAGE


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
