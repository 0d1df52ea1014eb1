"""Asks a queue manager why a queue with a depth gives a browse nothing: Inquire Queue Status, Inquire Connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from mqops.errors import MQError
from mqops.mq.browse import browse
from mqops.mq.inquire import base_queue_if_known, command, depth
from mqops.mq.library import library
from mqops.mq.session import Session
from mqops.observe.core.unseen import Unit, Unseen
from mqwire import constants as c

_OF_UNIT = (
    *(c.MQCACF_APPL_TAG, c.MQCACF_USER_IDENTIFIER, c.MQIACF_UOW_STATE),
    *(c.MQCACF_UOW_START_DATE, c.MQCACF_UOW_START_TIME),
)


def unseen(session: Session, queue: str) -> str:
    """A sentence about a queue of which a browse gave nothing: "" where it is empty, where a browse
    gives a message, or where its depth is not known.

    Raises:
        MQError: the connection is lost.
    """
    try:
        there = depth(session, queue)
        if there <= 0 or next(browse(session, queue, limit=1), None) is not None:
            return ""
        base = base_queue_if_known(session, queue)
        found = Unseen(queue=queue, depth=there, uncommitted=_uncommitted(session, base))
        return str(found if not found.uncommitted else _with_unit(session, found, base))
    except MQError as error:
        error.raise_if_lost()
        return ""


def units_in_words(session: Session, depths: Mapping[str, int]) -> dict[str, str]:
    """Queue → a sentence about its open units of work, by inquiry alone. Parameters: `depths` of local queues that have
    uncommitted messages. Raises `MQError` for a lost connection."""
    units, users = _units(session), _users(session)
    return {
        queue: str(
            Unseen(
                queue=queue, depth=depth, uncommitted=True, oldest=_oldest(units, users.get(queue, ())), browsed=False
            )
        )
        for queue, depth in depths.items()
    }


def _with_unit(session: Session, found: Unseen, base: str) -> Unseen:
    units = _units(session)
    users = _users(session).get(base, set()) if units else set()
    return replace(found, uncommitted=True, oldest=_oldest(units, users))


def _oldest(units: Mapping[bytes, Unit], users: Collection[bytes]) -> Unit | None:
    """The oldest unit of work of these connections; of any where they have none. None where there is none at all."""
    own = [unit for connection, unit in units.items() if connection in users]
    oldest = min(own or units.values(), key=lambda unit: (not unit.since, unit.since), default=None)
    return replace(oldest, on_queue=bool(own)) if oldest else None


def _uncommitted(session: Session, queue: str) -> bool | None:
    asked: dict[int, Any] = {c.MQCA_Q_NAME: queue.encode(), c.MQIACF_Q_STATUS_ATTRS: [c.MQIACF_UNCOMMITTED_MSGS]}
    told = [row[c.MQIACF_UNCOMMITTED_MSGS] for row in _asked(session, "MQCMD_INQUIRE_Q_STATUS", asked)
            if c.MQIACF_UNCOMMITTED_MSGS in row]  # fmt: skip
    return any(told) if told else None


def _units(session: Session) -> dict[bytes, Unit]:
    """Connection → its unit of work, of those that have one."""
    rows = _connections(session, c.MQIACF_CONN_INFO_CONN, _OF_UNIT)
    return {
        _identifier(row): Unit(
            program=str(row.get(c.MQCACF_APPL_TAG, "")),
            user=str(row.get(c.MQCACF_USER_IDENTIFIER, "")),
            since=f"{row.get(c.MQCACF_UOW_START_DATE, '')} {row.get(c.MQCACF_UOW_START_TIME, '')}".strip(),
        )
        for row in rows
        if row.get(c.MQIACF_UOW_STATE, c.MQUOWST_NONE) != c.MQUOWST_NONE
    }


def _users(session: Session) -> dict[str, set[bytes]]:
    """Object → the connections that have it open."""
    found: dict[str, set[bytes]] = {}
    for row in _connections(session, c.MQIACF_CONN_INFO_HANDLE, (c.MQCACF_OBJECT_NAME, c.MQIACF_OPEN_OPTIONS)):
        found.setdefault(str(row.get(c.MQCACF_OBJECT_NAME, "")), set()).add(_identifier(row))
    return found


def _connections(session: Session, kind: int, wanted: tuple[int, ...]) -> list[dict[int, Any]]:
    asked: Any = {
        c.MQBACF_GENERIC_CONNECTION_ID: library().ByteString(b""),
        c.MQIACF_CONN_INFO_TYPE: kind,
        c.MQIACF_CONNECTION_ATTRS: list(wanted),
    }
    rows = _asked(session, "MQCMD_INQUIRE_CONNECTION", asked)
    return [row for row in rows if c.MQBACF_CONNECTION_ID in row]


def _identifier(row: Mapping[int, Any]) -> bytes:
    found = row[c.MQBACF_CONNECTION_ID]
    return found if isinstance(found, bytes) else str(found).encode("latin-1")


def _asked(session: Session, name: str, arguments: dict[int, Any]) -> list[dict[int, Any]]:
    """The answers; none where the command server refuses. Raises `MQError` for a lost connection."""
    try:
        return command(session, name, arguments)
    except MQError as error:
        error.raise_if_lost()
        return []
