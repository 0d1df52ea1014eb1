"""Where the group and segment fields of a message are: in its MQMD, or in an MQMDE behind its MQDLH or its MQXQH.

The queue manager moves those of a segment that is put with Format MQDEAD into an MQMDE between the MQDLH and the data,
and those of a message on its way to another queue manager into one behind the MQXQH. The MQMD then has the defaults
(IBM MQ, "MQMDE - Message descriptor extension"). An MQMDE anywhere else, or under an MQMD with other values, is data.
"""

from __future__ import annotations

from mqops.observe.core.payload import Described
from mqwire import constants as c
from mqwire.fields import before_nul
from mqwire.headers import Header, inherited, walk_far
from mqwire.structures import MQDLH_LAYOUT, MQMD, MQMD_LAYOUT, MQMDE, MQXQH

_VERSION_1 = MQMD_LAYOUT.length(1)
_DEFAULTS = MQMD().pack()[_VERSION_1:]
_FIELDS = ("group_id", "msg_seq_number", "offset", "msg_flags", "original_length")
_write_fields = MQMD_LAYOUT.writer(*_FIELDS)
_read_description = MQMD_LAYOUT.reader("encoding", "coded_char_set_id", "format")
_describe_data = MQMD_LAYOUT.writer("encoding", "coded_char_set_id", "format")
_EXTENSION, _FORMAT = c.MQFMT_MD_EXTENSION.encode(), MQMD_LAYOUT.offset("format")
FORMATS = (c.MQFMT_MD_EXTENSION, c.MQFMT_XMIT_Q_HEADER)
"""Formats of what stands behind the MQDLH, or the MQMD, of a message that may have such an MQMDE."""


def extension_of(md: bytes, described: Described, offset: int, body: bytes) -> MQMDE | None:
    """The MQMDE that has the fields; None if they are in the MQMD.

    Parameters: `md` an MQMD of version 2 in this machine's byte order; `offset` where what is behind the MQDLH begins,
    0 for a message without one; `described` what is said of that.
    """
    name = _name(described.format)
    if name not in FORMATS or md[_VERSION_1:] != _DEFAULTS:
        return None
    chain, _error = walk_far(name, described.encoding, described.ccsid, body, offset=offset)
    before: Header | None = None
    for header in chain.headers:
        if isinstance(header.value, MQMDE):
            behind_dlh = before is None and offset == MQDLH_LAYOUT.size
            return header.value if behind_dlh or (before is not None and isinstance(before.value, MQXQH)) else None
        before = header
    return None


def with_fields_in_md(md: bytes, body: bytes) -> tuple[bytes, bytes]:
    """A message from which the MQDLH was taken off, with the fields back in the MQMD and without the MQMDE.

    Parameters: `md` that says of `body` what the MQDLH said.
    """
    if not md.startswith(_EXTENSION, _FORMAT):
        return md, body  # nearly every message
    encoding, ccsid, raw_format = _read_description(md)
    if _name(raw_format) != c.MQFMT_MD_EXTENSION:
        return md, body
    size = MQDLH_LAYOUT.size
    found = extension_of(md, Described(raw_format, encoding, ccsid), size, bytes(size) + body)
    if found is None:
        return md, body
    changed = bytearray(md)
    _write_fields(changed, *(getattr(found, name) for name in _FIELDS))
    _describe_data(changed, found.encoding, inherited(found.coded_char_set_id, ccsid), found.format)
    return bytes(changed), body[MQMDE.LAYOUT.size :]


def _name(raw: str | bytes) -> str:
    return before_nul(raw if isinstance(raw, str) else raw.decode("latin-1"))
