"""What stands on a transmission queue: the message behind an MQXQH that says where it goes."""

from __future__ import annotations

import struct
from dataclasses import replace

from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.objects.caller import Caller
from mqlite.objects.resolve import Resolved
from mqwire import constants as c
from mqwire.structures import MQMD, MQMDE, MQXQH

XQH_LENGTH = MQXQH.LAYOUT.size
BEGINNING = b"XQH " + struct.pack("<i", c.MQXQH_VERSION_1)
EMBEDDED = XQH_LENGTH - d.LENGTH_1


def transmit(
    connection: Caller, resolved: Resolved, md: bytearray, body: bytes, *, msg_id: bytes
) -> tuple[bytearray, bytes]:
    """Descriptor and data of a message as it stands on the transmission queue (E13: both Expiry fields equal).

    Fields of version 2 that say something follow in an MQMDE.
    """
    inner = MQMD.unpack(bytes(md))
    extension = b""
    if bytes(md[d.LENGTH_1 :]) != d.EXTENSION:
        extension = MQMDE(
            encoding=inner.encoding, coded_char_set_id=inner.coded_char_set_id, format=inner.format,
            group_id=inner.group_id, msg_seq_number=inner.msg_seq_number, offset=inner.offset,
            msg_flags=inner.msg_flags, original_length=inner.original_length,
        ).pack()  # fmt: skip
    embedded = inner_descriptor(inner, extended=bool(extension))
    header = MQXQH(
        remote_q_name=resolved.remote_queue, remote_q_mgr_name=resolved.remote_queue_manager, msg_desc=embedded
    ).pack()
    outer = bytearray(d.EMPTY)
    outer[:] = MQMD(
        format=c.MQFMT_XMIT_Q_HEADER, expiry=inner.expiry, priority=inner.priority, persistence=inner.persistence,
        msg_id=msg_id, correl_id=inner.msg_id, coded_char_set_id=819, report=inner.report & REPORTS_OF_TRANSIT,
        reply_to_q=inner.reply_to_q, reply_to_q_mgr=inner.reply_to_q_mgr,
    ).pack()  # fmt: skip
    d.set_identity(outer, *d.identity_context(md))
    d.set_origin(outer, c.MQAT_QMGR, connection.manager.name[:28], *d.put_moment(), b"")
    return outer, header + extension + body


REPORTS_OF_TRANSIT = c.MQRO_EXPIRATION_WITH_FULL_DATA | c.MQRO_PASS_MSG_ID | c.MQRO_PASS_CORREL_ID


def inner_descriptor(inner: MQMD, *, extended: bool) -> MQMD:
    """The descriptor that the MQXQH embeds: version 1, and with an MQMDE behind it in that one's format."""
    plain = replace(
        inner, version=1, group_id=c.MQGI_NONE, msg_seq_number=1, offset=0, msg_flags=0,
        original_length=c.MQOL_UNDEFINED,
    )  # fmt: skip
    if not extended:
        return plain
    return replace(plain, format=c.MQFMT_MD_EXTENSION, encoding=c.MQENC_NATIVE, coded_char_set_id=819)


def check_transmitted(md: bytearray, body: bytes) -> None:
    """A put straight to a transmission queue brings its own MQXQH, and says so; its Expiry is valid and agrees (E14).

    Raises Failure (MQRC_XQH_ERROR, MQRC_EXPIRY_ERROR).
    """
    if not d.is_transmitted(md) or len(body) < XQH_LENGTH or body[:8] != BEGINNING:
        raise Failure(c.MQRC_XQH_ERROR)
    inner = struct.unpack_from("<i", body, EMBEDDED + MQMD.LAYOUT.offset("Expiry"))[0]
    outer = d.expiry_of(md)
    if inner != c.MQEI_UNLIMITED and not 0 < inner <= d.LONGEST_EXPIRY:
        raise Failure(c.MQRC_EXPIRY_ERROR)
    if (inner == c.MQEI_UNLIMITED) != (outer == c.MQEI_UNLIMITED):
        raise Failure(c.MQRC_EXPIRY_ERROR)
