"""One row per kind of object: its name, its messages, its SYSTEM.DEFAULT object and its PCF commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqlite.attributes import CHANNEL_TYPES, QUEUE_KINDS, QUEUE_TYPES, TABLE, Attribute, Kind
from mqlite.attributes.rows import name, text, word
from mqlite.attributes.status import STATUS_TABLE, Status
from mqlite.conditions import Condition as C
from mqwire import constants as c

QUEUE_NAME = name("QUEUE", c.MQCA_Q_NAME)
QUEUE_TYPE = word("TYPE", c.MQIA_Q_TYPE, None, {str(kind): value for kind, value in QUEUE_TYPES.items()})
CHANNEL_NAME = name("CHANNEL", c.MQCACH_CHANNEL_NAME, 20)
CHANNEL_TYPE = word("CHLTYPE", c.MQIACH_CHANNEL_TYPE, None, CHANNEL_TYPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pcf:
    """PCF command numbers of a noun (0: there is none) and the parameters that belong to them."""

    change: int
    create: int = 0
    delete: int = 0
    copy: int = 0
    inquire: int
    names: int = 0
    names_parameter: int = 0
    attributes_parameter: int
    from_parameter: int = 0
    to_parameter: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """What commands need to know of a kind of object, or of all kinds of queue together."""

    name: Attribute
    type: Attribute | None = None
    created: C | None = None
    changed: C
    deleted: C | None = None
    shown: C
    missing: C = C.NOT_FOUND
    exists: C = C.ALREADY_EXISTS
    pcf: Pcf


QUEUES = Noun(
    name=QUEUE_NAME,
    type=QUEUE_TYPE,
    created=C.QUEUE_CREATED,
    changed=C.QUEUE_CHANGED,
    deleted=C.QUEUE_DELETED,
    shown=C.QUEUE_SHOWN,
    pcf=Pcf(
        change=c.MQCMD_CHANGE_Q,
        create=c.MQCMD_CREATE_Q,
        delete=c.MQCMD_DELETE_Q,
        copy=c.MQCMD_COPY_Q,
        inquire=c.MQCMD_INQUIRE_Q,
        names=c.MQCMD_INQUIRE_Q_NAMES,
        names_parameter=c.MQCACF_Q_NAMES,
        attributes_parameter=c.MQIACF_Q_ATTRS,
        from_parameter=c.MQCACF_FROM_Q_NAME,
        to_parameter=c.MQCACF_TO_Q_NAME,
    ),
)
NOUNS: Mapping[Kind, Noun] = {
    Kind.QMGR: Noun(
        name=name("QMNAME", c.MQCA_Q_MGR_NAME),
        changed=C.QMGR_CHANGED,
        shown=C.QMGR_SHOWN,
        pcf=Pcf(change=c.MQCMD_CHANGE_Q_MGR, inquire=c.MQCMD_INQUIRE_Q_MGR, attributes_parameter=c.MQIACF_Q_MGR_ATTRS),
    ),
    **dict.fromkeys(QUEUE_KINDS, QUEUES),
    Kind.PROCESS: Noun(
        name=name("PROCESS", c.MQCA_PROCESS_NAME),
        created=C.PROCESS_CREATED,
        changed=C.PROCESS_CHANGED,
        deleted=C.PROCESS_DELETED,
        shown=C.PROCESS_SHOWN,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_PROCESS,
            create=c.MQCMD_CREATE_PROCESS,
            delete=c.MQCMD_DELETE_PROCESS,
            copy=c.MQCMD_COPY_PROCESS,
            inquire=c.MQCMD_INQUIRE_PROCESS,
            names=c.MQCMD_INQUIRE_PROCESS_NAMES,
            names_parameter=c.MQCACF_PROCESS_NAMES,
            attributes_parameter=c.MQIACF_PROCESS_ATTRS,
            from_parameter=c.MQCACF_FROM_PROCESS_NAME,
            to_parameter=c.MQCACF_TO_PROCESS_NAME,
        ),
    ),
    Kind.NAMELIST: Noun(
        name=name("NAMELIST", c.MQCA_NAMELIST_NAME),
        created=C.NAMELIST_CREATED,
        changed=C.NAMELIST_CHANGED,
        deleted=C.NAMELIST_DELETED,
        shown=C.NAMELIST_SHOWN,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_NAMELIST,
            create=c.MQCMD_CREATE_NAMELIST,
            delete=c.MQCMD_DELETE_NAMELIST,
            copy=c.MQCMD_COPY_NAMELIST,
            inquire=c.MQCMD_INQUIRE_NAMELIST,
            names=c.MQCMD_INQUIRE_NAMELIST_NAMES,
            names_parameter=c.MQCACF_NAMELIST_NAMES,
            attributes_parameter=c.MQIACF_NAMELIST_ATTRS,
            from_parameter=c.MQCACF_FROM_NAMELIST_NAME,
            to_parameter=c.MQCACF_TO_NAMELIST_NAME,
        ),
    ),
    Kind.CHANNEL: Noun(
        name=CHANNEL_NAME,
        type=CHANNEL_TYPE,
        created=C.CHANNEL_CREATED,
        changed=C.CHANNEL_CHANGED,
        deleted=C.CHANNEL_DELETED,
        shown=C.CHANNEL_SHOWN,
        missing=C.CHANNEL_NOT_FOUND,
        exists=C.CHANNEL_EXISTS,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_CHANNEL,
            create=c.MQCMD_CREATE_CHANNEL,
            delete=c.MQCMD_DELETE_CHANNEL,
            copy=c.MQCMD_COPY_CHANNEL,
            inquire=c.MQCMD_INQUIRE_CHANNEL,
            names=c.MQCMD_INQUIRE_CHANNEL_NAMES,
            names_parameter=c.MQCACH_CHANNEL_NAMES,
            attributes_parameter=c.MQIACF_CHANNEL_ATTRS,
            from_parameter=c.MQCACF_FROM_CHANNEL_NAME,
            to_parameter=c.MQCACF_TO_CHANNEL_NAME,
        ),
    ),
    Kind.AUTHINFO: Noun(
        name=name("AUTHINFO", c.MQCA_AUTH_INFO_NAME),
        created=C.AUTHINFO_CREATED,
        changed=C.AUTHINFO_CHANGED,
        deleted=C.AUTHINFO_DELETED,
        shown=C.AUTHINFO_SHOWN,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_AUTH_INFO,
            create=c.MQCMD_CREATE_AUTH_INFO,
            delete=c.MQCMD_DELETE_AUTH_INFO,
            copy=c.MQCMD_COPY_AUTH_INFO,
            inquire=c.MQCMD_INQUIRE_AUTH_INFO,
            attributes_parameter=c.MQIACF_AUTH_INFO_ATTRS,
            from_parameter=c.MQCACF_FROM_AUTH_INFO_NAME,
            to_parameter=c.MQCACF_TO_AUTH_INFO_NAME,
        ),
    ),
    Kind.LISTENER: Noun(
        name=text("LISTENER", c.MQCACH_LISTENER_NAME, 48),
        created=C.LISTENER_CREATED,
        changed=C.LISTENER_CHANGED,
        deleted=C.LISTENER_DELETED,
        shown=C.LISTENER_SHOWN,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_LISTENER,
            create=c.MQCMD_CREATE_LISTENER,
            delete=c.MQCMD_DELETE_LISTENER,
            copy=c.MQCMD_COPY_LISTENER,
            inquire=c.MQCMD_INQUIRE_LISTENER,
            attributes_parameter=c.MQIACF_LISTENER_ATTRS,
            from_parameter=c.MQCACF_FROM_LISTENER_NAME,
            to_parameter=c.MQCACF_TO_LISTENER_NAME,
        ),
    ),
    Kind.TOPIC: Noun(
        name=name("TOPIC", c.MQCA_TOPIC_NAME),
        created=C.TOPIC_CREATED,
        changed=C.TOPIC_CHANGED,
        deleted=C.TOPIC_DELETED,
        shown=C.TOPIC_SHOWN,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_TOPIC,
            create=c.MQCMD_CREATE_TOPIC,
            delete=c.MQCMD_DELETE_TOPIC,
            copy=c.MQCMD_COPY_TOPIC,
            inquire=c.MQCMD_INQUIRE_TOPIC,
            names=c.MQCMD_INQUIRE_TOPIC_NAMES,
            names_parameter=c.MQCACF_TOPIC_NAMES,
            attributes_parameter=c.MQIACF_TOPIC_ATTRS,
            from_parameter=c.MQCACF_FROM_TOPIC_NAME,
            to_parameter=c.MQCACF_TO_TOPIC_NAME,
        ),
    ),
    Kind.SUB: Noun(
        name=text("SUB", c.MQCACF_SUB_NAME, 10_240),
        created=C.SUB_CREATED,
        changed=C.SUB_CHANGED,
        deleted=C.SUB_DELETED,
        shown=C.SUB_SHOWN,
        missing=C.SUB_NOT_FOUND,
        pcf=Pcf(
            change=c.MQCMD_CHANGE_SUBSCRIPTION,
            create=c.MQCMD_CREATE_SUBSCRIPTION,
            delete=c.MQCMD_DELETE_SUBSCRIPTION,
            copy=c.MQCMD_COPY_SUBSCRIPTION,
            inquire=c.MQCMD_INQUIRE_SUBSCRIPTION,
            attributes_parameter=c.MQIACF_SUB_ATTRS,
            from_parameter=c.MQCACF_FROM_SUB_NAME,
            to_parameter=c.MQCACF_TO_SUB_NAME,
        ),
    ),
}
DEFAULT_OBJECTS: Mapping[str, str] = {
    "QLOCAL": "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "QALIAS": "SYSTEM.DEFAULT.ALIAS.QUEUE",
    "QREMOTE": "SYSTEM.DEFAULT.REMOTE.QUEUE",
    "QMODEL": "SYSTEM.DEFAULT.MODEL.QUEUE",
    "PROCESS": "SYSTEM.DEFAULT.PROCESS",
    "NAMELIST": "SYSTEM.DEFAULT.NAMELIST",
    "AUTHINFO": "SYSTEM.DEFAULT.AUTHINFO.IDPWOS",
    "LISTENER": "SYSTEM.DEFAULT.LISTENER.TCP",
    "TOPIC": "SYSTEM.DEFAULT.TOPIC",
    "SUB": "SYSTEM.DEFAULT.SUB",
    "SDR": "SYSTEM.DEF.SENDER",
    "SVR": "SYSTEM.DEF.SERVER",
    "RCVR": "SYSTEM.DEF.RECEIVER",
    "RQSTR": "SYSTEM.DEF.REQUESTER",
    "SVRCONN": "SYSTEM.DEF.SVRCONN",
    "CLNTCONN": "SYSTEM.DEF.CLNTCONN",
}


STATUSES: Mapping[str, Mapping[str, Status]] = {
    "QSTATUS": {"QUEUE": Status.QUEUE, "HANDLE": Status.HANDLE},
    "QMSTATUS": {"": Status.QMGR},
    "CHSTATUS": {"": Status.CHANNEL},
    "CONN": {"CONN": Status.CONNECTION, "HANDLE": Status.CONNECTION_HANDLE},
    "LSSTATUS": {"": Status.LISTENER},
    "CHLAUTH": {"": Status.CHLAUTH},
}


def tables_of(noun: str, options: Mapping[str, str]) -> list[Mapping[str, Attribute]]:
    """What DISPLAY of a noun can show, by keyword: that of the status its TYPE says, or of each kind of object."""
    status = STATUSES.get(noun)
    if status is None:
        return [TABLE[kind] for kind in kinds_of(noun)]
    if len(status) == 1:
        return [STATUS_TABLE[kind] for kind in status.values()]
    chosen = options.get("TYPE", next(iter(status)))
    return [STATUS_TABLE[kind] for word_, kind in status.items() if chosen in {word_, "ALL"}]


def kinds_of(noun: str) -> tuple[Kind, ...]:
    """The kinds a command's noun stands for: QUEUE is all kinds of queue."""
    return QUEUE_KINDS if noun == "QUEUE" else (Kind(noun),)
