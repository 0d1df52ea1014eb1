"""Messages that a look at a queue made the queue manager discard, because their lifetime was over (E03): in words."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.counted import counted
from mqops.misnamed import is_alias
from mqops.model import ObserveSummary


@dataclass(frozen=True, slots=True)
class Expired:
    """By how many messages a queue became less deep. Parameters: `exact` False if others had it open for input or
    output: then messages that they got count, too."""

    messages: int = 0
    exact: bool = True

    def sentence(self, queue: str) -> str:
        """A sentence."""
        if self.exact:
            number = counted(self.messages, "expired message")
            return f"{queue}: the queue manager discarded {number} when the queue was browsed"
        number = counted(self.messages, "message is", "messages are")
        return f"{queue}: {number} gone since the browse began: expired and discarded, or got by other programs"


def remarks(observed: ObserveSummary) -> tuple[str, ...]:
    """A sentence for each queue of a snapshot that is an alias, has lost messages, has ended, or shows none of its
    messages. One of an earlier version says nothing."""
    aliases = (is_alias(one.queue, one.base) for one in observed.queues if one.base)
    queues = (one for one in observed.queues if one.expired)
    expired = (Expired(one.expired, one.expired_exact).sentence(one.queue) for one in queues)
    ended = (f"{queue}: the queue ended while queues were looked at" for queue in observed.gone)
    unseen = (one.unseen for one in observed.queues if one.unseen)
    return (*aliases, *expired, *ended, *unseen)
