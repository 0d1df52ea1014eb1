"""Since when something is so on a queue, as far as that is known without a browse of it.

1. Where the queue manager monitors a queue (MONQ), it says how old the oldest message is.
2. Else the looks of the last day tell it (`mqops.look.depths`): how long each of them in a row has found it so. What
   was between two looks nobody knows.
3. A queue is not browsed for this: in a browse the queue manager discards messages whose time has run out (E16).
"""

from __future__ import annotations

from collections.abc import Callable

from mqops.look.estate.known import Known
from mqops.look.figures import QueueFigures
from mqops.mqsc import mqsc_name

NOT_KNOWN = "since when is not known"


def looked_so(known: Known, queue: str, holds: Callable[[int], bool]) -> str:
    """When the first look was that found a queue so, as each look since; "" where none before this one did.

    Parameters: `holds` whether it is so with this depth.
    """
    first = ""
    for one in reversed(known.sampled):
        depth = one.of(queue)
        if depth is None or not holds(depth):
            break
        first = one.at
    return first if first and first < known.figures.seen_at else ""


def has_messages(known: Known, queue: QueueFigures) -> str:
    """Since when a queue has messages, in words that follow on "; "; "" where the age of its oldest message is told."""
    if queue.oldest is not None:
        return ""
    first = looked_so(known, queue.name, bool)
    return f"it had messages at each look since {first}" if first else NOT_KNOWN


def to_know(known: Known, queue: QueueFigures) -> str:
    """What would tell since when a queue has messages, in a sentence without its full stop; "" where that is told."""
    if has_messages(known, queue) != NOT_KNOWN:
        return ""
    command = f"ALTER QLOCAL({mqsc_name(queue.name)}) MONQ(MEDIUM)"
    return f"`{command}` has the queue manager tell the age of the oldest message"


def with_since(known: Known, queue: QueueFigures) -> str:
    """How many messages a queue has, and since when."""
    since = has_messages(known, queue)
    return f"{queue.messages_and_age}{'; ' if since else ''}{since}"


def is_so(known: Known, queue: QueueFigures, holds: Callable[[int], bool]) -> str:
    """Since when a queue is full, or nearly, in a sentence without its full stop. Parameters: as of `looked_so`."""
    first = looked_so(known, queue.name, holds)
    return f"It was so at each look since {first}" if first else "No look of the last day before this one found it so"
