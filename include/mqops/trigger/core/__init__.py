"""The conditions for a trigger event, judged on what inquiry found."""

from mqops.trigger.core.conditions import FAILS, HOLDS, UNKNOWN, Condition, Explanation, explain
from mqops.trigger.core.found import InitiationQueue, Reader, TriggeredQueue

__all__ = [
    "FAILS",
    "HOLDS",
    "UNKNOWN",
    "Condition",
    "Explanation",
    "InitiationQueue",
    "Reader",
    "TriggeredQueue",
    "explain",
]
