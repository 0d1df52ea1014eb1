"""One message into one row of the snapshot.

1. `md` and `body` are the bytes as they were got; every other column is read from them and can be read again.
2. Text of the MQMD is in the character set of the program that got it, which is ASCII with more: it is read as UTF-8,
   and where it is not valid UTF-8 as Latin-1, which any bytes are. A name ends at its first NUL, as the queue manager
   reads it (IBM MQ, "Fields for MQOD"): what follows is not looked at. Trailing blanks are taken off.
3. The MQDLH is read with the Encoding and CCSID that the MQMD gives for it; it is the bytes that count, not Format.
   Its names end at the first NUL, too, in EBCDIC as in ASCII. Where there is no valid one, its columns are null and
   `dlh_error` says why (D05).
4. The JMS destination is `jms/Dst` of the first MQRFH2 in the chain of headers; null where there is none to be read.
   That and what else stands behind the MQDLH is `mqops.observe.core.payload`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias

from mqops.ledger.core.identity import message_key
from mqops.observe.core.payload import ASCII_CCSIDS, Described, payload_of
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.headers import split_dlh
from mqwire.structures import MQDLH, MQDLH_LAYOUT, MQMD_LAYOUT

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
_DLH_TEXTS = ("dest_q_name", "dest_q_mgr_name", "format", "put_appl_name", "put_date", "put_time")
_read_dlh_texts, _write_dlh_texts = MQDLH_LAYOUT.reader(*_DLH_TEXTS), MQDLH_LAYOUT.writer(*_DLH_TEXTS)
_DLH_BEGIN = MQDLH_LAYOUT.pack({})[:8]
_NO_DLH = (None,) * 10


def md_text(raw: bytes) -> str:
    """Text of an MQMD field (rule 2)."""
    raw = _significant(raw)
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


def _significant(raw: bytes) -> bytes:
    """The bytes of a name in ASCII."""
    return raw.partition(b"\0")[0].rstrip(b" ")


def has_native_dlh(encoding: int, ccsid: int, body: bytes) -> bool:
    """Whether a body begins with a valid MQDLH in this machine's byte order and in ASCII: the usual case, read fast.

    Its text may still have characters beyond ASCII.
    """
    native = encoding & c.MQENC_INTEGER_MASK == c.MQENC_NATIVE & c.MQENC_INTEGER_MASK
    return native and ccsid in ASCII_CCSIDS and len(body) >= MQDLH_LAYOUT.size and body[:8] == _DLH_BEGIN


def dlh_of(raw_format: bytes, encoding: int, ccsid: int, body: bytes) -> tuple[MQDLH, bytes]:
    """The MQDLH that a body begins with, by rule 3, and the bytes after it.

    Raises:
        WireError: there is no valid one.
    """
    split = split_dlh(raw_format, encoding, ccsid, _ended(body[: MQDLH_LAYOUT.size]), any_format=True)
    assert split is not None
    names: dict[str, Any] = {name: before_nul(getattr(split[0], name)) for name in _DLH_TEXTS}
    return replace(split[0], **names), body[MQDLH_LAYOUT.size :]


def _ended(header: bytes) -> bytes:
    """An MQDLH with NULs in place of what follows the first NUL of each name, so that all of it is text."""
    if len(header) < MQDLH_LAYOUT.size:
        return header
    changed = bytearray(header)
    _write_dlh_texts(changed, *(name.partition(b"\0")[0].ljust(len(name), b"\0") for name in _read_dlh_texts(header)))
    return bytes(changed)


def _dlh_columns(raw_format: bytes, encoding: int, ccsid: int, body: bytes) -> tuple[Any, ...]:
    if has_native_dlh(encoding, ccsid, body):
        values = [value if isinstance(value, int) else _significant(value) for value in _read_dlh(body)]
        if all(value.isascii() for value in values if isinstance(value, bytes)):
            return (*(value if isinstance(value, int) else value.decode("ascii") for value in values), None)
    try:
        dlh, _rest = dlh_of(raw_format, encoding, ccsid, body)
    except WireError as error:
        return (*_NO_DLH, str(error))
    return (
        *(dlh.reason, dlh.dest_q_name, dlh.dest_q_mgr_name, dlh.encoding, dlh.coded_char_set_id, dlh.format),
        *(dlh.put_appl_type, dlh.put_appl_name, dlh.put_date, dlh.put_time, None),
    )
