"""What a receiving channel does with messages that it cannot put: P01 to P04 and P06, seen through genuine pymqi."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pymqi import CMQC

from mqwire import constants as c

if TYPE_CHECKING:
    from .conftest import Estate

PERSISTENT = {"Persistence": CMQC.MQPER_PERSISTENT}
FLEETING = {"Persistence": CMQC.MQPER_NOT_PERSISTENT}
DEAD = "SYSTEM.DEAD.LETTER.QUEUE"
FAILURES = [
    pytest.param("NOWHERE", "", c.MQRC_UNKNOWN_OBJECT_NAME, id="unknown"),
    pytest.param("TARGET", "ALTER QLOCAL(TARGET) MAXDEPTH(0)", c.MQRC_Q_FULL, id="full"),
    pytest.param("TARGET", "ALTER QLOCAL(TARGET) PUT(DISABLED)", c.MQRC_PUT_INHIBITED, id="put-inhibited"),
    pytest.param("TARGET", "ALTER QLOCAL(TARGET) MAXMSGL(5)", c.MQRC_MSG_TOO_BIG_FOR_Q, id="too-long"),
    pytest.param("ALIAS", "DEFINE QALIAS(ALIAS) TARGET(GONE)", c.MQRC_UNKNOWN_ALIAS_BASE_Q, id="alias-without-target"),
    pytest.param(
        "TARGET",
        "ALTER CHANNEL(A.TO.B) CHLTYPE(RCVR) MCAUSER('nobody')\n"
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('nobody') AUTHADD(SETALL)\n"
        f"SET AUTHREC PROFILE({DEAD}) OBJTYPE(QUEUE) PRINCIPAL('nobody') AUTHADD(PUT,SETALL)",
        c.MQRC_NOT_AUTHORIZED,
        id="not-authorized",
    ),
]


@pytest.mark.parametrize(("queue", "trouble", "reason"), FAILURES)
def test_P01_E11_undeliverable_message_goes_to_DEADQ_with_an_MQDLH(
    estate: Estate, queue: str, trouble: str, reason: int
) -> None:
    estate.channel_pair()
    if trouble:
        estate.mqsc("B", trouble)
    begun = datetime.now(UTC) - timedelta(seconds=1)
    (sent,) = estate.put(queue, b"body of it", Expiry=36_000, CorrelId=b"c" * 24, ReplyToQ=b"R", **PERSISTENT)
    estate.run_channel()
    (found,) = estate.take("B", DEAD)
    header, rest = found.dead_letter_header()
    assert rest == b"body of it"
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (reason, queue, "B")
    assert (header.format, header.encoding, header.coded_char_set_id) == (
        "MQSTR",
        sent.encoding,
        sent.coded_char_set_id,
    )
    assert (header.put_appl_type, header.put_appl_name) == (c.MQAT_UNIX, "amqrmppa")
    put_at = datetime.strptime(header.put_date + header.put_time[:6], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    assert begun - timedelta(seconds=1) <= put_at <= datetime.now(UTC)
    md = found.md
    assert (md.format, md.msg_id, md.correl_id, md.persistence) == ("MQDEAD", sent.msg_id, sent.correl_id, 1)
    assert (md.put_date, md.put_time, md.put_appl_name) == (sent.put_date, sent.put_time, sent.put_appl_name)
    assert 0 < md.expiry <= 36_000


def test_P01_a_zos_queue_manager_writes_the_MQDLH_in_EBCDIC_and_big_endian(estate: Estate) -> None:
    estate.channel_pair(platform="zos")
    estate.put("NOWHERE", b"unchanged", **PERSISTENT)
    estate.run_channel()
    (found,) = estate.take("B", DEAD)
    assert (found.md.encoding, found.md.coded_char_set_id) == (c.MQENC_S390, 500)
    assert found.body[:4] == "DLH ".encode("cp500")
    assert int.from_bytes(found.body[8:12], "big") == c.MQRC_UNKNOWN_OBJECT_NAME
    header, rest = found.dead_letter_header()
    assert (header.dest_q_name, header.put_appl_name, rest) == ("NOWHERE", "BCHIN", b"unchanged")
    assert header.encoding == c.MQENC_NATIVE


def test_P01_a_group_keeps_its_place_in_the_group(estate: Estate) -> None:
    estate.channel_pair()
    group = {"GroupId": b"g" * 24, "MsgSeqNumber": 2, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP}
    estate.put("NOWHERE", b"second", **group)
    estate.run_channel()
    (found,) = estate.take("B", DEAD)
    header, rest = found.dead_letter_header()
    assert (found.md.group_id, found.md.msg_seq_number) == (b"g" * 24, 2)
    assert (header.format, rest) == ("MQSTR", b"second")


def test_P02_data_that_the_sender_cannot_convert_goes_to_its_own_DEADQ(estate: Estate) -> None:
    estate.channel_pair(sender="CONVERT(YES)", platform="zos")
    estate.mqsc("A", f"ALTER QMGR DEADQ({DEAD})")
    estate.put("TARGET", b"of an application", Format=b"OWNFORMT")
    estate.put("TARGET", b"text")
    estate.run_channel()
    (kept,) = estate.take("A", DEAD)
    header, rest = kept.dead_letter_header()
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (c.MQRC_FORMAT_ERROR, "TARGET", "B")
    assert (header.format, rest) == ("OWNFORMT", b"of an application")
    (moved,) = estate.take("B", "TARGET")
    assert (moved.body, moved.md.coded_char_set_id) == ("text".encode("cp500"), 500)


@pytest.mark.parametrize("trouble", ["ALTER QMGR DEADQ(' ')", f"ALTER QLOCAL({DEAD}) MAXDEPTH(0)"])
def test_P03_without_a_place_on_DEADQ_the_message_stays_and_the_channel_stops(estate: Estate, trouble: str) -> None:
    estate.channel_pair()
    estate.mqsc("B", trouble)
    estate.put("TARGET", b"before", **PERSISTENT)
    estate.put("NOWHERE", b"stuck", **PERSISTENT)
    estate.put("TARGET", b"after", **PERSISTENT)
    estate.run_channel_until_it_stops()
    assert estate.depth("A", "B") == 2
    assert [found.body for found in estate.take("B", "TARGET")] == [b"before"]

    estate.mqsc("B", "DEFINE QLOCAL(NOWHERE)")
    estate.run_channel()
    assert [found.body for found in estate.take("B", "NOWHERE")] == [b"stuck"]
    assert [found.body for found in estate.take("B", "TARGET")] == [b"after"]


def test_P04_fast_nonpersistent_message_without_DEADQ_is_discarded(estate: Estate) -> None:
    estate.channel_pair()
    estate.mqsc("B", "ALTER QMGR DEADQ(' ')")
    estate.put("NOWHERE", b"discarded", **FLEETING)
    estate.put("TARGET", b"after", **PERSISTENT)
    estate.run_channel()
    assert estate.channel_state("A") == "RUNNING"
    assert [found.body for found in estate.take("B", "TARGET")] == [b"after"]
    assert estate.depth("B", DEAD) == 0


@pytest.mark.parametrize(
    ("sender", "receiver", "fields", "stopped"),
    [
        pytest.param("", "USEDLQ(NO)", PERSISTENT, True, id="persistent"),
        pytest.param("", "USEDLQ(NO)", FLEETING, False, id="fast-nonpersistent"),
        pytest.param("NPMSPEED(NORMAL)", "USEDLQ(NO)", FLEETING, True, id="normal-at-the-sender"),
        pytest.param("", "USEDLQ(NO) NPMSPEED(NORMAL)", FLEETING, True, id="normal-at-the-receiver"),
    ],
)
def test_P06_USEDLQ_NO_leaves_DEADQ_alone(
    estate: Estate, sender: str, receiver: str, fields: dict[str, int], stopped: bool
) -> None:
    estate.channel_pair(sender=sender, receiver=f"MRRTY(0) {receiver}")
    estate.put("NOWHERE", b"x", **fields)
    if stopped:
        estate.run_channel_until_it_stops()
    else:
        estate.run_channel()
        assert estate.channel_state("A") == "RUNNING"
    assert (estate.depth("A", "B"), estate.depth("B", DEAD)) == (int(stopped), 0)


def test_P06_USEDLQ_YES_is_the_default_and_uses_DEADQ(estate: Estate) -> None:
    estate.channel_pair()
    assert "USEDLQ(YES)" in estate.mqsc("B", "DISPLAY CHANNEL(A.TO.B) USEDLQ")
    estate.put("NOWHERE", b"x", **PERSISTENT)
    estate.run_channel()
    assert estate.depth("B", DEAD) == 1
