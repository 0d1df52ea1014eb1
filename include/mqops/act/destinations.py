"""The queues that the messages of a run went to, their identity there, and browsing them. For undo and outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mqops.act.behind_header import behind_header
from mqops.act.core.port import Taken
from mqops.act.mover_port import key_of, without_dlh
from mqops.actions import Action
from mqops.errors import InProgress, MQError, TransientMQError
from mqops.model import Destination
from mqops.mq.browse import browse
from mqops.mq.inquire import ResolvedQueue, has_uncommitted, try_resolve_queue
from mqops.mq.session import RawMessage, Session
from mqops.observe.originals import Original
from mqops.plan_row import PlanRow

TRIES_TO_LOOK = 3
"""How often a queue is browsed again because units of work of other programs hid messages."""
T = TypeVar("T")


class Destinations:
    """The name that messages were put to → the local queue they are on, or why it cannot be browsed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[Destination, ResolvedQueue] = {}

    def of(self, queue: str, queue_manager: str) -> ResolvedQueue:
        """The local queue, or the transmission queue, if it can be browsed. Raises `TransientMQError`."""
        name = Destination(queue, queue_manager)
        if name not in self._known:
            place = try_resolve_queue(self._session, *name)
            looked_at = place.queue or place.transmission_queue
            self._known[name] = self._readable(place, looked_at) if looked_at else place
        return self._known[name]

    def _readable(self, place: ResolvedQueue, queue: str) -> ResolvedQueue:
        try:
            next(browse(self._session, queue, limit=1), None)
        except TransientMQError:
            raise
        except MQError as error:
            return ResolvedQueue("", f"{place.why}; {error}".removeprefix("; "))
        return place

    def note(self, queue: str, why: str) -> None:
        """Remember that a queue cannot be browsed, unless that is known already."""
        if all((name, at.why) != (queue, why) for (name, _manager), at in self._known.items()):
            self._known[Destination(queue)] = ResolvedQueue("", why)

    def remarks(self) -> tuple[str, ...]:
        """One line for each destination that cannot be browsed, with the reason."""
        unknown = [(str(name), at) for name, at in self._known.items() if at.why]
        return tuple(f"{name} cannot be looked at: {at.why}{_waiting(at)}" for name, at in sorted(unknown))


def _waiting(at: ResolvedQueue) -> str:
    return f"; messages wait on transmission queue {at.transmission_queue}" if at.transmission_queue else ""


def key_as_put(row: PlanRow, original: Original, queue_manager: str) -> str:
    """The identity of a message where a row of a plan put it. Parameters: `queue_manager` of the plan."""
    if row.action is Action.DEADLETTER:
        return key_of(
            *behind_header(
                original.md,
                original.body,
                reason=int(row.rule_key or 0),
                queue=row.queue,
                queue_manager=queue_manager,
                at=original.observed_at,
            )
        )
    strips = row.action is Action.RETRY or not row.header
    return key_there(row.msg_key, original.md, original.body, strips_header=strips)


def key_there(key: str, md: bytes, body: bytes, *, strips_header: bool) -> str:
    """The identity of a message on the queue that it was put on. It differs from `key` if the MQDLH was removed."""
    return key_of(*without_dlh(Taken(md=md, body=body, key=key))) if strips_header else key


def browse_all(session: Session, queue: str, seen: Callable[[RawMessage], T], *, whole: bool) -> list[T]:
    """What `seen` makes of each message on a queue.

    Parameters: `whole` whether none may be hidden by a unit of work, because one that is not seen counts as absent.

    Raises:
        InProgress: units of work of others hide messages.
        MQError: the queue cannot be read.
    """
    for _ in range(TRIES_TO_LOOK):
        if whole and has_uncommitted(session, queue):
            continue
        found = [seen(got) for got in browse(session, queue)]
        if not whole or not has_uncommitted(session, queue):
            return found
    raise InProgress(f"Units of work of other programs hide messages of {queue}; look again when they have ended")
