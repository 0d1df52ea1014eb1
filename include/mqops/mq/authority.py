"""The queue manager's authority records: who may put on a queue, what a user or group has, and giving it more (PCF)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mqops.errors import MQError
from mqops.mq.inquire import command
from mqops.mq.session import Session
from mqwire import constants as c

_KINDS = {1: "principal", 2: "group"}  # MQZAET_*
ENTITIES = {"PRINCIPAL": (1, c.MQCACF_PRINCIPAL_ENTITY_NAMES), "GROUP": (2, c.MQCACF_GROUP_ENTITY_NAMES)}
"""Word of MQSC → MQZAET_*, and the parameter that names such entities."""
_NO_RECORD = {c.MQRC_UNKNOWN_OBJECT_NAME, c.MQRC_UNKNOWN_ENTITY, c.MQRCCF_NONE_FOUND}
_ALL = {c.MQAUTH_ALL_MQI, c.MQAUTH_ALL}


class Grantee(NamedTuple):
    """A user (PRINCIPAL) or a group (GROUP) that authorities are given to."""

    entity: Literal["PRINCIPAL", "GROUP"]
    name: str

    def __str__(self) -> str:
        return f"{self.entity}('{self.name}')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """That an entity may do something with a queue: its name, its kind ("principal", "group"), and the profile that
    says so."""

    entity: str
    kind: str
    profile: str

    def __str__(self) -> str:
        return f"{self.kind} {self.entity} (profile {self.profile})"


def who_may_put(session: Session, queue: str) -> list[Grant]:
    """As `who_may`, for PUT."""
    return who_may(session, queue, c.MQAUTH_OUTPUT)


def who_may(session: Session, queue: str, what: int) -> list[Grant]:
    """The entities whose most specific profile for a queue gives them this (IBM MQ, Using OAM generic profiles).

    Administrators of the queue manager may without any record and are not among them, nor are users who may act for
    another user (ALTUSR) that may.

    Parameters: `what` MQAUTH_*.

    Raises:
        MQError: the queue manager does not tell this user, or has no such records (z/OS).
    """
    asked: dict[int, Any] = {
        c.MQIACF_AUTH_OPTIONS: c.MQAUTHOPT_NAME_ALL_MATCHING,
        c.MQCACF_AUTH_PROFILE_NAME: queue.encode(),
        c.MQIACF_OBJECT_TYPE: c.MQOT_Q,
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_AUTH_RECS", asked, object_name=queue)
    except MQError as error:
        if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME:
            return []  # no record fits the name
        raise
    best: dict[tuple[str, str], tuple[str, set[int]]] = {}
    for row in rows:
        if c.MQCACF_ENTITY_NAME not in row:
            continue
        entity = (row[c.MQCACF_ENTITY_NAME], _KINDS.get(int(row.get(c.MQIACF_ENTITY_TYPE, 0)), "entity"))
        profile = str(row.get(c.MQCACF_AUTH_PROFILE_NAME, ""))
        if entity not in best or _specificity(profile) < _specificity(best[entity][0]):
            best[entity] = (profile, set(row.get(c.MQIACF_AUTHORIZATION_LIST, ())))
    return [
        Grant(entity=name, kind=kind, profile=profile)
        for (name, kind), (profile, authorities) in sorted(best.items())
        if authorities & {what, *_ALL}
    ]


def granted(session: Session, profile: str, object_type: int, to: Grantee) -> set[int] | None:
    """The authorities (MQAUTH_*) that the record of a profile itself gives a user or group; None without a record.

    Parameters: `profile` of objects, or the queue manager's name for itself; `object_type` MQOT_*.

    Raises:
        MQError: the queue manager does not tell this user, or has no such records (z/OS).
    """
    kind, _ = ENTITIES[to.entity]
    asked: dict[int, Any] = {
        c.MQIACF_AUTH_OPTIONS: c.MQAUTHOPT_NAME_EXPLICIT | c.MQAUTHOPT_ENTITY_EXPLICIT,
        c.MQCACF_AUTH_PROFILE_NAME: profile.encode(),
        c.MQIACF_OBJECT_TYPE: object_type,
        c.MQIACF_ENTITY_TYPE: kind,
        c.MQCACF_ENTITY_NAME: to.name.encode(),
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_AUTH_RECS", asked, object_name=profile)
    except MQError as error:
        if error.reason in _NO_RECORD:
            return None
        raise
    mine = [row for row in rows if row.get(c.MQCACF_ENTITY_NAME) == to.name]
    return None if not mine else {word for row in mine for word in row.get(c.MQIACF_AUTHORIZATION_LIST, ())}


def grant(session: Session, profile: str, object_type: int, to: Grantee, words: Iterable[int]) -> None:
    """Add authorities to the record of a profile; what it gives besides stays (PCF MQCMD_SET_AUTH_REC).

    Parameters: as of `granted`; `words` MQAUTH_*, none for a record that gives nothing.

    Raises:
        MQError: the command server refused.
    """
    _, names = ENTITIES[to.entity]
    asked: dict[int, Any] = {
        c.MQCACF_AUTH_PROFILE_NAME: profile.encode(),
        c.MQIACF_OBJECT_TYPE: object_type,
        c.MQIACF_AUTH_ADD_AUTHS: list(words) or [c.MQAUTH_NONE],
        names: [to.name.encode()],
    }
    command(session, "MQCMD_SET_AUTH_REC", asked, object_name=profile)


def _specificity(profile: str) -> list[int]:
    """Sorts the more specific profile first: a character before `?` before `*` before `**`, from left to right."""
    return [{"**": 3, "*": 2, "?": 1}.get(token, 0) for token in re.findall(r"\*\*|.", profile)]
