"""One message into one row of the snapshot.

1. `md` and `body` are the bytes as they were got; every other column is read from them and can be read again.
2. Text of the MQMD is in the character set of the program that got it, which is ASCII with more: it is read as UTF-8,
   and where it is not valid UTF-8 as Latin-1, which any bytes are. Trailing blanks are taken off, NUL is kept.
3. The MQDLH is read with the Encoding and CCSID that the MQMD gives for it; it is the bytes that count, not Format.
   Where there is no valid one, its columns are null and `dlh_error` says why (D05).
4. The JMS destination is `jms/Dst` of the first MQRFH2 in the chain of headers; null where there is none to be read.
   That and what else stands behind the MQDLH is `mqops.observe.core.payload`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias

from mqops.ledger.core.identity import message_key
from mqops.observe.core.payload import ASCII_CCSIDS, Described, payload_of
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import split_dlh
from mqwire.structures import MQDLH_LAYOUT, MQMD_LAYOUT

SnapshotRow: TypeAlias = tuple[Any, ...]

_read_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")
_read_data = MQMD_LAYOUT.reader("report", "msg_type", "expiry", "feedback", "encoding", "coded_char_set_id", "format")
_read_numbers = MQMD_LAYOUT.reader("priority", "persistence", "backout_count", "put_appl_type")
_read_texts = MQMD_LAYOUT.reader(
    *("reply_to_q", "reply_to_q_mgr", "user_identifier", "appl_identity_data", "put_appl_name")
)
_read_group = MQMD_LAYOUT.reader("group_id", "msg_seq_number", "offset", "msg_flags")
_DLH_FIELDS = (
    *("reason", "dest_q_name", "dest_q_mgr_name", "encoding", "coded_char_set_id", "format"),
    *("put_appl_type", "put_appl_name", "put_date", "put_time"),
)
_read_dlh = MQDLH_LAYOUT.reader(*_DLH_FIELDS)
_DLH_BEGIN = MQDLH_LAYOUT.pack({})[:8]
_NO_DLH = (None,) * 10


def md_text(raw: bytes) -> str:
    """Text of an MQMD field (rule 2)."""
    raw = raw.rstrip(b" ")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def row_maker(queue_manager: str, queue: str, observed_at: datetime) -> Callable[[int, bytes, bytes], SnapshotRow]:
    """A function (position, MQMD, body) → row in the order of `SNAPSHOT_COLUMNS`.

    Parameters: `observed_at` the time of the snapshot, with time zone; the same for all its rows.
    """

    def row(position: int, md: bytes, body: bytes) -> SnapshotRow:
        msg_id, correl_id, put_date, put_time = _read_identity(md)
        report, msg_type, expiry, feedback, encoding, ccsid, raw_format = _read_data(md)
        priority, persistence, backout_count, put_appl_type = _read_numbers(md)
        reply_to_q, reply_to_q_mgr, user_identifier, appl_identity_data, put_appl_name = _read_texts(md)
        group_id, msg_seq_number, offset, msg_flags = _read_group(md)
        digest = sha256(body).digest()
        header = _dlh_columns(raw_format, encoding, ccsid, body)
        dead = None if header[-1] is not None else Described(header[5], header[3], header[4])
        return (
            *(queue_manager, queue, position, md, body, len(body), digest),
            *(message_key(msg_id, correl_id, put_date, put_time, digest), observed_at),
            *(msg_id, correl_id, group_id, msg_seq_number, offset, msg_flags),
            *(report, msg_type, expiry, feedback, encoding, ccsid, md_text(raw_format)),
            *(priority, persistence, backout_count, md_text(reply_to_q), md_text(reply_to_q_mgr)),
            *(md_text(user_identifier), md_text(appl_identity_data), put_appl_type, md_text(put_appl_name)),
            *(md_text(put_date), md_text(put_time)),
            *header,
            *payload_of(Described(raw_format, encoding, ccsid), dead, body),
        )

    return row


def has_native_dlh(encoding: int, ccsid: int, body: bytes) -> bool:
    """Whether a body begins with a valid MQDLH in this machine's byte order and in ASCII: the usual case, read fast.

    Its text may still have characters beyond ASCII.
    """
    native = encoding & c.MQENC_INTEGER_MASK == c.MQENC_NATIVE & c.MQENC_INTEGER_MASK
    return native and ccsid in ASCII_CCSIDS and len(body) >= MQDLH_LAYOUT.size and body[:8] == _DLH_BEGIN


def _dlh_columns(raw_format: bytes, encoding: int, ccsid: int, body: bytes) -> tuple[Any, ...]:
    if has_native_dlh(encoding, ccsid, body):
        reason, *values = _read_dlh(body)
        if all(value.isascii() for value in values if isinstance(value, bytes)):
            texts = [value if isinstance(value, int) else value.rstrip(b" ").decode("ascii") for value in values]
            return (reason, *texts, None)
    try:
        split = split_dlh(raw_format, encoding, ccsid, body, any_format=True)
    except WireError as error:
        return (*_NO_DLH, str(error))
    assert split is not None
    dlh = split[0]
    return (
        *(dlh.reason, dlh.dest_q_name, dlh.dest_q_mgr_name, dlh.encoding, dlh.coded_char_set_id, dlh.format),
        *(dlh.put_appl_type, dlh.put_appl_name, dlh.put_date, dlh.put_time, None),
    )
