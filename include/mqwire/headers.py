"""The chain of headers in front of the data of a message. Knows structures, no queue.

1. Each header says Format, Encoding and CCSID of what follows (``Says``: who says it, by IBM's page of each header);
   its own fields are in those said by the one before, the first in those of the MQMD.
2. Headers are MQDEAD, MQXMIT, MQIMS, MQCICS and every format that begins with ``MQH``. MQDLH and MQXQH have their own
   layouts; all others begin with StrucId, Version, StrucLength, Encoding, CodedCharSetId, Format, Flags; what stands
   behind these is in ``mqwire.header_fields``. A Format ends at its first NUL.
3. CCSID -2 (inherit) said by a header is that header's own CCSID. 0 (queue manager) is ``q_mgr_ccsid`` where that is
   given; else it stays 0, and text that would need it is refused.
4. Nothing is guessed: a header that is not what its format says raises, naming structure, field and offset. An Encoding
   or CCSID that is unknown is reported for the header that has it. Offsets are those of the
   body, but for the MQMD in front of it, which has its own.
5. A chain has at most ``HEADERS`` headers.
6. A report has the Format of its original, and none, some or all of its data (IBM MQ, "Conversion of report messages"):
   where nothing is left of it, there is no header.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

from mqwire import constants as c
from mqwire.errors import UnknownCcsid, UnknownEncoding, WireError
from mqwire.fields import before_nul, char
from mqwire.layout import Buffer, Layout
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD_LAYOUT, MQMDE, MQXQH, Structure, header_fields

HEADERS = 32
"""Headers of a chain: real ones have one to four; each costs time and memory, whatever its length."""
MQH_LAYOUT = Layout("MQH", [char("StrucId", 4), *header_fields(1, 32)], versions=range(1, 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class MQH(Structure):
    """The 32 bytes that MQIIH, MQCIH, MQDH, MQRFH, MQRMH, MQWIH, MQEPH and MQSAPH begin with."""

    LAYOUT: ClassVar[Layout] = MQH_LAYOUT

    struc_id: str = ""
    version: int = 1
    struc_length: int = 32
    encoding: int = 0
    coded_char_set_id: int = c.MQCCSI_UNDEFINED
    format: str = c.MQFMT_NONE
    flags: int = 0


HeaderValue = MQDLH | MQXQH | MQMDE | MQRFH2 | MQH


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """One header of a chain.

    ``offset`` and ``length`` in bytes of the body; ``encoding`` and ``ccsid`` are those of the header's own fields.
    """

    name: str
    offset: int
    length: int
    value: HeaderValue
    encoding: int
    ccsid: int

    @property
    def says(self) -> Says:
        """Who says Encoding and CCSID of what follows."""
        return next((kind.says for kind in _KINDS.values() if kind.title == self.name), Says.ITSELF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """All headers, and what they say about the data that begins at ``payload_offset``."""

    headers: tuple[Header, ...]
    format: str
    encoding: int
    ccsid: int
    payload_offset: int

    def first(self, name: str) -> Header | None:
        """The first header of this MQ name, such as ``"MQRFH2"``, or None."""
        return next((header for header in self.headers if header.name == name), None)


class Says(Enum):
    """Who says Encoding and CCSID of what follows a header; its Format is always said by itself."""

    ITSELF = "its own fields"
    MSG_DESC = "the MQMD that it embeds"
    BEFORE = "what stands before it: its own fields are reserved, and the data is in the format of the header"


class _Kind(NamedTuple):
    title: str
    says: Says
    structure: type[MQDLH | MQXQH | MQMDE | MQRFH2] | None = None
    struc_id: str = ""
    least: int = 32


_KINDS: dict[str, _Kind] = {
    # MQDLH: "of the data that follows the MQDLH structure (usually the data from the original message)"
    c.MQFMT_DEAD_LETTER_HEADER: _Kind("MQDLH", Says.ITSELF, MQDLH),
    # MQXQH: the data is that of the message; its own descriptor is MsgDesc
    c.MQFMT_XMIT_Q_HEADER: _Kind("MQXQH", Says.MSG_DESC, MQXQH),
    # MQMDE: "of the data that follows the MQMDE structure"
    c.MQFMT_MD_EXTENSION: _Kind("MQMDE", Says.ITSELF, MQMDE),
    # MQRFH2: "of the data that follows the last NameValueData field"
    c.MQFMT_RF_HEADER_2: _Kind("MQRFH2", Says.ITSELF, MQRFH2),
    # MQRFH: "of the data that follows NameValueString"
    c.MQFMT_RF_HEADER_1: _Kind("MQRFH", Says.ITSELF, None, "RFH", 32),
    # MQIIH, MQCIH: both fields are reserved; "the application message data following the structure must be in the same
    # character set and encoding as the structure"
    c.MQFMT_IMS: _Kind("MQIIH", Says.BEFORE, None, "IIH", 84),
    c.MQFMT_CICS: _Kind("MQCIH", Says.BEFORE, None, "CIH", 164),
    # MQDH: "of the data that follows the arrays of MQOR and MQPMR records"
    c.MQFMT_DIST_HEADER: _Kind("MQDH", Says.ITSELF, None, "DH", 48),
    # MQRMH: "of the bulk data"
    c.MQFMT_REF_MSG_HEADER: _Kind("MQRMH", Says.ITSELF, None, "RMH", 108),
    # MQWIH: "of the data that follows the MQWIH structure"
    c.MQFMT_WORK_INFO_HEADER: _Kind("MQWIH", Says.ITSELF, None, "WIH", 120),
    # MQEPH: "of the data that follows the MQEPH structure and the associated PCF parameters"
    c.MQFMT_EMBEDDED_PCF: _Kind("MQEPH", Says.ITSELF, None, "EPH", 68),
    # MQSAPH (IBM MQ classes for Java): "Data encoding", "Data CCSID"
    "MQHSAP": _Kind("MQSAPH", Says.ITSELF, None, "SAPH", 108),
}


def is_header(format_name: str) -> bool:
    """Whether a Format names a header that is followed by more."""
    return format_name in _KINDS or format_name.startswith("MQH")


def _kind(format_name: str) -> _Kind:
    """The header that a Format says; of one that is not known its title is the Format itself."""
    return _KINDS.get(format_name) or _Kind(format_name, Says.ITSELF)


def walk(
    format: str | bytes,
    encoding: int,
    ccsid: int,
    body: Buffer,
    *,
    offset: int = 0,
    q_mgr_ccsid: int | None = None,
    msg_type: int = c.MQMT_DATAGRAM,
) -> Chain:
    """The headers from ``offset`` on.

    :param format: MQMD.Format, as text or as its eight bytes in ASCII
    :param encoding: MQMD.Encoding
    :param ccsid: MQMD.CodedCharSetId
    :param q_mgr_ccsid: what CCSID 0 stands for
    :param msg_type: MQMD.MsgType: of a report (rule 6), or not
    :raises WireError: a header is cut short or not what its format says, or there are more than ``HEADERS``
    """
    chain, error = walk_far(format, encoding, ccsid, body, offset=offset, q_mgr_ccsid=q_mgr_ccsid, msg_type=msg_type)
    if error is not None:
        raise error
    return chain


def walk_far(
    format: str | bytes,
    encoding: int,
    ccsid: int,
    body: Buffer,
    *,
    offset: int = 0,
    q_mgr_ccsid: int | None = None,
    msg_type: int = c.MQMT_DATAGRAM,
) -> tuple[Chain, WireError | None]:
    """The headers from ``offset`` to the first that is not valid, and why that is not; parameters as ``walk``.

    The chain then says what was announced where the error is: nothing behind that place is known.
    """
    headers: list[Header] = []
    name = _format_name(format)
    failed: WireError | None = None
    while is_header(name) and not (msg_type == c.MQMT_REPORT and offset == len(body)):
        try:
            if len(headers) == HEADERS:
                raise WireError(_kind(name).title, "StrucId", offset, f"there are more than {HEADERS} headers")
            header = _header(name, encoding, _resolved(ccsid, q_mgr_ccsid), body, offset)
        except (UnknownEncoding, UnknownCcsid) as error:
            failed = _said_by(headers[-1] if headers else None, error)
            failed.__cause__ = error
            break
        except WireError as error:
            failed = error
            break
        headers.append(header)
        offset += header.length
        name, encoding, ccsid = said_behind(header)
    chain = Chain(
        headers=tuple(headers),
        format=name,
        encoding=encoding,
        ccsid=_resolved(ccsid, q_mgr_ccsid),
        payload_offset=offset,
    )
    return chain, failed


def said_behind(header: Header) -> tuple[str, int, int]:
    """Format, Encoding and CCSID of what follows a header (rules 1 and 3)."""
    value = header.value.msg_desc if isinstance(header.value, MQXQH) else header.value
    name = _format_name(value.format)
    if header.says is Says.BEFORE:
        return name, header.encoding, header.ccsid
    return name, value.encoding, inherited(value.coded_char_set_id, header.ccsid)


def inherited(said: int, own: int) -> int:
    """The CCSID that a header says of what follows: MQCCSI_INHERIT is its own (IBM MQ, "CodedCharSetId for MQDLH")."""
    return own if said == c.MQCCSI_INHERIT else said


def split_dlh(
    md_format: str | bytes,
    md_encoding: int,
    md_ccsid: int,
    body: Buffer,
    *,
    q_mgr_ccsid: int | None = None,
    any_format: bool = False,
) -> tuple[MQDLH, bytes] | None:
    """The MQDLH a body begins with and the bytes after it; None if MQMD.Format is not MQDEAD.

    :param any_format: look at the bytes even if the format is another one
    :raises WireError: MQMD.Format is MQDEAD (or ``any_format``) but there is no valid MQDLH
    """
    if not any_format and _format_name(md_format) != c.MQFMT_DEAD_LETTER_HEADER:
        return None
    try:
        dlh = MQDLH.unpack(body, encoding=md_encoding, ccsid=_resolved(md_ccsid, q_mgr_ccsid))
    except (UnknownEncoding, UnknownCcsid) as error:
        raise _said_by(None, error) from error
    return dlh, bytes(body[MQDLH.LAYOUT.size :])


def _format_name(raw: str | bytes) -> str:
    return before_nul(raw if isinstance(raw, str) else raw.decode("latin-1"))


def _resolved(ccsid: int, q_mgr_ccsid: int | None) -> int:
    return q_mgr_ccsid if ccsid == c.MQCCSI_Q_MGR and q_mgr_ccsid is not None else ccsid


def _said_by(header: Header | None, error: UnknownEncoding | UnknownCcsid) -> WireError:
    """The error with the field that says the Encoding or CCSID: the MQMD's, where there is no header before."""
    field = "encoding" if isinstance(error, UnknownEncoding) else "coded_char_set_id"
    name, layout, at = ("MQMD", MQMD_LAYOUT, 0) if header is None else (header.name, header.value.LAYOUT, header.offset)
    if header is not None and isinstance(header.value, MQXQH):  # its embedded descriptor
        name, layout, at = "MQMD", MQMD_LAYOUT, at + layout.offset("msg_desc")
    return type(error)(name, layout.field(field).name, at + layout.offset(field), error.message)


