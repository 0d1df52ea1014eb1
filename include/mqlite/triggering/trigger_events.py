"""Trigger events: what happened to a queue is compared with `conditions`, and trigger messages are written.

All within the caller's transaction. A put in a unit of work meets the conditions at once, but the trigger message can
be got only after the unit of work: with EVERY only after MQCMIT, with FIRST and DEPTH also after MQBACK (T10a).
The trigger messages of events 12 and later are outside units of work (T15).

A trigger message of type DEPTH switches triggering off. MQBACK does not switch it on again.

Shared queues of a queue-sharing group: events 1 and 11 occur at MQCMIT, not at MQPUT (T03b). Each member of the group
evaluates an event with its own trigger monitor, process and initiation queue; an initiation queue that is shared gets
one trigger message, not one from each member.
Event 12 concerns the member that closes the queue; all members once no member has the queue open for input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mqlite.attributes import Kind
from mqlite.failure import Failure
from mqlite.messages.message_rows import QueuedMessage, rank_of
from mqlite.objects.definitions import Attributes
from mqlite.objects.engine import Engine, LocalQueue
from mqlite.objects.sharing_group import is_shared
from mqlite.storage import error_log, sql
from mqlite.storage.rows import QueueRow, UncommittedPut
from mqlite.storage.store import Store
from mqlite.triggering.conditions import (
    CLOSED,
    DEPTH,
    EVERY,
    GETS_ALLOWED,
    INITIATION_PUTS_ALLOWED,
    MONITOR_OPENED,
    PUT,
    PUT_AGAIN,
    SWITCHED_ON,
    Event,
)  # fmt: skip
from mqlite.triggering.situation import QueueSituation, milliseconds
from mqlite.triggering.trigger_message import TriggerMessage, put_on_dead_letter_queue, put_on_initiation_queue
from mqwire import constants as c

_DISCARDED = "the trigger message for queue %s was discarded: initiation queue %s did not take it (%d), nor the DEADQ"


def message_put(
    engine: Engine, queue: LocalQueue, *, rank: int, owner: int, arrived: int = 1, last: bool = False
) -> tuple[QueuedMessage, ...]:
    """Events 1 and 11, in the transaction of the put. Returns the trigger message, to be announced as the put is.

    Parameters: `owner` the connection in whose unit of work the put is, 0 for none; `arrived` how many segments the
    queue manager has made of the message (T16); `last` whether a trigger message that its initiation queue does not
    take is discarded at once.
    """
    if not is_shared(queue.local):
        return _consider(
            QueueSituation(engine, queue, rank=rank, arrived=arrived), (PUT, PUT_AGAIN), owner=owner, last=last
        )
    if owner:
        return ()  # its event is the commit
    return _consider_everywhere(engine, queue, (PUT, PUT_AGAIN), rank=rank, arrived=arrived, last=last)


def committed(engine: Engine, number: int, owner: int) -> tuple[int, tuple[QueuedMessage, ...]]:
    """Make a unit of work's puts on a queue available, in their order: events 1 and 11 of a shared queue (T03b).

    Parameters: `number` of the queue; `owner` the connection whose unit of work it is.
    Returns how many messages there were, and the trigger messages.
    """
    row = engine.store.row(QueueRow, sql.QUEUE_BY_ID, (number,))
    queue = engine.local_queue(row.name) if row else None
    if queue is None or not is_shared(queue.local) or not queue.local["TRIGGER"]:
        return engine.store.execute(sql.COMMIT_PUTS, (number, owner)).rowcount, ()
    rows = engine.store.rows(UncommittedPut, sql.PUTS_OF, (number, owner))
    written: tuple[QueuedMessage, ...] = ()
    for seq, rank in rows:
        engine.store.execute(sql.COMMIT_PUT, (seq,))
        queue = engine.local_queue(queue.name) or queue  # DEPTH switches its triggering off
        written += message_put(engine, queue, rank=rank, owner=0)
    return len(rows), written


def closed(engine: Engine, queues: Iterable[int]) -> tuple[QueuedMessage, ...]:
    """Event 12: these queues were closed by one who had them open for input, or who died (T12a)."""
    written: tuple[QueuedMessage, ...] = ()
    for number in sorted(queues):
        row = engine.store.row(QueueRow, sql.QUEUE_BY_ID, (number,))
        queue = engine.local_queue(row.name) if row else None
        if queue is None or queue.local["TRIGGER"] != c.MQTC_ON:
            continue
        if is_shared(queue.local) and not engine.store.value(sql.OPEN_COUNTS, (number,)):
            written += _consider_everywhere(engine, queue, (CLOSED,))
        elif not (now := QueueSituation(engine, queue)).open_for_input(queue):
            written += _consider(now, (CLOSED,))
    return written


def altered(engine: Engine, name: str, before: Attributes, after: Attributes) -> tuple[QueuedMessage, ...]:
    """Events 13, 13.1 and 13.2: a local queue has other attributes now, by MQSET or a command."""
    events = [event for event, completes in ALTERATIONS if completes(before, after)]
    queue = engine.local_queue(name) if events else None
    written = _consider_everywhere(engine, queue, events) if queue else ()
    if before["PUT"] != after["PUT"] == c.MQQA_PUT_ALLOWED:
        written += _consider_all(engine, name, INITIATION_PUTS_ALLOWED, everywhere=is_shared(after))
    return written


def switched_on(before: Attributes, after: Attributes) -> bool:
    """TriggerControl is on now, or was and what decides about a trigger event is other than it was."""
    if after["TRIGGER"] != c.MQTC_ON:
        return False
    deciding = ["TRIGGER", "TRIGTYPE", "TRIGMPRI"] + ["TRIGDPTH"] * (after["TRIGTYPE"] == DEPTH)
    return any(before[keyword] != after[keyword] for keyword in deciding)


ALTERATIONS: tuple[tuple[Event, Callable[[Attributes, Attributes], bool]], ...] = (
    (SWITCHED_ON, switched_on),
    (GETS_ALLOWED, lambda before, after: before["GET"] != after["GET"] == c.MQQA_GET_ALLOWED),
)


def opened(engine: Engine, name: str) -> tuple[QueuedMessage, ...]:
    """Event 13.3: an initiation queue was opened for input, and no program had it open so before."""
    return _consider_all(engine, name, MONITOR_OPENED)


def restarted(store: Store) -> None:
    """The queue manager has started: the timers of TriggerInterval with it (T11).

    That is when its service starts, and when an application connects while no other is connected.
    """
    store.execute(sql.FORGET_TRIGGERED)


def _consider_all(
    engine: Engine, initiation: str, event: Event, *, everywhere: bool = False
) -> tuple[QueuedMessage, ...]:
    """An event of an initiation queue: one for each queue that it is for; `everywhere` in the queue-sharing group."""
    written: tuple[QueuedMessage, ...] = ()
    seen = set[int]()
    for member in engine.members() if everywhere else (engine,):
        with member.acting():
            for (name,) in engine.store.all(sql.TRIGGERED_BY, (initiation,)):
                queue = member.local_queue(name)
                if queue is None or queue.number in seen:
                    continue
                seen.add(queue.number)
                if everywhere:
                    written += _consider_everywhere(member, queue, (event,))
                else:
                    written += _consider(QueueSituation(member, queue), (event,))
    return written


def _consider_everywhere(
    engine: Engine, queue: LocalQueue, events: Iterable[Event], *, rank: int = 0, arrived: int = 0, last: bool = False
) -> tuple[QueuedMessage, ...]:
    """An event of a queue: for a shared one the same for every member, whose trigger messages do not affect each other.

    Trigger messages for one shared initiation queue are one, from the first member that would write it.
    """
    completed: list[QueueSituation] = []
    for member in engine.members() if is_shared(queue.local) else (engine,):
        with member.acting():
            now = QueueSituation(member, queue, rank=rank, arrived=arrived)
            initiation = now.initiation
            if initiation is None or any(other.initiation == initiation for other in completed):
                continue
            if any(event.completes(now) for event in events):
                completed.append(now)
    written: tuple[QueuedMessage, ...] = ()
    for now in completed:
        with now.engine.acting():
            written += _write_for(now, last=last)
    return written


def _consider(
    now: QueueSituation, events: Iterable[Event], *, owner: int = 0, last: bool = False
) -> tuple[QueuedMessage, ...]:
    """Write one trigger message if one of these events has completed the conditions."""
    return _write_for(now, owner=owner, last=last) if any(event.completes(now) for event in events) else ()


def _write_for(now: QueueSituation, *, owner: int = 0, last: bool = False) -> tuple[QueuedMessage, ...]:
    if now.initiation is None:
        return ()
    message = TriggerMessage(
        queue=now.queue, initiation=now.initiation, process=now.process, owner=owner,
        stays=bool(owner) and now.type != EVERY,
    )  # fmt: skip
    written = _write(now.engine, message, last=last)
    now.engine.store.execute(sql.TRIGGERED_NOW, (milliseconds(), now.queue.number))
    if now.type == DEPTH:
        now.engine.objects.alter(Kind.QLOCAL, now.queue.name, {"TRIGGER": c.MQTC_OFF})
    return written


def _write(engine: Engine, message: TriggerMessage, *, last: bool) -> tuple[QueuedMessage, ...]:
    """On the initiation queue, else on the dead-letter queue, which may be triggered by that itself; else the error log
    has it (IBM MQ, "When triggering does not work")."""
    try:
        return (put_on_initiation_queue(engine, message),)
    except Failure as failure:
        reason = failure.reason
        dead = None if last else put_on_dead_letter_queue(engine, message, reason)
    if dead is None:
        error_log.append(engine.manager.folder, _DISCARDED, message.queue.name, message.initiation.name, reason)
        return ()
    queue, placed = dead
    rank = rank_of(queue.local, int(str(message.initiation.local["DEFPRTY"])))
    return (placed, *message_put(engine, queue, rank=rank, owner=message.owner, last=True))
