"""Which queues a pattern means, and the words about those of them that the connection's user may not see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqops.counted import counted

OWN = ("SYSTEM.", "MQOPS.")
"""Queues of the queue manager and of mqops, which are meant only by patterns that begin so."""
OF_ANSWERS = ("AMQ.", "PYMQPCF.")
"""How the names of dynamic queues begin that programs make for answers; the last is that of the inquiries of pymqi."""
APART = (*OWN, *OF_ANSWERS)
"""How the names begin of queues that are no application's."""
MOST_NAMED = 5
"""Queues that a sentence names."""


def selected(name: str, patterns: Iterable[str]) -> bool:
    """Whether a queue is one of those named: by its name, or a beginning and `*`.

    `SYSTEM.` and `MQOPS.` queues, and those of answers, are selected only by patterns that name them so: a queue of
    answers is gone when its program ends, such as the one that has just asked for the names of all queues.
    """
    for pattern in patterns:
        beginning, star, _ = pattern.partition("*")
        fits = name.startswith(beginning) if star else name == pattern
        if fits and (not name.startswith(APART) or beginning.startswith(APART)):
            return True
    return False


def is_named(queue: str, named: Iterable[str]) -> bool:
    """Whether one of these names, or beginnings and `*`, is the queue's: any queue's."""
    return any(queue.startswith(one[:-1]) if one.endswith("*") else queue == one for one in named)


def not_seen(queues: Sequence[str]) -> str:
    """A sentence about queues that the connection's user may not inquire, "" for none."""
    if not queues:
        return ""
    named = ", ".join(queues[:MOST_NAMED]) + (", ..." if len(queues) > MOST_NAMED else "")
    return (
        f"{counted(len(queues), 'queue')} not looked at, because the connection's user may not inquire "
        f"{'it' if len(queues) == 1 else 'them'} (+dsp, +inq, +browse): {named}"
    )
