"""Looks for messages that loop on input queues: descriptors alone are browsed, no body travels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from mqops.backout.core.poison import Poison, can_loop
from mqops.errors import MQError
from mqops.model import QueueDefinition
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.inquire import command
from mqops.mq.session import Session
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

MOST_SEEN = 1000
"""Messages of a queue that are looked at: a message that was backed out is back in its place, at the head."""
_LOOK = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_BROWSE_NEXT
_count = MQMD_LAYOUT.reader("backout_count")


class Loops(NamedTuple):
    """Parameters: `found` the queues with messages that loop; `not_seen` those that could not be browsed: not
    authorized, inhibited, exclusive, gone, or left because of what a look would do."""

    found: tuple[Poison, ...]
    not_seen: tuple[str, ...]

    def remarks(self) -> tuple[str, ...]:
        """Sentences for a run's summary."""
        passed_over = [f"not looked at for poison: {', '.join(self.not_seen)}"] if self.not_seen else []
        return (*(f"poison: {one}. {one.do}" for one in self.found), *passed_over)


def looping(
    session: Session,
    definitions: Iterable[QueueDefinition],
    *,
    apart: Collection[str],
    queue_manager: str,
    left: Collection[str] = (),
) -> Loops:
    """The queues with messages at or over BOTHRESH.

    Parameters: `definitions` of all queues; `apart` the dead-letter queue and backout queues, where messages keep their
    count and nothing loops; `left` queues that are not to be looked at.

    Raises:
        MQError: the connection is lost.
    """
    known = {one.name: one for one in definitions}
    found: list[Poison] = []
    not_seen: list[str] = []
    for name in sorted(name for name, one in known.items() if can_loop(one) and name not in apart):
        counts = None if name in left else _counts(session, name)
        if counts is None:
            not_seen.append(name)
            continue
        over = [count for count in counts if count >= known[name].threshold]
        if over:
            poison = Poison(
                queue=name,
                queue_manager=queue_manager,
                threshold=known[name].threshold,
                messages=len(over),
                most=max(over),
                seen=len(counts),
                depth=known[name].depth,
                target=_target(known[name], known),
                readers=readers_of(session, name),
            )
            found.append(poison)
    return Loops(tuple(found), tuple(not_seen))


def _target(one: QueueDefinition, known: dict[str, QueueDefinition]) -> str:
    named = known.get(one.backout_queue)
    base = known.get(named.base) if named and named.kind == "alias" else named
    return base.name if base and base.kind == "local" and not base.transmission and base.name != one.name else ""


def _counts(session: Session, queue: str) -> list[int] | None:
    """The BackoutCount of the first messages; None where the queue cannot be browsed."""
    found: list[int] = []
    try:
        handle = session.open(queue, OPEN_OPTIONS)
        try:
            while len(found) < MOST_SEEN and (got := session.get(handle, _LOOK, room=0, name=queue)):
                found.append(int(_count(got.md)[0]))
        finally:
            session.close(handle)
    except MQError as error:
        error.raise_if_lost()
        return None
    return found


def readers_of(session: Session, queue: str) -> tuple[str, ...] | None:
    """The programs that have a queue open for input, each once; None where that cannot be inquired."""
    found = readers_by_queue(session, queue)
    return None if found is None else found.get(queue, ())


def readers_by_queue(session: Session, name: str = "*") -> Mapping[str, tuple[str, ...]] | None:
    """Queue → the programs that have it open for input, each once; None where that cannot be inquired.

    Parameters: `name` of the queue, `*` for all. Raises `MQError` for a lost connection.
    """
    asked: dict[int, Any] = {
        c.MQCA_Q_NAME: name.encode(),
        c.MQIACF_Q_STATUS_TYPE: c.MQIACF_Q_HANDLE,
        c.MQIACF_Q_STATUS_ATTRS: [c.MQCA_Q_NAME, c.MQCACF_APPL_TAG, c.MQCACF_USER_IDENTIFIER, c.MQIACF_OPEN_INPUT_TYPE],
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, object_name=name)
    except MQError as error:
        error.raise_if_lost()
        return {} if error.reason == c.MQRCCF_Q_STATUS_NOT_FOUND else None
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.get(c.MQIACF_OPEN_INPUT_TYPE):
            program, user = str(row.get(c.MQCACF_APPL_TAG, "")), str(row.get(c.MQCACF_USER_IDENTIFIER, ""))
            said = program or "a program without a name"
            found.setdefault(str(row.get(c.MQCA_Q_NAME, name)), {})[f"{said} ({user})" if user else said] = None
    return {queue: tuple(programs) for queue, programs in found.items()}
