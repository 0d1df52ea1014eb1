"""Layouts of the MQI call structures in the native C ABI of 64-bit Linux. Knows no call and no queue.

A nested MQCHARV ``ObjectString`` appears as ``object_string_vs_ptr``, ``..._vs_offset``, ``..._vs_buf_size``,
``..._vs_length``, ``..._vs_ccsid``. Callers' names may end at a NUL: ``fields.text`` reads them as the MQI does.
Lengths by version come from the tables; tests hold them against a C compiler.
"""

from __future__ import annotations

from mqwire import client_structures
from mqwire import constants as c
from mqwire.fields import Field, byte, char, int64, long, pointer
from mqwire.layout import Layout
from mqwire.structures import MQMD_LAYOUT


def charv(name: str, since: int = 1) -> list[Field]:
    """The five fields of an MQCHARV."""
    return [
        pointer(f"{name}VSPtr", since),
        long(f"{name}VSOffset", 0, since),
        long(f"{name}VSBufSize", 0, since),
        long(f"{name}VSLength", 0, since),
        long(f"{name}VSCCSID", c.MQCCSI_APPL, since),
    ]


def _layout(name: str, struc_id: str, fields: list[Field]) -> Layout:
    head = [char("StrucId", 4, struc_id), long("Version", 1)]
    return Layout(name, [*head, *fields], struc_id=struc_id, aligned=True)


MQMD = MQMD_LAYOUT

MQCHARV = Layout("MQCHARV", charv(""), aligned=True)

MQBO = _layout("MQBO", c.MQBO_STRUC_ID, [long("Options")])

MQCMHO = _layout("MQCMHO", c.MQCMHO_STRUC_ID, [long("Options")])

MQDMHO = _layout("MQDMHO", c.MQDMHO_STRUC_ID, [long("Options")])

MQDMPO = _layout("MQDMPO", c.MQDMPO_STRUC_ID, [long("Options")])

MQSRO = _layout("MQSRO", c.MQSRO_STRUC_ID, [long("Options"), long("NumPubs")])

MQSMPO = _layout(
    "MQSMPO",
    c.MQSMPO_STRUC_ID,
    [long("Options"), long("ValueEncoding", c.MQENC_NATIVE), long("ValueCCSID", c.MQCCSI_APPL)],
)

MQPD = _layout(
    "MQPD",
    c.MQPD_STRUC_ID,
    [
        long("Options"),
        long("Support", c.MQPD_SUPPORT_OPTIONAL),
        long("Context", c.MQPD_NO_CONTEXT),
        long("CopyOptions", c.MQCOPY_DEFAULT),
    ],
)

MQIMPO = _layout(
    "MQIMPO",
    c.MQIMPO_STRUC_ID,
    [
        long("Options"),
        long("RequestedEncoding", c.MQENC_NATIVE),
        long("RequestedCCSID", c.MQCCSI_APPL),
        long("ReturnedEncoding", c.MQENC_NATIVE),
        long("ReturnedCCSID"),
        long("Reserved1"),
        *charv("ReturnedName"),
        char("TypeString", 8),
    ],
)

MQOD = _layout(
    "MQOD",
    c.MQOD_STRUC_ID,
    [
        long("ObjectType", c.MQOT_Q),
        char("ObjectName", 48),
        char("ObjectQMgrName", 48),
        char("DynamicQName", 48, "AMQ.*"),
        char("AlternateUserId", 12),
        long("RecsPresent", 0, 2),
        long("KnownDestCount", 0, 2),
        long("UnknownDestCount", 0, 2),
        long("InvalidDestCount", 0, 2),
        long("ObjectRecOffset", 0, 2),
        long("ResponseRecOffset", 0, 2),
        pointer("ObjectRecPtr", 2),
        pointer("ResponseRecPtr", 2),
        byte("AlternateSecurityId", 40, 3),
        char("ResolvedQName", 48, "", 3),
        char("ResolvedQMgrName", 48, "", 3),
        *charv("ObjectString", 4),
        *charv("SelectionString", 4),
        *charv("ResObjectString", 4),
        long("ResolvedType", c.MQOT_NONE, 4),
    ],
)

MQGMO = _layout(
    "MQGMO",
    c.MQGMO_STRUC_ID,
    [
        long("Options", c.MQGMO_NO_WAIT),
        long("WaitInterval"),
        long("Signal1"),
        long("Signal2"),
        char("ResolvedQName", 48),
        long("MatchOptions", c.MQMO_MATCH_MSG_ID + c.MQMO_MATCH_CORREL_ID, 2),
        Field("GroupStatus", "int8", 0, c.MQGS_NOT_IN_GROUP, 2),
        Field("SegmentStatus", "int8", 0, c.MQSS_NOT_A_SEGMENT, 2),
        Field("Segmentation", "int8", 0, c.MQSEG_INHIBITED, 2),
        Field("Reserved1", "int8", 0, 0x20, 2),
        byte("MsgToken", 16, 3),
        long("ReturnedLength", c.MQRL_UNDEFINED, 3),
        long("Reserved2", 0, 4),
        int64("MsgHandle", 0, 4),
    ],
)

