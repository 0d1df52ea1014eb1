"""Whether a trigger message was made between two looks at a queue.

A trigger monitor may get a trigger message before anybody sees it, and inquiry shows no trigger message. So what
changed on the queue is held against the events of IBM's page: a put (T01), a close (T12), a change (T13).
"""

from __future__ import annotations

from mqops.trigger.core.conditions import explain
from mqops.trigger.core.explanation import FAILS
from mqops.trigger.core.other_events import counts_some_only, needed
from mqops.trigger.core.triggered_queue import InitiationQueue, TriggeredQueue
from mqwire import constants as c

_FOR_CHANGES = ("T04", "T05", "T06", "T07", "T08", "T09", "T10", "T14")


def trigger_message_made(before: TriggeredQueue, after: TriggeredQueue) -> str:
    """What shows that a trigger message was made, as a sentence; "" if nothing does."""
    if _switched_itself_off(before, after):
        return "TRIGTYPE(DEPTH) has switched triggering off, as it does with each trigger message"
    if explain(before).would_trigger and not counts_some_only(after) and _came(before, after):
        return "a message has come, and all conditions held"
    judged = explain(after)
    if (
        counts_some_only(after)
        or after.depth < needed(after)
        or any(judged.state(one) == FAILS for one in _FOR_CHANGES)
    ):
        return ""
    if before.open_input and not after.open_input and after.type != c.MQTT_EVERY:
        return "the last program has closed the queue, and messages are left (T12)"
    return _by_change(before, after)


def _came(before: TriggeredQueue, after: TriggeredQueue) -> bool:
    """Whether a message came. A back-out of a get raises the depth, too (T12a): while a unit of work is open, only the
    time of the last put shows a message."""
    return after.last_put != before.last_put or (after.depth > before.depth and not before.uncommitted)


def _switched_itself_off(before: TriggeredQueue, after: TriggeredQueue) -> bool:
    off = before.type == c.MQTT_DEPTH and before.control and not after.control
    return off and (after.depth >= after.trigger_depth or _came(before, after))


def _by_change(before: TriggeredQueue, after: TriggeredQueue) -> str:
    deciding = (before.control, before.type, before.priority, before.trigger_depth)
    if deciding != (after.control, after.type, after.priority, after.trigger_depth):
        return "messages are there, and triggering was switched on, or its type, priority or depth changed (T13)"
    if not before.get_allowed and after.get_allowed:
        return "messages are there, and gets are allowed again (T13b)"
    was, now = before.initiation or InitiationQueue(local=False), after.initiation or InitiationQueue(local=False)
    if before.initiation_name == after.initiation_name and not was.put_allowed and now.put_allowed:
        return "messages are there, and puts on the initiation queue are allowed again (T13a)"
    if before.initiation_name == after.initiation_name and now.open_input and not was.open_input:
        return "messages are there, and a trigger monitor has opened the initiation queue (T13c)"
    return ""
