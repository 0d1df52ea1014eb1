"""Parameters of DISPLAY commands that select objects by a value: DURABLE, SUBTYPE, OPENTYPE, XMITQ ...

MQSC gives the word, PCF the number or the text. Both become conditions (`Where`) that a row has to meet, beside the
filter. Source: the parameter lists of IBM MQ's DISPLAY and Inquire commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqlite.commands.filters import Where
from mqwire import constants as c

Conditions = tuple[Where, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """One such parameter.

    parameter: its PCF identifier. numbers: the word of each PCF value. words: what each word asks for; a parameter
    without words is a text that the attribute `keyword` has to equal, or to begin with where it ends in `*`.
    """

    keyword: str
    parameter: int
    numbers: Mapping[int, str]
    words: Mapping[str, Conditions]

    def conditions(self, value: str) -> Conditions | None:
        """What a word or a text asks for; None for a word that the parameter does not have."""
        if self.words:
            return self.words.get(value.upper())
        return (Where(keyword=self.keyword, operator=c.MQCFOP_LIKE, value=value.rstrip()),)


def _words(keyword: str, parameter: int, numbers: Mapping[int, str], words: Mapping[str, Conditions]) -> Selection:
    return Selection(keyword=keyword, parameter=parameter, numbers=numbers, words=words)


def _text(keyword: str, parameter: int) -> Selection:
    return Selection(keyword=keyword, parameter=parameter, numbers={}, words={})


def _is(keyword: str, value: int) -> Conditions:
    return (Where(keyword=keyword, operator=c.MQCFOP_EQUAL, value=value),)


def _more(keyword: str, value: int) -> Conditions:
    return (Where(keyword=keyword, operator=c.MQCFOP_GREATER, value=value),)


DURABLE = _words(
    "DURABLE",
    c.MQIACF_DURABLE_SUBSCRIPTION,
    {c.MQSUB_DURABLE_ALL: "ALL", c.MQSUB_DURABLE_YES: "YES", c.MQSUB_DURABLE_NO: "NO"},
    {"ALL": (), "YES": _is("DURABLE", c.MQSUB_DURABLE_YES), "NO": _is("DURABLE", c.MQSUB_DURABLE_NO)},
)
SUBSCRIPTION_TYPE = _words(
    "SUBTYPE",
    c.MQIACF_SUB_TYPE,
    {
        c.MQSUBTYPE_ALL: "ALL",
        c.MQSUBTYPE_USER: "USER",
        c.MQSUBTYPE_API: "API",
        c.MQSUBTYPE_ADMIN: "ADMIN",
        c.MQSUBTYPE_PROXY: "PROXY",
    },
    {
        "ALL": (),
        "USER": (Where(keyword="SUBTYPE", operator=c.MQCFOP_NOT_EQUAL, value=c.MQSUBTYPE_PROXY),),
        "API": _is("SUBTYPE", c.MQSUBTYPE_API),
        "ADMIN": _is("SUBTYPE", c.MQSUBTYPE_ADMIN),
        "PROXY": _is("SUBTYPE", c.MQSUBTYPE_PROXY),
    },
)
TOPIC_TYPE = _words(
    "TYPE",
    c.MQIA_TOPIC_TYPE,
    {c.MQTOPT_ALL: "ALL", c.MQTOPT_LOCAL: "LOCAL", c.MQTOPT_CLUSTER: "CLUSTER"},
    {"ALL": (), "LOCAL": _is("TYPE", c.MQTOPT_LOCAL), "CLUSTER": _is("TYPE", c.MQTOPT_CLUSTER)},
)
TRANSPORTS = {c.MQXPT_LU62: "LU62", c.MQXPT_TCP: "TCP", c.MQXPT_NETBIOS: "NETBIOS", c.MQXPT_SPX: "SPX"}
TRANSPORT = _words(
    "TRPTYPE",
    c.MQIACH_XMIT_PROTOCOL_TYPE,
    {c.MQXPT_ALL: "ALL", **TRANSPORTS},
    {"ALL": (), **{name: _is("TRPTYPE", number) for number, name in TRANSPORTS.items()}},
)
OPEN_TYPES = {c.MQQSOT_ALL: "ALL", c.MQQSOT_INPUT: "INPUT", c.MQQSOT_OUTPUT: "OUTPUT"}
OPEN_QUEUES = _words(
    "OPENTYPE",
    c.MQIACF_OPEN_TYPE,
    OPEN_TYPES,
    {"ALL": (), "INPUT": _more("IPPROCS", 0), "OUTPUT": _more("OPPROCS", 0)},
)
OPEN_HANDLES = _words(
    "OPENTYPE",
    c.MQIACF_OPEN_TYPE,
    OPEN_TYPES,
    {"ALL": (), "INPUT": _more("INPUT", 0), "OUTPUT": _more("OUTPUT", 0)},
)
TARGETS = {c.MQOT_Q: "QUEUE", c.MQOT_TOPIC: "TOPIC"}
TARGET_TYPE = _words(
    "TARGTYPE", c.MQIA_BASE_TYPE, TARGETS, {name: _is("TARGTYPE", number) for number, name in TARGETS.items()}
)
QUEUE_SELECTIONS = (
    TARGET_TYPE,
    _text("CLUSTER", c.MQCA_CLUSTER_NAME),
    _text("CLUSNL", c.MQCA_CLUSTER_NAMELIST),
    _text("CFSTRUCT", c.MQCA_CF_STRUC_NAME),
    _text("STGCLASS", c.MQCA_STORAGE_CLASS),
)
SELECTIONS: Mapping[str, tuple[Selection, ...]] = {
    "CHSTATUS": (_text("CONNAME", c.MQCACH_CONNECTION_NAME), _text("XMITQ", c.MQCACH_XMIT_Q_NAME)),
    "LISTENER": (TRANSPORT,),
    "SUB": (DURABLE, SUBSCRIPTION_TYPE),
    "TOPIC": (TOPIC_TYPE,),
    **dict.fromkeys(("QUEUE", "QLOCAL", "QALIAS", "QREMOTE", "QMODEL"), QUEUE_SELECTIONS),
}


def selections_of(noun: str, options: Mapping[str, str]) -> tuple[Selection, ...]:
    """The selecting parameters of DISPLAY of a noun; those of QSTATUS are others for TYPE(HANDLE)."""
    if noun == "QSTATUS":
        return (OPEN_HANDLES,) if options.get("TYPE") == "HANDLE" else (OPEN_QUEUES,)
    return SELECTIONS.get(noun, ())
