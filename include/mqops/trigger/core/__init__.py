"""The conditions for a trigger event, judged on what inquiry found, and the commands that mend them."""

from mqops.trigger.core.changes import Change
from mqops.trigger.core.conditions import explain
from mqops.trigger.core.explanation import FAILS, HOLDS, UNKNOWN, Condition, Explanation
from mqops.trigger.core.triggered_queue import InitiationQueue, Reader, TriggeredQueue

__all__ = [
    "FAILS",
    "HOLDS",
    "UNKNOWN",
    "Change",
    "Condition",
    "Explanation",
    "InitiationQueue",
    "Reader",
    "TriggeredQueue",
    "explain",
]
