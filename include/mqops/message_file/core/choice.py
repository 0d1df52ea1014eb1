"""Which messages of a file a load puts (rules 4 and 5 of `mqops.message_file`). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from mqops.actions import Action


def load_actions(keys: Iterable[str], *, loaded: Set[int], on_queue: Mapping[str, int]) -> Iterator[Action]:
    """The action for each message, in the order of the file.

    Parameters: `keys` the identity of each message; `loaded` numbers of the messages that earlier loads put;
    `on_queue` how many of which messages are on the queue. Of several equal messages as many are left as are there.
    """
    there = Counter(on_queue)
    for number, key in enumerate(keys):
        if number in loaded:
            there[key] -= there[key] > 0  # the one on the queue may be this one
            yield Action.LOADED
        elif there[key] > 0:
            there[key] -= 1
            yield Action.PRESENT
        else:
            yield Action.LOAD
