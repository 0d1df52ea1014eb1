"""One message as a row of the snapshot. `mqops.observe.by_columns` reads many at once and must give the same rows.

1. `md` and `body` are the bytes of the message. Every other column is read from them and can be read again.
2. Text of the MQMD is in the character set of the program that got the message, which is a superset of ASCII. It is
   read as UTF-8; if it is not valid UTF-8, as Latin-1, in which all bytes are valid. A name ends at its first NUL, as
   the queue manager reads it (IBM MQ, "Fields for MQOD"). Trailing blanks are removed.
3. The MQDLH is read with the Encoding and CCSID of the MQMD. Its bytes decide whether there is one, not the Format of
   the MQMD. Its names end at the first NUL, too, in EBCDIC as in ASCII. If there is no valid MQDLH, its columns are
   null and `dlh_error` gives the reason (D05).
4. The group and segment fields are those of the MQMD, or of the MQMDE into which the queue manager has moved them
   (`mqops.observe.core.group_fields`).
5. The columns of the data behind the headers are read by `mqops.observe.core.payload`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from mqops.ledger.core.identity import message_key
from mqops.observe.core.columns import SnapshotRow
from mqops.observe.core.group_fields import extension_of
from mqops.observe.core.payload import ASCII_CCSIDS, Described, behind_dlh, payload_of
from mqops.type_adapter import adapter_of
from mqwire import constants as c
from mqwire.errors import CutShort, WireError
from mqwire.fields import before_nul
from mqwire.headers import split_dlh
from mqwire.structures import MQDLH, MQDLH_LAYOUT, MQMD_LAYOUT

MD_COLUMNS: Mapping[str, str] = {
    **{name: name for name in ("msg_id", "correl_id", "group_id", "msg_seq_number", "msg_flags", "report", "msg_type")},
    **{"msg_offset": "offset", "ccsid": "coded_char_set_id"},
    **{name: name for name in ("expiry", "feedback", "encoding", "format", "priority", "persistence", "backout_count")},
    **{name: name for name in ("reply_to_q", "reply_to_q_mgr", "user_identifier", "appl_identity_data")},
    **{name: name for name in ("put_appl_type", "put_appl_name", "put_date", "put_time")},
}
"""Column → field of the MQMD."""
GROUP_COLUMNS: Mapping[str, str] = {
    **{name: name for name in ("group_id", "msg_seq_number", "msg_flags")},
    "msg_offset": "offset",
}
"""Column → field of the MQMD, or of the MQMDE that has it (rule 4)."""
DLH_COLUMNS: Mapping[str, str] = {
    **{"dlh_reason": "reason", "dlh_dest_q": "dest_q_name", "dlh_dest_q_mgr": "dest_q_mgr_name"},
    **{"dlh_encoding": "encoding", "dlh_ccsid": "coded_char_set_id", "dlh_format": "format"},
    **{"dlh_put_appl_type": "put_appl_type", "dlh_put_appl_name": "put_appl_name"},
    **{"dlh_put_date": "put_date", "dlh_put_time": "put_time"},
}
"""Column → field of the MQDLH."""
_MD_TEXTS = [column for column, field in MD_COLUMNS.items() if MQMD_LAYOUT.field(field).kind == "char"]
_read_md = MQMD_LAYOUT.reader(*MD_COLUMNS.values())
_read_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time", "format")
_read_dlh = MQDLH_LAYOUT.reader(*DLH_COLUMNS.values())
_DLH_TEXTS = [field for field in DLH_COLUMNS.values() if MQDLH_LAYOUT.field(field).kind == "char"]
_read_dlh_texts, _write_dlh_texts = MQDLH_LAYOUT.reader(*_DLH_TEXTS), MQDLH_LAYOUT.writer(*_DLH_TEXTS)
_DLH_BEGIN = MQDLH_LAYOUT.pack({})[:8]
_NO_DLH = dict.fromkeys(DLH_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsed:
    """The queue that the messages of a snapshot were browsed on.

    Attributes: `observed_at` when the browse began, in UTC.
    """

    queue_manager: str
    queue: str
    observed_at: datetime


def md_text(raw: bytes) -> str:
    """Text of an MQMD field (rule 2)."""
    raw = _significant(raw)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def snapshot_row(browsed: Browsed, position: int, md: bytes, body: bytes) -> SnapshotRow:
    """The row of a message.

    Parameters: `position` of the message on the queue, from 0; `md` an MQMD of version 2 in this machine's byte order
    (364 bytes); `body` all that follows it.
    """
    msg_id, correl_id, put_date, put_time, raw_format = _read_identity(md)
    digest = sha256(body).digest()
    fields = dict(zip(MD_COLUMNS, _read_md(md), strict=True))
    fields |= {column: md_text(fields[column]) for column in _MD_TEXTS}
    encoding, ccsid = fields["encoding"], fields["ccsid"]
    header = _dlh_columns(raw_format, encoding, ccsid, body)
    dead = None
    if header["dlh_error"] is None:
        dead = Described(header["dlh_format"], header["dlh_encoding"], header["dlh_ccsid"])
    told = Described(raw_format, encoding, ccsid)
    extension = extension_of(md, *behind_dlh(told, dead), body)
    if extension is not None:
        fields |= {column: getattr(extension, field) for column, field in GROUP_COLUMNS.items()}
    row = {
        **{"queue_manager": browsed.queue_manager, "queue": browsed.queue, "observed_at": browsed.observed_at},
        **{"position": position, "md": md, "body": body, "body_length": len(body), "body_sha256": digest},
        **{"msg_key": message_key(msg_id, correl_id, put_date, put_time, digest)},
        **fields,
        **header,
        **payload_of(told, dead, body, fields["msg_type"])._asdict(),
    }
    return adapter_of(SnapshotRow).validate_python(row)


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
        WireError: there is no valid one, or its Format could not be that of an MQMD again.
    """
    split = split_dlh(raw_format, encoding, ccsid, _ended(body[: MQDLH_LAYOUT.size]), any_format=True)
    assert split is not None
    names: dict[str, Any] = {name: before_nul(getattr(split[0], name)) for name in _DLH_TEXTS}
    try:
        names["format"].encode("latin-1")
    except UnicodeEncodeError as error:
        at = MQDLH_LAYOUT.offset("format")
        raise WireError("MQDLH", "Format", at, f"{names['format']!r} cannot be the Format of an MQMD") from error
    return replace(split[0], **names), body[MQDLH_LAYOUT.size :]


