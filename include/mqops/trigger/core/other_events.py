"""Events other than a put on an empty queue that make a trigger message: T11 to T13. They never fail."""

from __future__ import annotations

from datetime import datetime, timedelta

from mqops.counted import counted
from mqops.trigger.core.explanation import HOLDS, UNKNOWN, Condition
from mqops.trigger.core.triggered_queue import TriggeredQueue
from mqwire import constants as c

TYPES = {c.MQTT_NONE: "NONE", c.MQTT_FIRST: "FIRST", c.MQTT_EVERY: "EVERY", c.MQTT_DEPTH: "DEPTH"}


def interval(queue: TriggeredQueue) -> Condition:
    """When a message makes the next trigger message although others are there."""
    if queue.type == c.MQTT_DEPTH:
        return Condition("T11", HOLDS, "TRIGTYPE(DEPTH): with TRIGDPTH messages or more each further one triggers")
    if queue.type != c.MQTT_FIRST:
        return Condition("T11", HOLDS, f"TRIGTYPE({TYPES[queue.type]}): TRIGINT does not count")
    if queue.depth == 0 or queue.interval == 0:
        return Condition("T11", HOLDS, f"TRIGINT({queue.interval}): nothing has to be waited for (T03)")
    due = _due(queue)
    if due is not None:
        return Condition(
            "T11",
            UNKNOWN,
            f"TRIGINT({queue.interval}): a message triggers again {duration(queue.interval)} after "
            f"the last trigger message for the queue. {queue.initiation_name} got its last message, for whichever "
            f"queue, at {due - timedelta(milliseconds=queue.interval)}: the next one is due at {due:%Y-%m-%d %H:%M:%S} "
            "by the queue manager's clock, or before",
        )
    return Condition(
        "T11",
        UNKNOWN,
        f"TRIGINT({queue.interval}): a message triggers again {duration(queue.interval)} after the "
        "last trigger message for the queue. When that was made is not known: with MONQ(LOW) on the initiation queue, "
        "DISPLAY QSTATUS tells the time of its last message (LPUTTIME)",
    )


def _due(queue: TriggeredQueue) -> datetime | None:
    """When TRIGINT has passed at the latest, by the queue manager's clock; None where nothing tells."""
    last = queue.initiation.last_put if queue.initiation else ""
    try:
        return datetime.strptime(last, "%Y-%m-%d %H.%M.%S") + timedelta(milliseconds=queue.interval)
    except (ValueError, OverflowError):
        return None


def closing(queue: TriggeredQueue) -> Condition:
    if queue.type not in {c.MQTT_FIRST, c.MQTT_DEPTH}:
        return Condition("T12", HOLDS, f"TRIGTYPE({TYPES[queue.type]}): closing the queue makes no trigger message")
    if queue.open_input == 0:
        return Condition("T12", HOLDS, "no program has the queue open for input: there is none that could close it")
    return Condition(
        "T12",
        UNKNOWN,
        "a trigger message is made when the last program closes the queue and at least "
        f"{counted(needed(queue), 'message is', 'messages are')} left: how many will be left is not known",
    )


def needed(queue: TriggeredQueue) -> int:
    return queue.trigger_depth if queue.type == c.MQTT_DEPTH else 1


def changing(queue: TriggeredQueue) -> Condition:
    there = counted(queue.depth, "message")
    if queue.depth < needed(queue):
        return Condition("T13", HOLDS, f"{there}: too few for a trigger message when an attribute is changed")
    if counts_some_only(queue):
        return Condition("T13", UNKNOWN, f"{there}, of which only those with TRIGMPRI or more count: browse the queue")
    return Condition(
        "T13",
        HOLDS,
        f"{there}: NOTRIGGER and then TRIGGER makes a trigger message at once, and so does a trigger monitor that is "
        "the first to open the initiation queue, where the other conditions hold",
    )


def counts_some_only(queue: TriggeredQueue) -> bool:
    """Whether the number of messages on the queue does not say how many have TRIGMPRI or more."""
    return bool(queue.depth and queue.priority and not queue.fifo)


def duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds >= 86_400:
        return counted(seconds // 86_400, "day")
    return counted(seconds, "second") if seconds else counted(milliseconds, "millisecond")
