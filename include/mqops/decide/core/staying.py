"""Which messages of a plan stay where they are as long as their destinations do not change, by the pre-flight. Pure.

1. A destination takes none of them where `takes_none` says why.
2. A local queue takes as many as it had room for, under all names together (rule 4 of `mqops.decide.core.preflight`).
   By the numbers of their rows, the first ones get the room.
3. What was not looked at, and what is not known, counts as taken. So does what is too long for its destination: the
   pre-flight knows the longest message only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from mqops.counted import counted
from mqops.decide.core.preflight import Preflight, by_local_queue, room_of, takes_none
from mqops.model import Destination

Name: TypeAlias = Destination
"""A destination as the plan's rows have it: queue, queue manager."""


class Short(NamedTuple):
    """A local queue that has no room for all. Parameters: `names` that lead to it; `messages` that are put there."""

    queue: str
    names: frozenset[Name]
    room: int
    messages: int

    @property
    def why(self) -> str:
        """Why messages stay, in words."""
        return f"{self.queue} has room for {self.room:,} of {counted(self.messages, 'message')}"


class Staying(NamedTuple):
    """What stays. Parameters: `messages` all of them; `refused` destination that takes none → why."""

    messages: int = 0
    refused: Mapping[Name, str] = {}
    short: tuple[Short, ...] = ()


def staying(found: Preflight | None, plan: str) -> Staying:
    """What stays of a plan. Parameters: `found` the pre-flight of its run: none, or that of another plan, says that
    nothing does; `plan` its digest."""
    if found is None or found.plan != plan:
        return Staying()
    whys = [(one.demand, takes_none(one)) for one in found.looked]
    refused = {Destination(demand.queue, demand.queue_manager): why for demand, why in whys if why}
    taken = [one for one in found.looked if (one.demand.queue, one.demand.queue_manager) not in refused]
    short = tuple(
        Short(
            queue=queue.name,
            names=frozenset(Destination(demand.queue, demand.queue_manager) for demand in demands),
            room=room_of(queue),
            messages=messages,
        )
        for queue, demands in by_local_queue(taken, found.taken_from)
        if (messages := sum(demand.messages for demand in demands)) > room_of(queue)
    )
    number = sum(demand.messages for demand, why in whys if why) + sum(one.messages - one.room for one in short)
    return Staying(number, refused, short)


def stay_of(found: Staying, groups: Iterable[tuple[Name, int]]) -> list[int]:
    """How many messages of each group stay. The first groups get the room of a queue that has none for all.

    Parameters: `groups` the destination of each, and how many messages it puts there.
    """
    queues = {name: one.queue for one in found.short for name in one.names}
    room = {one.queue: one.room for one in found.short}
    stays = []
    for name, messages in groups:
        taken = 0 if name in found.refused else messages
        if queue := queues.get(name):
            taken = min(taken, room[queue])
            room[queue] -= taken
        stays.append(messages - taken)
    return stays
