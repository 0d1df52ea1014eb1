"""What the queue manager changes in the headers of a message that is put.

1. A header that says MQCCSI_INHERIT of what follows it is given its own actual CCSID; MQGET never returns the special
   value (IBM MQ, "CodedCharSetId" of MQDLH, MQMDE, MQRFH, MQRFH2, MQDH, MQRMH and MQWIH). MQIIH and MQCIH, whose field
   is reserved, are left alone, and so is whatever stands behind a header that is not valid.
2. The group and segment fields of a segment with Format MQDEAD go into an MQMDE between the MQDLH and the data (IBM MQ,
   "MQMDE": "There is one special case").
3. An MQMDE in front of the data of a putter whose descriptor has no such fields, or their defaults, is taken into the
   descriptor. One in another character set or byte order than the queue manager's is data like any other (IBM MQ,
   "MQMDE specified on MQPUT and MQPUT1 calls").
"""

from __future__ import annotations

import struct
from dataclasses import replace

from mqlite.messages import descriptor as d
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import Says, inherited, is_header, walk_far
from mqwire.structures import MQDLH, MQMDE

_INHERIT = tuple(struct.pack(f"{order}i", c.MQCCSI_INHERIT) for order in "<>")
_SEGMENT = c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT


def with_actual_ccsids(md: bytearray, body: bytes) -> bytes:
    """Rule 1. Parameters: `md` the descriptor, whose own CCSID is resolved; `body` all that follows it."""
    format_name = d.format_of(md)
    if not is_header(format_name) or not any(one in body for one in _INHERIT):
        return body
    changed = bytearray(body)
    encoding, ccsid = d.encoding_of(md)
    chain, _error = walk_far(format_name, encoding, ccsid, body)
    for header in chain.headers:
        value = header.value
        if header.says is Says.ITSELF and value.LAYOUT.reader("coded_char_set_id", encoding=header.encoding)(
            body, offset=header.offset
        ) == (c.MQCCSI_INHERIT,):
            write = value.LAYOUT.writer("coded_char_set_id", encoding=header.encoding)
            write(changed, header.ccsid, offset=header.offset)
    return bytes(changed)


def with_extension_behind_dlh(md: bytearray, body: bytes, ccsid: int) -> tuple[bytearray, bytes]:
    """Rule 2: descriptor and data as they are kept. Parameters: `ccsid` of the queue manager, for the MQMDE."""
    if not d.flags_of(md) & _SEGMENT or d.format_of(md) != c.MQFMT_DEAD_LETTER_HEADER:
        return md, body
    encoding, own = d.encoding_of(md)
    try:
        dlh = MQDLH.unpack(body, encoding=encoding, ccsid=own)
    except WireError:
        return md, body  # the queue manager does not require that there is one
    _, _, group_id, sequence, offset, flags, original = d.version_2(md)
    extension = MQMDE(
        encoding=dlh.encoding, coded_char_set_id=dlh.coded_char_set_id, format=dlh.format, group_id=group_id,
        msg_seq_number=sequence, offset=offset, msg_flags=flags, original_length=original,
    ).pack(ccsid=ccsid)  # fmt: skip
    says = replace(dlh, format=c.MQFMT_MD_EXTENSION, encoding=c.MQENC_NATIVE, coded_char_set_id=ccsid)
    kept = bytearray(md)
    kept[d.LENGTH_1 :] = d.EXTENSION
    return kept, says.pack(encoding=encoding, ccsid=own) + extension + body[MQDLH.LAYOUT.size :]


def unfold_extension(md: bytearray, body: bytes, ccsid: int) -> bytes:
    """Rule 3; returns the data behind the MQMDE.

    Parameters: `md` whose fields of version 2 have their defaults; `ccsid` what MQCCSI_Q_MGR means in it.
    """
    if d.format_of(md) != c.MQFMT_MD_EXTENSION or md[d.LENGTH_1 :] != d.EXTENSION:
        return body
    encoding, said = d.encoding_of(md)
    own = ccsid if said in (c.MQCCSI_Q_MGR, c.MQCCSI_APPL, c.MQCCSI_INHERIT) else said
    if encoding & c.MQENC_INTEGER_MASK != c.MQENC_NATIVE & c.MQENC_INTEGER_MASK:
        return body
    try:
        MQMDE.unpack(body, encoding=encoding, ccsid=ccsid)  # in the queue manager's character set,
        found = MQMDE.unpack(body, encoding=encoding, ccsid=own)  # and in the one that is said
    except WireError:
        return body
    if found.struc_length != MQMDE.LAYOUT.size:
        return body
    d.set_version_2(md, found.group_id, found.msg_seq_number, found.offset, found.msg_flags, found.original_length)
    d.set_encoding(md, found.encoding, inherited(found.coded_char_set_id, own))
    d.set_format(md, found.format)
    return body[MQMDE.LAYOUT.size :]
