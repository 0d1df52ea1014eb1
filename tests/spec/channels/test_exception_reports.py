"""Exception reports and MQRO_DISCARD_MSG of a channel that cannot put a message (reference facts, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pymqi import CMQC

from mqwire import constants as c

if TYPE_CHECKING:
    from .conftest import Estate

DEAD = "SYSTEM.DEAD.LETTER.QUEUE"
ASKS = {"ReplyToQ": b"REPORTS", "ReplyToQMgr": b"B", "Persistence": CMQC.MQPER_PERSISTENT}
BODY = bytes(range(250))


@pytest.mark.parametrize(
    ("option", "kept"),
    [
        (CMQC.MQRO_EXCEPTION, 0),
        (CMQC.MQRO_EXCEPTION_WITH_DATA, 100),
        (CMQC.MQRO_EXCEPTION_WITH_FULL_DATA, 250),
    ],
)
def test_P01_exception_report_of_a_message_that_is_dead_lettered(estate: Estate, option: int, kept: int) -> None:
    estate.channel_pair()
    estate.mqsc("B", "DEFINE QLOCAL(REPORTS)")
    (sent,) = estate.put("NOWHERE", BODY, Report=option, Priority=7, CorrelId=b"c" * 24, Expiry=36_000, **ASKS)
    estate.run_channel()
    assert estate.depth("B", DEAD) == 1
    (report,) = estate.take("B", "REPORTS")
    md = report.md
    assert report.body == BODY[:kept]
    assert (md.msg_type, md.feedback) == (c.MQMT_REPORT, c.MQRC_UNKNOWN_OBJECT_NAME)
    assert (md.correl_id, md.priority, md.persistence, md.expiry) == (sent.msg_id, 7, 1, c.MQEI_UNLIMITED)
    assert md.msg_id not in {sent.msg_id, bytes(24)}
    assert (md.put_appl_type, md.put_appl_name, md.reply_to_q_mgr) == (c.MQAT_UNIX, "amqrmppa", "B")
    assert (md.user_identifier, md.format) == (sent.user_identifier, "MQSTR")


def test_P01_report_finds_its_way_to_another_queue_manager(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "DEFINE QLOCAL(A) USAGE(XMITQ)")
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_EXCEPTION, ReplyToQ=b"REPLIES")
    estate.run_channel()
    (report,) = estate.take("B", "A")
    assert report.md.format == "MQXMIT"
    assert b"REPLIES" in report.body


def test_P01_no_report_unless_asked_or_where_the_message_is_delivered(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "DEFINE QLOCAL(REPORTS)")
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_PASS_MSG_ID, **ASKS)
    estate.put("TARGET", BODY, Report=CMQC.MQRO_EXCEPTION, **ASKS)
    estate.run_channel()
    assert [estate.depth("B", queue) for queue in ("REPORTS", DEAD, "TARGET")] == [0, 1, 1]


def test_P02_report_of_the_sending_end(estate: Estate) -> None:
    estate.channel_pair(sender="CONVERT(YES)", platform="zos")
    estate.mqsc("A", f"ALTER QMGR DEADQ({DEAD})", "DEFINE QLOCAL(REPORTS)")
    estate.put("TARGET", BODY, Format=b"OWNFORMT", Report=CMQC.MQRO_EXCEPTION, ReplyToQ=b"REPORTS", ReplyToQMgr=b"A")
    estate.run_channel()
    (report,) = estate.take("A", "REPORTS")
    assert report.md.feedback == c.MQRC_FORMAT_ERROR
    assert estate.depth("A", DEAD) == 1


def test_P03_no_report_of_a_message_that_stays(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "ALTER QMGR DEADQ(' ')", "DEFINE QLOCAL(REPORTS)")
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_EXCEPTION, **ASKS)
    estate.run_channel()
    assert (estate.depth("A", "B"), estate.depth("B", "REPORTS")) == (1, 0)


def test_P04_report_of_a_discarded_message(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "ALTER QMGR DEADQ(' ')", "DEFINE QLOCAL(REPORTS)")
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_EXCEPTION, **{**ASKS, "Persistence": 0})
    estate.run_channel()
    (report,) = estate.take("B", "REPORTS")
    assert (report.md.feedback, report.md.persistence) == (c.MQRC_UNKNOWN_OBJECT_NAME, 0)


@pytest.mark.parametrize("dead_letter_queue", [DEAD, "' '"])
def test_P01_message_that_wants_to_be_discarded(estate: Estate, dead_letter_queue: str) -> None:
    estate.channel_pair()
    estate.mqsc("B", f"ALTER QMGR DEADQ({dead_letter_queue})", "DEFINE QLOCAL(REPORTS)")
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_DISCARD_MSG | CMQC.MQRO_EXCEPTION, **ASKS)
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_DISCARD_MSG, **ASKS)
    estate.run_channel()
    assert [estate.depth("B", queue) for queue in ("REPORTS", DEAD)] == [1, 0]
    assert estate.depth("A", "B") == 0


def test_P01_report_that_has_no_place_is_dead_lettered_if_persistent(estate: Estate) -> None:
    estate.channel_pair()
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_EXCEPTION, **ASKS)
    estate.put("NOWHERE", BODY, Report=CMQC.MQRO_EXCEPTION, **{**ASKS, "Persistence": 0})
    estate.run_channel()
    found = [message.dead_letter_header()[0].dest_q_name for message in estate.take("B", DEAD)]
    assert sorted(found) == ["NOWHERE", "NOWHERE", "REPORTS"]
