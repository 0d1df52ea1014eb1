"""Channels that start by themselves (IBM MQ, "Triggering channels"): the service is the channel initiator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pymqi
import pytest
from pymqi import CMQC

from mqwire.structures import MQTM

if TYPE_CHECKING:
    from .conftest import Estate

TRIGGER = "TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ)"


def triggered(estate: Estate, attributes: str = "TRIGDATA(A.TO.B)", *, sender: str = "DISCINT(1)") -> None:
    """A and B, the transmission queue of A being triggered, the channel inactive."""
    estate.channel_pair(sender=sender)
    estate.mqsc("A", f"ALTER QLOCAL(B) {TRIGGER} {attributes}")


def test_T06_message_for_a_remote_queue_starts_its_channel(estate: Estate) -> None:
    triggered(estate)
    assert estate.channel_state("A") == ""
    estate.put("TARGET", b"x")
    estate.until(lambda: estate.holds("B", "TARGET", 1))
    assert [found.body for found in estate.take("B", "TARGET")] == [b"x"]


def test_T06_it_starts_again_after_it_became_inactive(estate: Estate) -> None:
    triggered(estate)
    for number in range(1, 4):
        estate.put("TARGET", b"x")
        estate.until(partial(estate.holds, "B", "TARGET", number))
        estate.until(lambda: estate.channel_state("A") == "")


def test_T12_messages_that_come_while_it_ends_are_not_forgotten(estate: Estate) -> None:
    """DISCINT passes again and again while messages come: none waits for the next one."""
    triggered(estate, sender="DISCINT(1) BATCHSZ(1)")
    for number in range(1, 13):
        estate.put("TARGET", b"%d" % number)
        estate.until(partial(estate.holds, "B", "TARGET", number))
        if number % 3 == 0:
            estate.until(lambda: estate.channel_state("A") != "RUNNING")


@pytest.mark.parametrize("attributes", ["TRIGDATA(' ')", "PROCESS(MOVE)"], ids=["the queue's channel", "UserData"])
def test_T06_channel_named_otherwise(estate: Estate, attributes: str) -> None:
    triggered(estate, attributes)
    estate.mqsc("A", "DEFINE PROCESS(MOVE) USERDATA('A.TO.B')")
    estate.put("TARGET", b"x")
    estate.until(lambda: estate.holds("B", "TARGET", 1))


def test_T13c_messages_that_were_there_before_the_service(estate: Estate) -> None:
    triggered(estate)
    estate.mqlite("end", "A")
    estate.put("TARGET", b"x")
    estate.mqlite("start", "A")
    estate.until(lambda: estate.holds("B", "TARGET", 1))


def test_T08_without_the_service_no_trigger_message_is_made(estate: Estate) -> None:
    triggered(estate)
    estate.mqlite("end", "A")
    estate.put("TARGET", b"x")
    assert estate.depth("A", "SYSTEM.CHANNEL.INITQ") == 0


def test_stopped_channel_is_not_started_by_a_message(estate: Estate) -> None:
    triggered(estate)
    estate.mqsc("A", "STOP CHANNEL(A.TO.B)")
    estate.put("TARGET", b"x")
    estate.until(lambda: "stays stopped" in log_of(estate))
    assert (estate.depth("A", "B"), estate.channel_state("A")) == (1, "STOPPED")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.holds("B", "TARGET", 1))


def test_trigger_message_that_names_no_channel_goes_to_the_DEADQ(estate: Estate) -> None:
    triggered(estate, "TRIGDATA(NO.SUCH)")
    estate.mqsc("A", "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)")
    estate.put("TARGET", b"x")
    estate.until(lambda: estate.holds("A", "SYSTEM.DEAD.LETTER.QUEUE", 1))
    (dead,) = estate.take("A", "SYSTEM.DEAD.LETTER.QUEUE")
    header, body = dead.dead_letter_header()
    assert (header.reason, header.dest_q_name) == (CMQC.MQFB_APPL_CANNOT_BE_STARTED, "SYSTEM.CHANNEL.INITQ")
    trigger_message = MQTM.unpack(body, encoding=header.encoding, ccsid=header.coded_char_set_id)
    assert (trigger_message.q_name, trigger_message.trigger_data) == ("B", "NO.SUCH")


def test_message_that_is_no_trigger_message(estate: Estate) -> None:
    """And what comes after it is read."""
    triggered(estate)
    estate.mqsc("A", "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)")
    connection = pymqi.connect("A")
    connection.put1("SYSTEM.CHANNEL.INITQ", b"nonsense", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    connection.disconnect()
    estate.until(lambda: estate.holds("A", "SYSTEM.DEAD.LETTER.QUEUE", 1))
    estate.put("TARGET", b"x")
    estate.until(lambda: estate.holds("B", "TARGET", 1))


def test_initiation_queue_that_cannot_be_read_for_a_while(estate: Estate) -> None:
    triggered(estate)
    estate.mqsc("A", "ALTER QLOCAL(SYSTEM.CHANNEL.INITQ) GET(DISABLED)")
    estate.put("TARGET", b"x")
    estate.until(lambda: "cannot be read, reason 2016" in log_of(estate))
    estate.mqsc("A", "ALTER QLOCAL(SYSTEM.CHANNEL.INITQ) GET(ENABLED)")
    estate.until(lambda: estate.holds("B", "TARGET", 1))


def log_of(estate: Estate) -> str:
    """The error log of A."""
    return (estate.folder("A") / "errors.log").read_text()