MQPMO = _layout(
    "MQPMO",
    c.MQPMO_STRUC_ID,
    [
        long("Options"),
        long("Timeout", -1),
        long("Context"),
        long("KnownDestCount"),
        long("UnknownDestCount"),
        long("InvalidDestCount"),
        char("ResolvedQName", 48),
        char("ResolvedQMgrName", 48),
        long("RecsPresent", 0, 2),
        long("PutMsgRecFields", 0, 2),
        long("PutMsgRecOffset", 0, 2),
        long("ResponseRecOffset", 0, 2),
        pointer("PutMsgRecPtr", 2),
        pointer("ResponseRecPtr", 2),
        int64("OriginalMsgHandle", 0, 3),
        int64("NewMsgHandle", 0, 3),
        long("Action", c.MQACTP_NEW, 3),
        long("PubLevel", 9, 3),
    ],
)

MQSD = _layout(
    "MQSD",
    c.MQSD_STRUC_ID,
    [
        long("Options"),
        char("ObjectName", 48),
        char("AlternateUserId", 12),
        byte("AlternateSecurityId", 40),
        long("SubExpiry", c.MQEI_UNLIMITED),
        *charv("ObjectString"),
        *charv("SubName"),
        *charv("SubUserData"),
        byte("SubCorrelId", 24),
        long("PubPriority", c.MQPRI_PRIORITY_AS_PUBLISHED),
        byte("PubAccountingToken", 32),
        char("PubApplIdentityData", 32),
        *charv("SelectionString"),
        long("SubLevel", 1),
        *charv("ResObjectString"),
    ],
)

MQCSP = _layout(
    "MQCSP",
    c.MQCSP_STRUC_ID,
    [
        long("AuthenticationType", c.MQCSP_AUTH_NONE),
        byte("Reserved1", 4),
        pointer("CSPUserIdPtr"),
        long("CSPUserIdOffset"),
        long("CSPUserIdLength"),
        byte("Reserved2", 8),
        pointer("CSPPasswordPtr"),
        long("CSPPasswordOffset"),
        long("CSPPasswordLength"),
        byte("Reserved3", 8, 2),
        pointer("InitialKeyPtr", 2),
        long("InitialKeyOffset", 0, 2),
        long("InitialKeyLength", 0, 2),
        byte("Reserved4", 8, 3),
        pointer("TokenPtr", 3),
        long("TokenOffset", 0, 3),
        long("TokenLength", 0, 3),
    ],
)

MQCNO = _layout(
    "MQCNO",
    c.MQCNO_STRUC_ID,
    [
        long("Options"),
        long("ClientConnOffset", 0, 2),
        pointer("ClientConnPtr", 2),
        byte("ConnTag", 128, 3),
        pointer("SSLConfigPtr", 4),
        long("SSLConfigOffset", 0, 4),
        byte("ConnectionId", 24, 5),
        long("SecurityParmsOffset", 0, 5),
        pointer("SecurityParmsPtr", 5),
        pointer("CCDTUrlPtr", 6),
        long("CCDTUrlOffset", 0, 6),
        long("CCDTUrlLength", 0, 6),
        byte("Reserved", 8, 6),
        char("ApplName", 28, "", 7),
        byte("Reserved2", 4, 7),
        pointer("BalanceParmsPtr", 8),
        long("BalanceParmsOffset", 0, 8),
        byte("Reserved3", 4, 8),
    ],
)

MQBNO = _layout(
    "MQBNO", c.MQBNO_STRUC_ID, [long("ApplType"), long("Timeout", c.MQBNO_TIMEOUT_AS_DEFAULT), long("BalanceOptions")]
)

MQSTS = _layout(
    "MQSTS",
    c.MQSTS_STRUC_ID,
    [
        long("CompCode"),
        long("Reason"),
        long("PutSuccessCount"),
        long("PutWarningCount"),
        long("PutFailureCount"),
        long("ObjectType", c.MQOT_Q),
        char("ObjectName", 48),
        char("ObjectQMgrName", 48),
        char("ResolvedObjectName", 48),
        char("ResolvedQMgrName", 48),
        *charv("ObjectString", 2),
        *charv("SubName", 2),
        long("OpenOptions", 0, 2),
        long("SubOptions", 0, 2),
    ],
)

MQCBD = _layout(
    "MQCBD",
    c.MQCBD_STRUC_ID,
    [
        long("CallbackType", c.MQCBT_MESSAGE_CONSUMER),
        long("Options"),
        pointer("CallbackArea"),
        pointer("CallbackFunction"),
        char("CallbackName", 128),
        long("MaxMsgLength", c.MQCBD_FULL_MSG_LENGTH),
    ],
)

MQCBC = _layout(
    "MQCBC",
    c.MQCBC_STRUC_ID,
    [
        long("CallType"),
        long("Hobj"),
        pointer("CallbackArea"),
        pointer("ConnectionArea"),
        long("CompCode"),
        long("Reason"),
        long("State"),
        long("DataLength"),
        long("BufferLength"),
        long("Flags"),
        long("ReconnectDelay", 0, 2),
    ],
)

MQCTLO = _layout("MQCTLO", c.MQCTLO_STRUC_ID, [long("Options"), long("Reserved", -1), pointer("ConnectionArea")])

MQCD = client_structures.MQCD

MQSCO = client_structures.MQSCO
