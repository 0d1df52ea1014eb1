"""What is wrong with a name that should be that of a local queue for applications' messages: DEADQ, BOQNAME.

DEADQ has to name a local queue (IBM MQ, "Working with dead-letter queues"); on a transmission queue the message would
be taken by a channel, which ends at a message without an MQXQH. It knows definitions and no queue manager.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqops.model import QueueDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed:
    """What a name is instead of a local queue's, as the rest of a sentence that names it.

    Parameters: `instead` the local queue that is probably meant, "" where nothing says.
    """

    why: str
    instead: str = ""
    there: bool = True


_NOT_HERE = {
    "topic": "which is an alias of the topic {base}: it holds no messages",
    "remote": "which is a remote queue: it holds no messages here",
    "model": "which is a model queue: it holds no messages",
}
"""Kind of queue → why it is none where messages lie."""


def is_alias(name: str, base: str) -> str:
    """What people are told of an alias that they have named."""
    return f"{name} is an alias of {base}, which is looked at"


def misnamed(name: str, found: QueueDefinition | None, others: Iterable[str] = ()) -> Misnamed | None:
    """What is wrong with a name; None for a local queue that is no transmission queue.

    Parameters: `found` the queue of this name, None where there is none; `others` names of local queues, among which
    one of the same letters in another case is looked for (names of queues are case-sensitive).
    """
    if found is None:
        other = next((one for one in sorted(others) if one.casefold() == name.casefold() and one != name), "")
        also = f", {other} is: names of queues are case-sensitive" if other else ""
        return Misnamed(why=f"which is not there{also}", instead=other, there=False)
    if found.kind == "alias":
        base = f"of {found.base}" if found.base else "of a queue that is not there"
        return Misnamed(why=f"which is an alias {base}", instead=found.base)
    if found.kind in _NOT_HERE:
        return Misnamed(why=_NOT_HERE[found.kind].format(base=found.base))
    if found.transmission:
        return Misnamed(why="which is a transmission queue: its channel ends at a message without an MQXQH")
    return None
