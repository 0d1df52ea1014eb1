"""Names of message properties: what a name must be, the synonyms, where in an MQRFH2 a property lies.

1. `a` is element a of folder usr; `a.b` element b of folder a; `a.b.c` element c of group b of folder a (IBM MQ,
   "Mapping from property names to MQRFH2 folder and element names").
2. Some properties have a second name, which is the one that MQINQMP returns (IBM MQ, "MQINQMP", Name).
3. A name is validated by MQSETMP unless the handle was made with MQCMHO_NO_VALIDATION (IBM MQ, "Property names",
   "Property name restrictions", "MQCMHO", Options).
"""

from __future__ import annotations

import re
import unicodedata

from mqlite.failure import Failure
from mqwire import constants as c
from mqwire.folder import DEPTH

USER = "usr"
KEYWORDS = frozenset({"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"})
SYNONYMS = {
    "JMSCorrelationID": "jms.Cid", "JMSDeliveryMode": "jms.Dlv", "JMSDestination": "jms.Dst",
    "JMSExpiration": "jms.Exp", "JMSPriority": "jms.Pri", "JMSReplyTo": "jms.Rto", "JMSTimestamp": "jms.Tms",
    "JMSXGroupID": "jms.Gid", "JMSXGroupSeq": "jms.Seq", "JMSType": "mcd.Type",
    "MQTopicString": "mqps.Top", "MQSubUserData": "mqps.Sud", "MQIsRetained": "mqps.Ret", "MQPubOptions": "mqps.Pub",
    "MQPubLevel": "mqps.Pbl", "MQPubTime": "mqpse.Pts", "MQPubSeqNum": "mqpse.Seq", "MQPubStrIntData": "mqpse.Sid",
    "MQPubFormat": "mqpse.Pfm",
}  # fmt: skip
SHOWN = {where: name for name, where in SYNONYMS.items()}
SETTABLE = frozenset({"JMSCorrelationID", "JMSReplyTo", "JMSType", "JMSXGroupID", "JMSXGroupSeq"})
DESCRIPTOR = "Root.MQMD."
# What the text of a folder cannot have in a name, whatever validation says.
_NO_ELEMENT = re.compile(r"[\s<>&\"'/=!?]")
_FIRST = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_LATER = _FIRST | {"Nd", "Mc", "Mn", "Cf"}


def own_name(name: str) -> str:
    """The name that a property is kept under: of a synonym the place in the header, without the folder usr."""
    rest = name.removeprefix(f"{USER}.")
    return SYNONYMS.get(name, name if "." in rest else rest)


def shown_name(own: str) -> str:
    """The name that MQINQMP returns for a property that is kept under `own`."""
    return SHOWN.get(own, own)


def place(own: str) -> tuple[str, ...]:
    """The folder, the groups and the element of a property.

    Raises Failure (MQRC_PROPERTY_NAME_ERROR) where the text of a folder cannot have the name.
    """
    parts = tuple(own.split("."))
    if not all(parts) or len(parts) > DEPTH or _NO_ELEMENT.search(own):
        raise Failure(c.MQRC_PROPERTY_NAME_ERROR, own)
    return parts if len(parts) > 1 else (USER, own)


def groups_of(own: str) -> list[str]:
    """The folder and the groups around a property, each with those around it."""
    parts = place(own)
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def validate(name: str) -> None:
    """Check a name as MQCMHO_VALIDATE wants it. Raises Failure (MQRC_PROPERTY_NAME_ERROR)."""
    if not _is_identifier(name) or is_reserved(name):
        raise Failure(c.MQRC_PROPERTY_NAME_ERROR, name)


def _is_identifier(name: str) -> bool:
    """Whether each part between full stops is an identifier of Java in the Basic Multilingual Plane."""
    if any(char > "\uffff" for char in name):
        return False
    return all(
        part and _category(part[0]) in _FIRST and all(_category(char) in _LATER for char in part[1:])
        for part in name.split(".")
    )


def _category(character: str) -> str:
    return unicodedata.category(character)


def is_reserved(name: str) -> bool:
    """Whether a property must not have the name: a keyword of selectors, or a name of JMS or IBM MQ."""
    rest = name.removeprefix(f"{USER}.")
    if rest.upper() in KEYWORDS or (rest.startswith("JMS") and name not in SETTABLE):
        return True
    lower = name.lower()
    if lower.startswith("mq") and not lower.startswith("mq_usr") and name.count(".") > 1:
        return True
    return name.split(".", maxsplit=1)[0] in {"Body", "Root"} and not name.startswith(DESCRIPTOR)
