"""The message behind an MQXQH, in the ways that queue managers write one."""

from __future__ import annotations

import pytest

from mqops.mq.session import RawMessage
from mqops.prove.transmitted import without_xqh
from mqwire import constants as c
from mqwire.structures import MQMD, MQMDE, MQXQH

BIG, LITTLE = 273, 546
INNER = MQMD(version=1, format="MQSTR", msg_id=b"M" * 24, correl_id=b"C" * 24, coded_char_set_id=1208)


def transmitted(inner: MQMD, body: bytes, encoding: int, ccsid: int) -> RawMessage:
    outer = MQMD(version=2, format=c.MQFMT_XMIT_Q_HEADER, encoding=encoding, coded_char_set_id=0, msg_id=b"X" * 24)
    return RawMessage(
        outer.pack(), MQXQH(remote_q_name="Q", msg_desc=inner).pack(encoding=encoding, ccsid=ccsid) + body
    )


@pytest.mark.parametrize(("encoding", "ccsid"), [(LITTLE, 819), (BIG, 819), (BIG, 500)])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_message_is_as_it_was_put(encoding, ccsid, grouped):
    whole = {"version": 2} | ({"group_id": b"G" * 24, "msg_seq_number": 3} if grouped else {})
    expected = MQMD(**INNER.values() | whole)
    inner, body = INNER, b"data"
    if grouped:
        extension = MQMDE(format="MQSTR", coded_char_set_id=1208, group_id=b"G" * 24, msg_seq_number=3)
        inner = MQMD(**INNER.values() | {"format": c.MQFMT_MD_EXTENSION, "encoding": encoding})
        body = extension.pack(encoding=encoding, ccsid=ccsid) + body
    assert without_xqh(transmitted(inner, body, encoding, ccsid)) == RawMessage(expected.pack(), b"data")


@pytest.mark.parametrize("body", [b"", b"data", b"XQH ", b"XQH \1\0\0\0" + bytes(420)])
def test_what_has_none_is_none(body):
    assert without_xqh(RawMessage(MQMD(version=2, format="MQXMIT").pack(), body)) is None
