"""The conditions for a trigger event, each on its own, on a queue that is only values. No queue manager is needed.

`tests/spec` proves the same rules through MQPUT and MQGET; here each condition decides alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from mqlite.attributes import Value
from mqlite.triggering.conditions import CONDITIONS, DEPTH, EVENTS, EVERY, FIRST, PUT, PUT_AGAIN
from mqwire import constants as c

USABLE: dict[str, Value] = {"GET": c.MQQA_GET_ALLOWED, "PUT": c.MQQA_PUT_ALLOWED, "USAGE": c.MQUS_NORMAL}
TRIGGERED: dict[str, Value] = {**USABLE, "TRIGGER": c.MQTC_ON}


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue with TRIGTYPE(FIRST) that has just got its first message: every condition of event 1 holds."""

    platform: str = "unix"
    local: Mapping[str, Value] = field(default_factory=lambda: TRIGGERED)
    initiation_attributes: Mapping[str, Value] | None = field(default_factory=lambda: USABLE)
    process_named: bool = True
    process_defined: bool = True
    type: int = FIRST
    rank: int = 5
    lowest_rank: int = 9
    needed: int = 1
    messages: int = 1
    before: int = 0
    served: bool = False
    held_exclusively: bool = False
    monitored: bool = True
    interval_over: bool = False


INHIBITED = {**TRIGGERED, "GET": c.MQQA_GET_INHIBITED}
TRANSMISSION = {**TRIGGERED, "USAGE": c.MQUS_TRANSMISSION}
FAILING: list[tuple[int, Mapping[str, object]]] = [
    (2, {"rank": 10}),  # the priority is below TriggerMsgPriority
    (3, {"before": 1, "messages": 2}),  # FIRST: there was one before
    (3, {"type": DEPTH, "needed": 3, "before": 1, "messages": 2}),  # DEPTH: one is missing
    (4, {"served": True}),  # a program has the queue open for input
    (4, {"type": EVERY, "held_exclusively": True}),  # a member of the group has the shared queue for itself
    (5, {"platform": "zos", "local": INHIBITED}),  # z/OS: gets are inhibited
    (6, {"process_defined": False}),  # the process that is named is not there
    (6, {"process_named": False}),  # no process is named, and it is not a transmission queue
    (7, {"initiation_attributes": None}),  # no initiation queue
    (7, {"initiation_attributes": {**USABLE, "GET": c.MQQA_GET_INHIBITED}}),
    (7, {"initiation_attributes": {**USABLE, "PUT": c.MQQA_PUT_INHIBITED}}),
    (7, {"initiation_attributes": {**USABLE, "USAGE": c.MQUS_TRANSMISSION}}),
    (8, {"monitored": False}),  # no trigger monitor
    (9, {"local": {**TRIGGERED, "TRIGGER": c.MQTC_OFF}}),
]


def queue(changed: Mapping[str, object]) -> Queue:
    """The queue with other values."""
    return replace(Queue(), **changed)  # type: ignore[arg-type]


def test_event_1_on_a_queue_where_every_condition_holds() -> None:
    assert [number for number in PUT.conditions if not CONDITIONS[number](Queue())] == []
    assert PUT.completes(Queue())


@pytest.mark.parametrize(("number", "changed"), FAILING)
def test_one_condition_that_fails_prevents_the_event(number: int, changed: Mapping[str, object]) -> None:
    found = queue(changed)
    assert [other for other in PUT.conditions if not CONDITIONS[other](found)] == [number]
    assert not PUT.completes(found)


@pytest.mark.parametrize(
    "changed",
    [
        {"type": EVERY, "served": True, "before": 7, "messages": 8},  # EVERY: neither 3 nor 4 asks
        {"type": DEPTH, "needed": 3, "before": 2, "messages": 3},  # DEPTH: this one completes TriggerDepth
        {"local": INHIBITED},  # condition 5 is for z/OS only
        {"process_named": False, "process_defined": False, "local": TRANSMISSION},  # a channel needs no process
        {"rank": 9},  # TriggerMsgPriority itself is enough
    ],
)
def test_conditions_do_not_ask_for_more(changed: Mapping[str, object]) -> None:
    assert PUT.completes(queue(changed))


def test_condition_10_TriggerType_NONE_has_no_events() -> None:
    none = queue({"type": c.MQTT_NONE})
    assert not CONDITIONS[10](none)
    assert not any(event.completes(none) for event in EVENTS.values())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"before": 1, "messages": 2}, False),  # FIRST: TriggerInterval has not passed
        ({"before": 1, "messages": 2, "interval_over": True}, True),
        ({"interval_over": True}, False),  # there was none before: that is event 1
        ({"type": DEPTH, "needed": 2, "before": 2, "messages": 3}, True),  # DEPTH does not wait for TriggerInterval
        ({"type": DEPTH, "needed": 2, "before": 1, "messages": 2}, False),
        ({"type": EVERY, "before": 1, "messages": 2, "interval_over": True}, False),  # not an event of this type
    ],
)
def test_condition_11_of_a_put_to_a_queue_that_had_enough(changed: Mapping[str, object], *, expected: bool) -> None:
    assert PUT_AGAIN.completes(queue(changed)) is expected


@pytest.mark.parametrize("name", ["12", "13", "13.1", "13.2", "13.3"])
def test_condition_12_of_events_without_a_put(name: str) -> None:
    event = EVENTS[name]
    assert event.completes(queue({"messages": 1}))
    assert not event.completes(queue({"messages": 0}))
    assert not event.completes(queue({"type": DEPTH, "needed": 3, "messages": 2}))


def test_a_trigger_monitor_is_not_asked_for_where_it_is_about_to_open_the_queue() -> None:
    asking = {name for name, event in EVENTS.items() if not event.completes(queue({"monitored": False, **AGAIN[name]}))}
    assert asking == {"1", "11", "12", "13.1", "13.2"}


AGAIN: Mapping[str, Mapping[str, object]] = {
    name: {"before": 1, "messages": 2, "interval_over": True} if name == "11" else {} for name in EVENTS
}
