"""The conditions of a trigger event, as data. No I/O: `Situation` says what a queue is like, and nothing here asks how.

This module has the numbers of the page "Conditions for a trigger event", and can be read beside it.

Events, each with what has to hold for it (EVENTS):

    1     a message is put on a queue                                             2 3 4 5 6 7 8 9 10
    11    a message is put on a queue that had as many as that before             2 11 4 5 6 7 8 9 10
    12    the only application that serves a queue closes it                      12 6 7 8 9 10
    13    triggering is switched on, or its type, priority or depth is changed    12 4 5 6 7 9 10
    13.1  puts to the initiation queue are allowed again                          12 4 5 6 7 8 9 10
    13.2  gets from the queue are allowed again                                   12 4 6 7 8 9 10
    13.3  a trigger monitor is the first to open the initiation queue for input   12 4 5 6 7 9 10

11 and 12 are for the types FIRST and DEPTH.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mqlite.attributes import Value
from mqlite.platform import Platform
from mqwire import constants as c

FIRST, EVERY, DEPTH = c.MQTT_FIRST, c.MQTT_EVERY, c.MQTT_DEPTH


class Situation(Protocol):
    """A queue at the moment of an event. A property is asked for only if the conditions before it hold."""

    @property
    def platform(self) -> str:
        """`unix` or `zos`."""

    @property
    def local(self) -> Mapping[str, Value]:
        """The attributes of the queue."""

    @property
    def initiation_attributes(self) -> Mapping[str, Value] | None:
        """Those of the queue that InitiationQName names, None if there is no such queue."""

    @property
    def process_named(self) -> bool:
        """ProcessName is not blank."""

    @property
    def process_defined(self) -> bool:
        """The process definition that ProcessName names is there."""

    @property
    def type(self) -> int:
        """TriggerType; for a shared queue that is served elsewhere FIRST, unless it is NONE (T04a)."""

    @property
    def rank(self) -> int:
        """Of the message that was put: the lower, the higher its priority."""

    @property
    def lowest_rank(self) -> int:
        """The rank of a message whose priority is TriggerMsgPriority; of priority 0 if served elsewhere (T04a)."""

    @property
    def needed(self) -> int:
        """How many messages it takes."""

    @property
    def messages(self) -> int:
        """How many messages of sufficient priority are on the queue."""

    @property
    def before(self) -> int:
        """How many there were before the message that was put."""

    @property
    def served(self) -> bool:
        """A program has the queue open for input; a shared one, a program of this queue manager (T04b)."""

    @property
    def held_exclusively(self) -> bool:
        """A queue manager of the group has this shared queue open for exclusive input (T04b)."""

    @property
    def monitored(self) -> bool:
        """A trigger monitor has the initiation queue open for input."""

    @property
    def interval_over(self) -> bool:
        """TriggerInterval has passed since the last trigger message for this queue (T11)."""


def initiation_queue_usable(now: Situation) -> bool:
    """Condition 7. A logically deleted queue is not found."""
    queue = now.initiation_attributes
    return (
        queue is not None
        and queue["GET"] == c.MQQA_GET_ALLOWED
        and queue["PUT"] == c.MQQA_PUT_ALLOWED
        and queue["USAGE"] == c.MQUS_NORMAL
    )


# fmt: off
CONDITIONS: dict[int, Callable[[Situation], bool]] = {
    # The message has a priority of at least TriggerMsgPriority.
    2: lambda now: now.rank <= now.lowest_rank,
    # Of such messages there were before: none (FIRST), any number (EVERY), TriggerDepth - 1 (DEPTH).
    3: lambda now: now.type == EVERY or now.before < now.needed <= now.messages,
    # FIRST, DEPTH: no program has the queue open for removing messages. No member has a shared one for itself alone.
    4: lambda now: not now.held_exclusively and (now.type == EVERY or not now.served),
    # z/OS: gets from the queue are not inhibited.
    5: lambda now: now.platform != Platform.ZOS or now.local["GET"] == c.MQQA_GET_ALLOWED,
    # The process that is named has been defined; or none is named, and the queue is a transmission queue.
    6: lambda now: now.process_defined if now.process_named else now.local["USAGE"] == c.MQUS_TRANSMISSION,
    # The initiation queue is there, neither puts nor gets are inhibited, and it is not a transmission queue.
    7: initiation_queue_usable,
    # A trigger monitor has the initiation queue open for removing messages.
    8: lambda now: now.monitored,
    # TriggerControl is on.
    9: lambda now: now.local["TRIGGER"] == c.MQTC_ON,
    # TriggerType is not NONE.
    10: lambda now: now.type != c.MQTT_NONE,
    # There were as many before already; with FIRST the last trigger message is TriggerInterval ago.
    11: lambda now: now.before >= now.needed and (now.type == DEPTH or now.interval_over),
    # There is at least one message (FIRST, EVERY), or TriggerDepth (DEPTH).
    12: lambda now: now.messages >= now.needed,
}
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that may be a trigger event: for queues of which trigger types, if which conditions hold."""

    types: frozenset[int]
    conditions: tuple[int, ...]

    def completes(self, now: Situation) -> bool:
        """Whether a trigger message is to be written."""
        return now.type in self.types and all(CONDITIONS[number](now) for number in self.conditions)


ALL_TYPES, NOT_EVERY = frozenset({FIRST, EVERY, DEPTH}), frozenset({FIRST, DEPTH})
PUT = Event(types=ALL_TYPES, conditions=(2, 3, 4, 5, 6, 7, 8, 9, 10))
PUT_AGAIN = Event(types=NOT_EVERY, conditions=(2, 11, 4, 5, 6, 7, 8, 9, 10))
CLOSED = Event(types=NOT_EVERY, conditions=(12, 6, 7, 8, 9, 10))
SWITCHED_ON = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 9, 10))
INITIATION_PUTS_ALLOWED = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 8, 9, 10))
GETS_ALLOWED = Event(types=ALL_TYPES, conditions=(12, 4, 6, 7, 8, 9, 10))
MONITOR_OPENED = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 9, 10))
EVENTS = {
    "1": PUT, "11": PUT_AGAIN, "12": CLOSED, "13": SWITCHED_ON, "13.1": INITIATION_PUTS_ALLOWED,
    "13.2": GETS_ALLOWED, "13.3": MONITOR_OPENED,
}  # fmt: skip
