"""How far a failed put or get reaches: this message, its queue, or the whole unit of work. And which failures pass."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from mqops.errors import TRANSIENT, UNKNOWN
from mqwire import constants as c


class Scope(Enum):
    """Who else fails when one put fails."""

    MESSAGE = "message"
    """Only this message: the next one for the same queue may well fit."""
    DESTINATION = "destination"
    """Everything for this destination."""
    SOURCE = "source"
    """Everything that is taken from the same queue (of a get, not a put)."""
    STALE_HANDLE = "stale handle"
    """No message and no queue: the queue's definition was changed; open it again."""
    TOO_MUCH = "too much"
    """No message and no queue: the unit of work is too large; do it in smaller ones."""
    EVERYTHING = "everything"
    """All work: the connection or the queue manager is to blame."""


DESTINATION: frozenset[int] = frozenset(
    {
        c.MQRC_ALIAS_BASE_Q_TYPE_ERROR,
        c.MQRC_ALIAS_TARGTYPE_CHANGED,
        c.MQRC_CLUSTER_PUT_INHIBITED,
        c.MQRC_CLUSTER_RESOLUTION_ERROR,
        c.MQRC_CLUSTER_RESOURCE_ERROR,
        c.MQRC_DEF_XMIT_Q_TYPE_ERROR,
        c.MQRC_DEF_XMIT_Q_USAGE_ERROR,
        c.MQRC_NO_DESTINATIONS_AVAILABLE,
        c.MQRC_NOT_AUTHORIZED,
        c.MQRC_OBJECT_DAMAGED,
        c.MQRC_OBJECT_IN_USE,
        c.MQRC_OBJECT_NAME_ERROR,
        c.MQRC_OBJECT_TYPE_ERROR,
        c.MQRC_OPTION_NOT_VALID_FOR_TYPE,
        c.MQRC_PUT_INHIBITED,
        c.MQRC_Q_DELETED,
        c.MQRC_Q_FULL,
        c.MQRC_Q_SPACE_NOT_AVAILABLE,
        c.MQRC_Q_TYPE_ERROR,
        c.MQRC_REMOTE_Q_NAME_ERROR,
        c.MQRC_UNKNOWN_ALIAS_BASE_Q,
        c.MQRC_UNKNOWN_DEF_XMIT_Q,
        c.MQRC_UNKNOWN_OBJECT_NAME,
        c.MQRC_UNKNOWN_OBJECT_Q_MGR,
        c.MQRC_UNKNOWN_REMOTE_Q_MGR,
        c.MQRC_UNKNOWN_XMIT_Q,
        c.MQRC_XMIT_Q_TYPE_ERROR,
        c.MQRC_XMIT_Q_USAGE_ERROR,
    }
)

SOURCE: frozenset[int] = frozenset(
    {
        c.MQRC_GET_INHIBITED,
        c.MQRC_NOT_AUTHORIZED,
        c.MQRC_OBJECT_CHANGED,
        c.MQRC_OBJECT_DAMAGED,
        c.MQRC_OBJECT_IN_USE,
        c.MQRC_OBJECT_TYPE_ERROR,
        c.MQRC_OPTION_NOT_VALID_FOR_TYPE,
        c.MQRC_Q_DELETED,
        c.MQRC_UNKNOWN_OBJECT_NAME,
    }
)
"""Reason codes of MQOPEN and MQGET for which the queue that is taken from is to blame."""

PASSING: frozenset[int] = frozenset(
    {
        c.MQRC_CLUSTER_PUT_INHIBITED,
        c.MQRC_CLUSTER_RESOLUTION_ERROR,
        c.MQRC_GET_INHIBITED,
        c.MQRC_NO_DESTINATIONS_AVAILABLE,
        c.MQRC_OBJECT_CHANGED,
        c.MQRC_OBJECT_IN_USE,
        c.MQRC_PUT_INHIBITED,
        c.MQRC_Q_FULL,
        c.MQRC_Q_SPACE_NOT_AVAILABLE,
    }
)
"""What passes by itself of a destination or source: applications and operators end it in their daily work, or, of a
definition that was changed, opening it again does."""

EVERYTHING: frozenset[int] = (TRANSIENT | UNKNOWN) - {c.MQRC_OBJECT_IN_USE, c.MQRC_OBJECT_CHANGED} | {
    c.MQRC_STORAGE_MEDIUM_FULL,
    c.MQRC_UNEXPECTED_ERROR,
    c.MQRC_CONNECTION_NOT_AUTHORIZED,
}

_SPECIAL: Mapping[int, Scope] = {
    c.MQRC_OBJECT_CHANGED: Scope.STALE_HANDLE,
    c.MQRC_SYNCPOINT_LIMIT_REACHED: Scope.TOO_MUCH,
}


def scope_of(reason: int) -> Scope:
    """The scope of a failed put. Whatever is not known to reach further concerns the one message."""
    if reason in _SPECIAL:
        return _SPECIAL[reason]
    if reason in EVERYTHING:
        return Scope.EVERYTHING
    return Scope.DESTINATION if reason in DESTINATION else Scope.MESSAGE
