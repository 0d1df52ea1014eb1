"""Start, stop, retry, message retry and partners of a sender channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymqi
import pytest
from pymqi import CMQC, CMQCFC

if TYPE_CHECKING:
    from .conftest import Estate


def test_messages_keep_their_order_through_several_batches(estate: Estate) -> None:
    estate.channel_pair(sender="BATCHSZ(7)")
    bodies = [str(number).encode() for number in range(40)]
    estate.put("TARGET", *bodies)
    estate.run_channel()
    assert [found.body for found in estate.take("B", "TARGET")] == bodies


def test_batch_stays_open_for_BATCHINT(estate: Estate) -> None:
    def has_begun() -> bool:
        return "UNCOM(YES)" in estate.mqsc("A", "DISPLAY QSTATUS(B) UNCOM")

    estate.channel_pair(sender="BATCHINT(600000) BATCHSZ(2)")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.put("TARGET", b"0")
    estate.until(has_begun)
    estate.put("TARGET", b"1")
    estate.until(lambda: "BATCHES(1)" in estate.mqsc("A", "DISPLAY CHSTATUS(A.TO.B) BATCHES"))
    assert estate.holds("B", "TARGET", 2)
    estate.put("TARGET", b"2")
    estate.until(has_begun)
    estate.mqsc("A", "STOP CHANNEL(A.TO.B)")  # ends the second batch before it is full
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    assert [found.body for found in estate.take("B", "TARGET")] == [b"0", b"1", b"2"]


def test_batch_ends_after_BATCHINT(estate: Estate) -> None:
    estate.channel_pair(sender="BATCHINT(1)")
    estate.put("TARGET", b"x")
    estate.run_channel()
    assert estate.depth("B", "TARGET") == 1


def test_channels_need_no_password_where_programs_do(estate: Estate) -> None:
    estate.channel_pair()
    estate.put("TARGET", b"x")
    authinfo = "ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS)"
    for name in ("A", "B"):
        estate.mqsc(name, f"{authinfo} CHCKLOCL(REQUIRED) CHCKCLNT(REQUIRED)")
        with pytest.raises(pymqi.MQMIError, match="MQRC_NOT_AUTHORIZED"):
            pymqi.connect(name)
    estate.run_channel()
    assert "CURDEPTH(1)" in estate.mqsc("B", "DISPLAY QLOCAL(TARGET) CURDEPTH")


def test_sender_retries_until_its_partner_runs(estate: Estate) -> None:
    estate.channel_pair(sender="SHORTRTY(500) SHORTTMR(1)")
    estate.mqlite("end", "B")
    estate.put("TARGET", b"x")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "RETRYING")
    assert estate.depth("A", "B") == 1
    estate.mqlite("start", "B")
    estate.until(estate.is_drained)
    assert estate.channel_state("A") == "RUNNING"
    assert estate.channel_state("B") == "RUNNING"


def test_sender_whose_retries_are_used_up_is_stopped(estate: Estate) -> None:
    estate.channel_pair(sender="SHORTRTY(2) SHORTTMR(0) LONGRTY(0)")
    estate.mqlite("end", "B")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")


def test_stopped_receiver_takes_no_calls(estate: Estate) -> None:
    estate.channel_pair(sender="SHORTRTY(1) SHORTTMR(0) LONGRTY(0)")
    estate.mqsc("B", "STOP CHANNEL(A.TO.B)")
    estate.put("TARGET", b"x")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    assert estate.depth("A", "B") == 1
    estate.mqsc("B", "START CHANNEL(A.TO.B)")
    estate.run_channel()
    assert estate.depth("B", "TARGET") == 1


def test_stopped_sender_moves_nothing_until_it_is_started(estate: Estate) -> None:
    estate.channel_pair()
    estate.run_channel()
    estate.until(lambda: estate.channel_state("A") == "RUNNING")
    assert "AMQ9514E" in estate.mqsc("A", "START CHANNEL(A.TO.B)", code=10)
    estate.mqsc("A", "STOP CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    estate.put("TARGET", b"x")
    assert estate.depth("A", "B") == 1
    estate.run_channel()
    assert estate.depth("B", "TARGET") == 1


def test_idle_channel_becomes_inactive(estate: Estate) -> None:
    estate.channel_pair(sender="DISCINT(1)")
    estate.put("TARGET", b"x")  # what drains the queue has started
    estate.run_channel()
    estate.until(lambda: estate.channel_state("A") == "")
    assert "AMQ8420I" in estate.mqsc("A", "DIS CHSTATUS(A.TO.B)", code=10)


def test_receiver_follows_its_sender(estate: Estate) -> None:
    """IBM MQ, "Channel states": a receiver whose sender has stopped is inactive, not running."""
    estate.channel_pair()
    estate.run_channel()
    estate.until(lambda: estate.channel_state("B") == "RUNNING")
    estate.mqsc("A", "STOP CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    assert "AMQ8420I" in estate.mqsc("B", "DIS CHSTATUS(A.TO.B)", code=10)
    log = (estate.folder("B") / "errors.log").read_text()
    assert "AMQ9002I: channel A.TO.B is running from A\n" in log
    assert log.endswith("AMQ9001I: channel A.TO.B ended\n")


def test_error_log_of_the_receiver_names_the_channel_that_cannot_put(estate: Estate) -> None:
    estate.channel_pair(receiver="MRRTY(0) USEDLQ(NO)")
    estate.put("NOT.THERE", b"x", Persistence=CMQC.MQPER_PERSISTENT)
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    log = (estate.folder("B") / "errors.log").read_text()
    assert "AMQ9544E: channel A.TO.B: message for NOT.THERE not put, reason 2085\n" in log


def test_service_that_ends_and_starts_again_goes_on(estate: Estate) -> None:
    estate.channel_pair()
    estate.run_channel()
    estate.mqlite("end", "A")
    estate.put("TARGET", b"x")
    estate.mqlite("start", "A")
    estate.until(estate.is_drained)


def test_message_retry_waits_for_a_full_queue(estate: Estate) -> None:
    estate.channel_pair(receiver="MRRTY(1000) MRTMR(20)")
    estate.mqsc("B", "ALTER QLOCAL(TARGET) MAXDEPTH(1)")
    estate.put("TARGET", b"1", b"2")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "RUNNING")
    assert estate.depth("B", "SYSTEM.DEAD.LETTER.QUEUE") == 0
    estate.mqsc("B", "ALTER QLOCAL(TARGET) MAXDEPTH(2)")
    estate.until(estate.is_drained)
    assert [found.body for found in estate.take("B", "TARGET")] == [b"1", b"2"]


def test_message_too_long_for_the_channel_goes_to_the_senders_DEADQ(estate: Estate) -> None:
    estate.channel_pair(receiver="MAXMSGL(100) MRRTY(0)")
    estate.mqsc("A", "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)")
    estate.put("TARGET", b"x" * 101)
    estate.run_channel()
    (kept,) = estate.take("A", "SYSTEM.DEAD.LETTER.QUEUE")
    assert kept.dead_letter_header()[0].reason == 2218


def test_message_goes_on_through_a_queue_manager_between(estate: Estate) -> None:
    estate.channel_pair()
    estate.create("C")
    estate.mqsc("C", "DEFINE QLOCAL(FAR)", "DEFINE CHANNEL(B.TO.C) CHLTYPE(RCVR)")
    estate.mqsc(
        "B",
        "DEFINE QLOCAL(C) USAGE(XMITQ)",
        "DEFINE CHANNEL(B.TO.C) CHLTYPE(SDR) CONNAME('localhost(1415)') XMITQ(C)",
    )
    estate.mqlite("start", "C")
    estate.mqsc("B", "START CHANNEL(B.TO.C)")
    estate.mqsc("A", "DEFINE QREMOTE(C) RQMNAME(C) XMITQ(B)")
    (sent,) = estate.put("FAR", b"far", to="C")
    estate.run_channel()
    estate.until(lambda: estate.holds("C", "FAR", 1))
    (found,) = estate.take("C", "FAR")
    assert (found.body, found.md.msg_id, found.md.put_time) == (b"far", sent.msg_id, sent.put_time)


def test_partner_in_another_folder_is_named_by_a_path(
    estate: Estate, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(tmp_path_factory.mktemp("here"))
    there = str(tmp_path_factory.mktemp("there"))
    monkeypatch.setenv("MQLITE_HOME", there)
    estate.create("B")
    estate.mqsc("B", "DEFINE QLOCAL(TARGET)", "DEFINE CHANNEL(A.TO.B) CHLTYPE(RCVR)")
    estate.mqlite("start", "B")
    monkeypatch.setenv("MQLITE_HOME", here)
    estate.create("A")
    estate.mqsc(
        "A",
        "DEFINE QLOCAL(B) USAGE(XMITQ)",
        f"DEFINE CHANNEL(A.TO.B) CHLTYPE(SDR) CONNAME('{there}(B)') XMITQ(B)",
    )
    estate.mqlite("start", "A")
    estate.put("TARGET", b"x")
    estate.run_channel()
    estate.mqlite("end", "A")
    monkeypatch.setenv("MQLITE_HOME", there)
    assert estate.depth("B", "TARGET") == 1


def test_ping_finds_the_partner(estate: Estate) -> None:
    estate.channel_pair()
    assert "AMQ8020I" in estate.mqsc("A", "PING CHANNEL(A.TO.B)")
    estate.mqlite("end", "B")
    assert "AMQ9520E" in estate.mqsc("A", "PING CHANNEL(A.TO.B)", code=10)


def test_sequence_numbers_that_differ_stop_the_channel_until_reset(estate: Estate) -> None:
    estate.channel_pair()
    estate.put("TARGET", b"1")
    estate.run_channel()
    estate.mqsc("A", "STOP CHANNEL(A.TO.B)")
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    estate.mqlite("end", "B")
    estate.mqsc("A", "RESET CHANNEL(A.TO.B) SEQNUM(77)")  # the partner is not there, so it is not told
    estate.mqlite("start", "B")
    estate.put("TARGET", b"2")
    estate.run_channel_until_it_stops()
    estate.mqsc("A", "RESET CHANNEL(A.TO.B) SEQNUM(77)")
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    estate.until(lambda: estate.depth("B", "TARGET") == 2)
    estate.until(lambda: "CURSEQNO(77)" in estate.mqsc("A", "DIS CHSTATUS(A.TO.B) CURSEQNO"))


def test_sequence_numbers_begin_anew_behind_SEQWRAP(estate: Estate) -> None:
    estate.channel_pair(sender="SHORTTMR(0) SEQWRAP(100)", receiver="MRRTY(0) SEQWRAP(100)")
    estate.mqsc("A", "RESET CHANNEL(A.TO.B) SEQNUM(99)")
    estate.put("TARGET", b"99", b"100", b"1")
    estate.run_channel()
    assert estate.depth("B", "TARGET") == 3
    for name in ("A", "B"):
        estate.until(lambda name=name: "CURSEQNO(1)" in estate.mqsc(name, "DIS CHSTATUS(A.TO.B) CURSEQNO"))


def test_RESET_CHANNEL_of_a_receiver_resets_that_end_only(estate: Estate) -> None:
    def runs(sender: str, body: bytes) -> bool:
        """Send a message from A or C and stop; whether it arrived, else the number was not the one awaited."""
        estate.put("TARGET", body, at=sender)
        estate.mqsc(sender, "START CHANNEL(A.TO.B)")
        estate.until(lambda: estate.channel_state(sender) == "STOPPED" or estate.holds(sender, "B", 0))
        estate.mqsc(sender, "STOP CHANNEL(A.TO.B)")
        estate.until(lambda: estate.channel_state(sender) == "STOPPED")
        return estate.depth(sender, "B") == 0

    estate.channel_pair()
    estate.create("C")
    estate.mqsc("C", "DEFINE QLOCAL(B) USAGE(XMITQ)")
    estate.mqsc("C", "DEFINE CHANNEL(A.TO.B) CHLTYPE(SDR) CONNAME('localhost(1414)') XMITQ(B)")
    estate.mqlite("start", "C")
    assert runs("A", b"1")
    assert runs("C", b"1")
    assert runs("C", b"2")
    estate.mqsc("B", "RESET CHANNEL(A.TO.B) SEQNUM(77)")
    for sender in ("A", "C"):
        assert not runs(sender, b"3")
        assert "AMQ9526E" in (estate.folder(sender) / "errors.log").read_text()
    estate.mqsc("B", "RESET CHANNEL(A.TO.B) SEQNUM(2)")
    assert runs("A", b"4")
    estate.mqsc("B", "RESET CHANNEL(A.TO.B) SEQNUM(3)")
    assert runs("C", b"4")
    assert [found.body for found in estate.take("B", "TARGET")] == [b"1", b"1", b"2", b"3", b"4", b"3", b"4"]


def test_RESET_CHANNEL_is_refused_where_it_runs_and_where_there_are_no_numbers(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "DEFINE CHANNEL(APP) CHLTYPE(SVRCONN)")
    estate.run_channel()
    estate.until(lambda: estate.channel_state("A") == "RUNNING")
    for name in ("A", "B"):
        assert "AMQ9514E" in estate.mqsc(name, "RESET CHANNEL(A.TO.B)", code=10)
    assert "AMQ8232E" in estate.mqsc("B", "RESET CHANNEL(APP)", code=10)


def test_channel_is_started_and_shown_through_PCF(estate: Estate) -> None:
    estate.channel_pair()
    estate.put("TARGET", b"x")
    connection = pymqi.connect("A")
    pcf = pymqi.PCFExecute(connection)
    pcf.MQCMD_START_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: b"A.TO.B"})
    estate.until(estate.is_drained)
    (status,) = pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CMQCFC.MQCACH_CHANNEL_NAME: b"A.TO.B"})
    assert status[CMQCFC.MQIACH_CHANNEL_STATUS] == CMQCFC.MQCHS_RUNNING
    assert status[CMQC.MQCA_REMOTE_Q_MGR_NAME].strip() == b"B"
    pcf.MQCMD_STOP_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: b"A.TO.B"})
    estate.until(lambda: estate.channel_state("A") == "STOPPED")
    with pytest.raises(pymqi.MQMIError) as refused:
        pcf.MQCMD_START_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: b"NO.SUCH"})
    assert refused.value.reason == CMQCFC.MQRCCF_CHANNEL_NOT_FOUND
    connection.disconnect()