@lru_cache(maxsize=4096)
def error_of_first_bytes(encoding: int, ccsid: int, first: bytes) -> str | None:
    """Why no body that begins with these bytes has a valid MQDLH (`dlh_error`); None if that depends on the rest.

    Parameters: `encoding` and `ccsid` of the MQMD; `first` the first 4 bytes of the body, where StrucId would be.
    """
    try:
        dlh_of(b"", encoding, ccsid, first)
    except CutShort:
        return None
    except WireError as error:
        return str(error)
    raise AssertionError("4 bytes are not an MQDLH")


def _ended(header: bytes) -> bytes:
    """An MQDLH with NULs in place of what follows the first NUL of each name, so that all of it is text."""
    if len(header) < MQDLH_LAYOUT.size:
        return header
    changed = bytearray(header)
    _write_dlh_texts(changed, *(name.partition(b"\0")[0].ljust(len(name), b"\0") for name in _read_dlh_texts(header)))
    return bytes(changed)


def _dlh_columns(raw_format: bytes, encoding: int, ccsid: int, body: bytes) -> dict[str, Any]:
    if has_native_dlh(encoding, ccsid, body):
        values = [value if isinstance(value, int) else _significant(value) for value in _read_dlh(body)]
        if all(value.isascii() for value in values if isinstance(value, bytes)):
            texts = (value if isinstance(value, int) else value.decode("ascii") for value in values)
            return {**dict(zip(DLH_COLUMNS, texts, strict=True)), "dlh_error": None}
    try:
        dlh, _rest = dlh_of(raw_format, encoding, ccsid, body)
    except WireError as error:
        return {**_NO_DLH, "dlh_error": str(error)}
    return {**{column: getattr(dlh, field) for column, field in DLH_COLUMNS.items()}, "dlh_error": None}
