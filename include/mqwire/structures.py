"""The message structures as frozen values: MQMD, MQMDE, MQDLH, MQXQH, MQTM, MQTMC2. Knows layouts, no queue.

Attributes are MQ's field names in snake_case. Text has no trailing blanks (NUL is kept); identifiers are ``bytes``. The
table above each class is the wire order; ``pack`` of what ``unpack`` gave is identical byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import Field, byte, char, long
from mqwire.layout import Buffer, Layout


class Structure:
    """What all structures share: a layout and the way in and out of bytes."""

    __slots__ = ()
    LAYOUT: ClassVar[Layout]

    @classmethod
    def unpack(cls, raw: Buffer, *, offset: int = 0, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> Self:
        """The structure that begins at ``offset``.

        :param raw: bytes; more may follow the structure
        :param encoding: Encoding of the structure's own integers
        :param ccsid: CCSID of the structure's own text
        :raises WireError: naming structure, field and offset
        """
        values = cls.LAYOUT.unpack(raw, offset=offset, encoding=encoding, ccsid=ccsid)
        if cls.LAYOUT.struc_id is not None:
            del values["struc_id"]
        return cls(**values)

    def pack(self, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> bytes:
        """The bytes of the structure, as long as its version says.

        :param encoding: Encoding of the integers written
        :param ccsid: CCSID of the text written
        :raises WireError: a value does not fit
        """
        return self.LAYOUT.pack(self.values(), encoding=encoding, ccsid=ccsid)

    def _keys(self) -> tuple[str, ...]:
        return self.LAYOUT.keys if self.LAYOUT.struc_id is None else self.LAYOUT.keys[1:]

    def values(self) -> dict[str, Any]:
        """Attribute name to value, in wire order."""
        return {key: getattr(self, key) for key in self._keys()}


MQMD_LAYOUT = Layout(
    "MQMD",
    [
        char("StrucId", 4, c.MQMD_STRUC_ID),
        long("Version", c.MQMD_VERSION_1),
        long("Report"),
        long("MsgType", c.MQMT_DATAGRAM),
        long("Expiry", c.MQEI_UNLIMITED),
        long("Feedback"),
        long("Encoding", c.MQENC_NATIVE),
        long("CodedCharSetId", c.MQCCSI_Q_MGR),
        char("Format", 8),
        long("Priority", c.MQPRI_PRIORITY_AS_Q_DEF),
        long("Persistence", c.MQPER_PERSISTENCE_AS_Q_DEF),
        byte("MsgId", 24),
        byte("CorrelId", 24),
        long("BackoutCount"),
        char("ReplyToQ", 48),
        char("ReplyToQMgr", 48),
        char("UserIdentifier", 12),
        byte("AccountingToken", 32),
        char("ApplIdentityData", 32),
        long("PutApplType", c.MQAT_NO_CONTEXT),
        char("PutApplName", 28),
        char("PutDate", 8),
        char("PutTime", 8),
        char("ApplOriginData", 4),
        byte("GroupId", 24, since=2),
        long("MsgSeqNumber", 1, since=2),
        long("Offset", 0, since=2),
        long("MsgFlags", 0, since=2),
        long("OriginalLength", c.MQOL_UNDEFINED, since=2),
    ],
    struc_id=c.MQMD_STRUC_ID,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQMD(Structure):
    """Message descriptor, 324 bytes in version 1, 364 in version 2 (the default here: the descriptor as got).

    Expiry is in tenths of a second, -1 unlimited. ``put_date`` and ``put_time`` are GMT, YYYYMMDD and HHMMSSTH.
    """

    LAYOUT: ClassVar[Layout] = MQMD_LAYOUT

    version: int = 2
    report: int = 0
    msg_type: int = c.MQMT_DATAGRAM
    expiry: int = c.MQEI_UNLIMITED
    feedback: int = c.MQFB_NONE
    encoding: int = c.MQENC_NATIVE
    coded_char_set_id: int = c.MQCCSI_Q_MGR
    format: str = c.MQFMT_NONE
    priority: int = c.MQPRI_PRIORITY_AS_Q_DEF
    persistence: int = c.MQPER_PERSISTENCE_AS_Q_DEF
    msg_id: bytes = c.MQMI_NONE
    correl_id: bytes = c.MQCI_NONE
    backout_count: int = 0
    reply_to_q: str = ""
    reply_to_q_mgr: str = ""
    user_identifier: str = ""
    accounting_token: bytes = c.MQACT_NONE
    appl_identity_data: str = ""
    put_appl_type: int = c.MQAT_NO_CONTEXT
    put_appl_name: str = ""
    put_date: str = ""
    put_time: str = ""
    appl_origin_data: str = ""
    group_id: bytes = c.MQGI_NONE
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = c.MQOL_UNDEFINED


def header_fields(version: int, length: int) -> list[Field]:
    """Version to Flags, as every header of the MQH family (and MQMDE) begins."""
    return [
        long("Version", version),
        long("StrucLength", length),
        long("Encoding", 0),
        long("CodedCharSetId", c.MQCCSI_UNDEFINED),
        char("Format", 8),
        long("Flags", 0),
    ]


MQMDE_LAYOUT = Layout(
    "MQMDE",
    [
        char("StrucId", 4, c.MQMDE_STRUC_ID),
        *header_fields(c.MQMDE_VERSION_2, c.MQMDE_LENGTH_2),
        byte("GroupId", 24),
        long("MsgSeqNumber", 1),
        long("Offset"),
        long("MsgFlags"),
        long("OriginalLength", c.MQOL_UNDEFINED),
    ],
    struc_id=c.MQMDE_STRUC_ID,
    versions=[c.MQMDE_VERSION_2],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQMDE(Structure):
    """Message descriptor extension, 72 bytes: the version-2 fields of an MQMD where only version 1 can stand.

    ``encoding``, ``coded_char_set_id`` and ``format`` describe what follows.
    """

    LAYOUT: ClassVar[Layout] = MQMDE_LAYOUT

    version: int = c.MQMDE_VERSION_2
    struc_length: int = c.MQMDE_LENGTH_2
    encoding: int = c.MQENC_NATIVE
    coded_char_set_id: int = c.MQCCSI_UNDEFINED
    format: str = c.MQFMT_NONE
    flags: int = 0
    group_id: bytes = c.MQGI_NONE
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = c.MQOL_UNDEFINED


MQDLH_LAYOUT = Layout(
    "MQDLH",
    [
        char("StrucId", 4, c.MQDLH_STRUC_ID),
        long("Version", c.MQDLH_VERSION_1),
        long("Reason"),
        char("DestQName", 48),
        char("DestQMgrName", 48),
        long("Encoding"),
        long("CodedCharSetId", c.MQCCSI_UNDEFINED),
        char("Format", 8),
        long("PutApplType"),
        char("PutApplName", 28),
        char("PutDate", 8),
        char("PutTime", 8),
    ],
    struc_id=c.MQDLH_STRUC_ID,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQDLH(Structure):
    """Dead-letter header, 172 bytes: why a message is here and where it was to go.

    ``reason`` is an MQRC_ or MQFB_ value. ``encoding``, ``coded_char_set_id`` and ``format`` describe what follows.
    ``put_date`` and ``put_time`` (GMT, YYYYMMDD and HHMMSSTH) say when it was dead-lettered.
    """

    LAYOUT: ClassVar[Layout] = MQDLH_LAYOUT

    version: int = c.MQDLH_VERSION_1
    reason: int = c.MQRC_NONE
    dest_q_name: str = ""
    dest_q_mgr_name: str = ""
    encoding: int = 0
    coded_char_set_id: int = c.MQCCSI_UNDEFINED
    format: str = c.MQFMT_NONE
    put_appl_type: int = 0
    put_appl_name: str = ""
    put_date: str = ""
    put_time: str = ""


MQXQH_LAYOUT = Layout(
    "MQXQH",
    [
        char("StrucId", 4, c.MQXQH_STRUC_ID),
        long("Version", c.MQXQH_VERSION_1),
        char("RemoteQName", 48),
        char("RemoteQMgrName", 48),
        byte("MsgDesc", MQMD_LAYOUT.length(1)),
    ],
    struc_id=c.MQXQH_STRUC_ID,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQXQH(Structure):
    """Transmission queue header, 428 bytes: where a message goes, and its own descriptor (always version 1)."""

    LAYOUT: ClassVar[Layout] = MQXQH_LAYOUT

    version: int = c.MQXQH_VERSION_1
    remote_q_name: str = ""
    remote_q_mgr_name: str = ""
    msg_desc: MQMD = MQMD(version=c.MQMD_VERSION_1)

    @classmethod
    def unpack(cls, raw: Buffer, *, offset: int = 0, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> Self:
        """As ``Structure.unpack``; the embedded descriptor must be an MQMD of version 1."""
        values = cls.LAYOUT.unpack(raw, offset=offset, encoding=encoding, ccsid=ccsid)
        at = offset + cls.LAYOUT.offset("msg_desc")
        inner = MQMD.unpack(raw, offset=at, encoding=encoding, ccsid=ccsid)
        if inner.version != c.MQMD_VERSION_1:
            raise WireError("MQXQH", "MsgDesc", at, f"the embedded MQMD has version {inner.version}, not 1")
        return cls(**{k: v for k, v in values.items() if k not in {"struc_id", "msg_desc"}}, msg_desc=inner)

    def pack(self, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> bytes:
        """As ``Structure.pack``."""
        if self.msg_desc.version != c.MQMD_VERSION_1:
            at = self.LAYOUT.offset("msg_desc")
            raise WireError("MQXQH", "MsgDesc", at, f"the embedded MQMD has version {self.msg_desc.version}, not 1")
        values = self.values() | {"msg_desc": self.msg_desc.pack(encoding=encoding, ccsid=ccsid)}
        return self.LAYOUT.pack(values, encoding=encoding, ccsid=ccsid)


def _trigger_fields(appl_type: Field, version: Field, struc_id: str) -> list[Field]:
    return [
        char("StrucId", 4, struc_id),
        version,
        char("QName", 48),
        char("ProcessName", 48),
        char("TriggerData", 64),
        appl_type,
        char("ApplId", 256),
        char("EnvData", 128),
        char("UserData", 128),
    ]


MQTM_LAYOUT = Layout(
    "MQTM",
    _trigger_fields(long("ApplType"), long("Version", c.MQTM_VERSION_1), c.MQTM_STRUC_ID),
    struc_id=c.MQTM_STRUC_ID,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQTM(Structure):
    """Trigger message, 684 bytes: what the queue manager puts on an initiation queue (format MQTRIG)."""

    LAYOUT: ClassVar[Layout] = MQTM_LAYOUT

    version: int = c.MQTM_VERSION_1
    q_name: str = ""
    process_name: str = ""
    trigger_data: str = ""
    appl_type: int = 0
    appl_id: str = ""
    env_data: str = ""
    user_data: str = ""


MQTMC2_LAYOUT = Layout(
    "MQTMC2",
    [*_trigger_fields(char("ApplType", 4), Field("Version", "digits", 4, 2), c.MQTMC_STRUC_ID), char("QMgrName", 48)],
    struc_id=c.MQTMC_STRUC_ID,
    versions=[2],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQTMC2(Structure):
    """Trigger message in characters, 732 bytes: what a trigger monitor hands to the program it starts.

    ``version`` is written as the text ``"   2"``; ``appl_type`` is four characters, blank from most monitors.
    """

    LAYOUT: ClassVar[Layout] = MQTMC2_LAYOUT

    version: int = 2
    q_name: str = ""
    process_name: str = ""
    trigger_data: str = ""
    appl_type: str = ""
    appl_id: str = ""
    env_data: str = ""
    user_data: str = ""
    q_mgr_name: str = ""
