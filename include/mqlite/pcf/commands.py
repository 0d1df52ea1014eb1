"""PCF command numbers → verb and noun of the one command table, with the parameters that are not attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqlite.attributes import Kind
from mqlite.attributes.status import CHLAUTH_TYPES
from mqlite.commands.nouns import CHANNEL_NAME, NOUNS, QUEUE_NAME, QUEUES, Noun
from mqwire import constants as c


@dataclass(frozen=True, slots=True, kw_only=True)
class PcfCommand:
    """One PCF command.

    name: parameter with the object's name (0: there is none). wanted: the list of attributes to return. like: the
    parameter that names LIKE's object (COPY). options: parameter → option and the words of its values.
    optional_name: an inquiry without a name means all. name_left_out: a command without a name has a default.
    exact_name: another parameter with the name, not generic. names: answer with one list of names, under this
    parameter.
    """

    verb: str
    noun: str
    name: int = 0
    optional_name: bool = False
    name_left_out: bool = False
    exact_name: int = 0
    wanted: int = 0
    like: int = 0
    names: int = 0
    options: Mapping[int, tuple[str, Mapping[int, str]]] = field(default_factory=dict)


LISTENER = NOUNS[Kind.LISTENER]
CHANNEL_TABLE = {c.MQIACH_CHANNEL_TABLE: ("CHLTABLE", {c.MQCHTAB_Q_MGR: "QMGRTBL", c.MQCHTAB_CLNTCONN: "CLNTTBL"})}
YES_NO = {0: "NO", 1: "YES"}
REPLACE = {c.MQIACF_REPLACE: ("REPLACE", YES_NO)}
FORCE = {c.MQIACF_FORCE: ("FORCE", YES_NO)}
PURGE = {c.MQIACF_PURGE: ("PURGE", YES_NO)}
DISPOSITION = {c.MQIA_QSG_DISP: ("QSGDISP", {0: "QMGR", 1: "COPY", 2: "SHARED", 3: "GROUP", 4: "PRIVATE"})}
IGNORE_STATE = {c.MQIACF_IGNORE_STATE: ("IGNSTATE", {c.MQIS_NO: "NO", c.MQIS_YES: "YES"})}
AUTHORITY_RECORD = {c.MQIACF_REMOVE_AUTHREC: ("AUTHREC", {c.MQRAR_NO: "NO", c.MQRAR_YES: "YES"})}
WITH_AUTHORITY_RECORD = frozenset({"QUEUE", "PROCESS", "NAMELIST", "TOPIC"})
CLUSTER_QUEUES: dict[int, tuple[str, dict[int, str]]] = {
    c.MQIACF_CLUSTER_INFO: ("CLUSINFO", {})
}  # there are none to be shown
PINGING: dict[int, tuple[str, dict[int, str]]] = {c.MQIACH_DATA_COUNT: ("DATALEN", {})}
STATUS_TYPE = {c.MQIACF_Q_STATUS_TYPE: ("TYPE", {c.MQIACF_Q_STATUS: "QUEUE", c.MQIACF_Q_HANDLE: "HANDLE"})}
# IBM MQ's page has no such parameter; monitoring programs send it.
LOCAL_QUEUES = {c.MQIA_Q_TYPE: ("QTYPE", {c.MQQT_LOCAL: "QLOCAL", c.MQQT_ALL: "ALL"})}
STOPPING = {
    c.MQIACF_MODE: ("MODE", {c.MQMODE_QUIESCE: "QUIESCE", c.MQMODE_FORCE: "FORCE", c.MQMODE_TERMINATE: "TERMINATE"}),
    c.MQIACF_QUIESCE: ("MODE", {c.MQQO_YES: "QUIESCE", c.MQQO_NO: "FORCE"}),
    c.MQIACH_CHANNEL_STATUS: ("STATUS", {c.MQCHS_STOPPED: "STOPPED", c.MQCHS_INACTIVE: "INACTIVE"}),
}
REFRESHING = {
    c.MQIACF_REFRESH_TYPE: (
        "TYPE", {c.MQRT_CONFIGURATION: "CONFIGEV", c.MQRT_EXPIRY: "EXPIRY", c.MQRT_PROXYSUB: "PROXYSUB"}
    )
}  # fmt: skip
CONNECTION_INFO = {
    c.MQIACF_CONN_INFO_TYPE: (
        "TYPE", {c.MQIACF_CONN_INFO_CONN: "CONN", c.MQIACF_CONN_INFO_HANDLE: "HANDLE", c.MQIACF_CONN_INFO_ALL: "ALL"}
    )
}  # fmt: skip
SECURITY = {
    c.MQIACF_SECURITY_TYPE: (
        "TYPE", {c.MQSECTYPE_AUTHSERV: "AUTHSERV", c.MQSECTYPE_SSL: "SSL", c.MQSECTYPE_CONNAUTH: "CONNAUTH"}
    )
}  # fmt: skip
CHLAUTH_TYPE = {
    c.MQIACF_CHLAUTH_TYPE: ("TYPE", {number: word for word, number in {"ALL": c.MQCAUT_ALL, **CHLAUTH_TYPES}.items()})
}  # fmt: skip
CHLAUTH_ACTION = {
    c.MQIACF_ACTION: (
        "ACTION",
        {c.MQACT_ADD: "ADD", c.MQACT_REPLACE: "REPLACE", c.MQACT_REMOVE: "REMOVE", c.MQACT_REMOVEALL: "REMOVEALL"},
    )
}
CHLAUTH_MATCH = {
    c.MQIACH_MATCH: (
        "MATCH",
        {c.MQMATCH_GENERIC: "GENERIC", c.MQMATCH_ALL: "ALL", c.MQMATCH_EXACT: "EXACT", c.MQMATCH_RUNCHECK: "RUNCHECK"},
    )
}
RESOLVING = {c.MQIACH_IN_DOUBT: ("ACTION", {c.MQIDO_COMMIT: "COMMIT", c.MQIDO_BACKOUT: "BACKOUT"})}


def _object_commands(kind: Kind, noun: Noun) -> dict[int, PcfCommand]:
    """CREATE, CHANGE, COPY, DELETE, INQUIRE and INQUIRE ... NAMES of one kind of object."""
    word = "QUEUE" if noun is QUEUES else str(kind)
    name = 0 if kind is Kind.QMGR else noun.name.selector
    numbers = noun.pcf
    forced = noun is QUEUES or kind is Kind.QMGR
    found = {
        numbers.change: PcfCommand(verb="ALTER", noun=word, name=name, options=FORCE if forced else {}),
        numbers.inquire: PcfCommand(
            verb="DISPLAY",
            noun=word,
            name=name,
            wanted=numbers.attributes_parameter,
            options=CLUSTER_QUEUES if noun is QUEUES or kind is Kind.TOPIC else {},
        ),
    }
    if numbers.create:
        found[numbers.create] = PcfCommand(verb="DEFINE", noun=word, name=name, options=REPLACE)
        found[numbers.delete] = PcfCommand(verb="DELETE", noun=word, name=name, options=_deleting(word))
        found[numbers.copy] = PcfCommand(
            verb="DEFINE", noun=word, name=numbers.to_parameter, like=numbers.from_parameter, options=REPLACE
        )
    if numbers.names:
        found[numbers.names] = PcfCommand(verb="DISPLAY", noun=word, name=name, names=numbers.names_parameter)
    return found


def _deleting(noun: str) -> Mapping[int, tuple[str, Mapping[int, str]]]:
    options: dict[int, tuple[str, Mapping[int, str]]] = dict(IGNORE_STATE)
    if noun in WITH_AUTHORITY_RECORD:
        options |= AUTHORITY_RECORD
    if noun == "QUEUE":
        options |= PURGE | DISPOSITION
    if noun == "CHANNEL":
        options |= CHANNEL_TABLE
    return options


PCF_COMMANDS: Mapping[int, PcfCommand] = {
    **{number: command for kind, noun in NOUNS.items() for number, command in _object_commands(kind, noun).items()},
    c.MQCMD_PING_Q_MGR: PcfCommand(verb="PING", noun="QMGR"),
    c.MQCMD_CLEAR_Q: PcfCommand(verb="CLEAR", noun="QLOCAL", name=QUEUE_NAME.selector, options=DISPOSITION),
    c.MQCMD_RESET_Q_STATS: PcfCommand(verb="RESET", noun="QSTATS", name=QUEUE_NAME.selector),
    c.MQCMD_INQUIRE_Q_STATUS: PcfCommand(
        verb="DISPLAY",
        noun="QSTATUS",
        name=QUEUE_NAME.selector,
        wanted=c.MQIACF_Q_STATUS_ATTRS,
        options=STATUS_TYPE | LOCAL_QUEUES,
    ),
    c.MQCMD_INQUIRE_Q_MGR_STATUS: PcfCommand(verb="DISPLAY", noun="QMSTATUS", wanted=c.MQIACF_Q_MGR_STATUS_ATTRS),
    c.MQCMD_INQUIRE_CONNECTION: PcfCommand(
        verb="DISPLAY",
        noun="CONN",
        name=c.MQBACF_GENERIC_CONNECTION_ID,
        optional_name=True,
        exact_name=c.MQBACF_CONNECTION_ID,
        wanted=c.MQIACF_CONNECTION_ATTRS,
        options=CONNECTION_INFO,
    ),
    c.MQCMD_STOP_CONNECTION: PcfCommand(verb="STOP", noun="CONN", name=c.MQBACF_CONNECTION_ID),
    c.MQCMD_INQUIRE_CHANNEL_STATUS: PcfCommand(
        verb="DISPLAY",
        noun="CHSTATUS",
        name=CHANNEL_NAME.selector,
        wanted=c.MQIACH_CHANNEL_INSTANCE_ATTRS,
        options={c.MQIACH_CHANNEL_INSTANCE_TYPE: ("CURRENT", {c.MQOT_CURRENT_CHANNEL: "YES"})},
    ),
    c.MQCMD_START_CHANNEL_LISTENER: PcfCommand(
        verb="START", noun="LISTENER", name=LISTENER.name.selector, name_left_out=True, options=IGNORE_STATE
    ),
    c.MQCMD_STOP_CHANNEL_LISTENER: PcfCommand(
        verb="STOP", noun="LISTENER", name=LISTENER.name.selector, options=IGNORE_STATE
    ),
    c.MQCMD_INQUIRE_LISTENER_STATUS: PcfCommand(
        verb="DISPLAY", noun="LSSTATUS", name=LISTENER.name.selector, wanted=c.MQIACF_LISTENER_STATUS_ATTRS
    ),
    c.MQCMD_SET_CHLAUTH_REC: PcfCommand(
        verb="SET", noun="CHLAUTH", name=CHANNEL_NAME.selector, options=CHLAUTH_TYPE | CHLAUTH_ACTION
    ),
    c.MQCMD_INQUIRE_CHLAUTH_RECS: PcfCommand(
        verb="DISPLAY",
        noun="CHLAUTH",
        name=CHANNEL_NAME.selector,
        wanted=c.MQIACF_CHLAUTH_ATTRS,
        options=CHLAUTH_TYPE | CHLAUTH_MATCH,
    ),
    c.MQCMD_START_CHANNEL: PcfCommand(verb="START", noun="CHANNEL", name=CHANNEL_NAME.selector, options=IGNORE_STATE),
    c.MQCMD_STOP_CHANNEL: PcfCommand(
        verb="STOP", noun="CHANNEL", name=CHANNEL_NAME.selector, options=STOPPING | IGNORE_STATE
    ),
    c.MQCMD_PING_CHANNEL: PcfCommand(verb="PING", noun="CHANNEL", name=CHANNEL_NAME.selector, options=PINGING),
    c.MQCMD_RESET_CHANNEL: PcfCommand(
        verb="RESET", noun="CHANNEL", name=CHANNEL_NAME.selector, options={c.MQIACH_MSG_SEQUENCE_NUMBER: ("SEQNUM", {})}
    ),
    c.MQCMD_RESOLVE_CHANNEL: PcfCommand(verb="RESOLVE", noun="CHANNEL", name=CHANNEL_NAME.selector, options=RESOLVING),
    c.MQCMD_REFRESH_Q_MGR: PcfCommand(
        verb="REFRESH", noun="QMGR", name=c.MQCACF_OBJECT_NAME, optional_name=True, options=REFRESHING
    ),
    c.MQCMD_SET_AUTH_REC: PcfCommand(verb="SET", noun="AUTHREC"),
    c.MQCMD_DELETE_AUTH_REC: PcfCommand(verb="DELETE", noun="AUTHREC"),
    c.MQCMD_INQUIRE_AUTH_RECS: PcfCommand(verb="DISPLAY", noun="AUTHREC"),
    c.MQCMD_REFRESH_SECURITY: PcfCommand(verb="REFRESH", noun="SECURITY", options=SECURITY),
}