def _header(name: str, encoding: int, ccsid: int, body: Buffer, offset: int) -> Header:
    title, _, structure, struc_id, least = _kind(name)
    if structure is not None:
        own = structure.unpack(body, offset=offset, encoding=encoding, ccsid=ccsid)
        length = own.struc_length if isinstance(own, MQRFH2) else structure.LAYOUT.size
        if isinstance(own, MQMDE) and own.struc_length != length:
            at = offset + structure.LAYOUT.offset("struc_length")
            raise WireError(title, "StrucLength", at, f"{own.struc_length} is not {length}")
        return Header(name=title, offset=offset, length=length, value=own, encoding=encoding, ccsid=ccsid)
    value = _begin(title, encoding, ccsid, body, offset)
    if struc_id and value.struc_id != struc_id:
        raise WireError(title, "StrucId", offset, f"{value.struc_id!r} is not {struc_id!r}")
    if not least <= value.struc_length <= len(body) - offset:
        at = offset + MQH_LAYOUT.offset("struc_length")
        raise WireError(title, "StrucLength", at, f"{value.struc_length} is not from {least} to {len(body) - offset}")
    return Header(name=title, offset=offset, length=value.struc_length, value=value, encoding=encoding, ccsid=ccsid)


def _begin(title: str, encoding: int, ccsid: int, body: Buffer, offset: int) -> MQH:
    try:
        return MQH.unpack(body, offset=offset, encoding=encoding, ccsid=ccsid)
    except WireError as error:
        raise type(error)(title, error.field, error.offset, error.message) from error
