"""A queue at the moment of an event, as the store has it."""

from __future__ import annotations

import time
from functools import cached_property

from mqlite.attributes import Kind
from mqlite.messages.message_rows import LOWEST
from mqlite.objects.definitions import Attributes
from mqlite.objects.engine import Engine, LocalQueue
from mqlite.objects.sharing_group import is_shared
from mqlite.storage import sql
from mqlite.triggering.conditions import DEPTH, FIRST
from mqwire import constants as c


class QueueSituation:
    """Implements `conditions.Situation` on the store: what a condition asks for is looked up when it asks.

    Parameters: `rank` of the message that was put (see `mqlite.storage.sql`); `arrived` how many rows it is, 0 without
    a put.
    """

    def __init__(self, engine: Engine, queue: LocalQueue, *, rank: int = 0, arrived: int = 0) -> None:
        self.engine = engine
        self.queue = queue
        self.local = queue.local
        self.platform = engine.manager.platform
        self.rank = rank
        self.arrived = arrived

    @cached_property
    def served_elsewhere(self) -> bool:
        """Another queue manager of the group has this shared queue open for input (T04a)."""
        if not is_shared(self.local):
            return False
        return int(self.engine.store.value(sql.OPEN_COUNTS, (self.queue.number,))) > self.open_for_input(self.queue)

    @property
    def held_exclusively(self) -> bool:
        """A queue manager of the group has this shared queue open for exclusive input (T04b)."""
        return is_shared(self.local) and self.engine.store.open_counts(self.queue.number).exclusive > 0

    @property
    def type(self) -> int:
        """TriggerType; for a shared queue that is served elsewhere FIRST, unless it is NONE (T04a)."""
        kind = int(str(self.local["TRIGTYPE"]))
        return FIRST if kind != c.MQTT_NONE and self.served_elsewhere else kind

    @property
    def lowest_rank(self) -> int:
        """The rank of a message whose priority is TriggerMsgPriority; of priority 0 if served elsewhere (T04a)."""
        return LOWEST - (0 if self.served_elsewhere else int(str(self.local["TRIGMPRI"])))

    @property
    def needed(self) -> int:
        """How many messages it takes."""
        return int(str(self.local["TRIGDPTH"])) if self.type == DEPTH else 1

    @cached_property
    def messages(self) -> int:
        """How many messages of sufficient priority are on the queue; no more than matter.

        Committed or not (T03a); on a shared queue only those committed (T03b).
        """
        counted = sql.QUALIFYING_COMMITTED if is_shared(self.local) else sql.QUALIFYING
        limit = self.needed + self.arrived
        return int(self.engine.store.value(counted, (self.queue.number, self.lowest_rank, limit)))

    @property
    def before(self) -> int:
        """How many there were before the message that was put."""
        return self.messages - self.arrived

    @property
    def interval_over(self) -> bool:
        """TriggerInterval has passed since the last trigger message for this queue; true if there was none (T11)."""
        since = milliseconds() - int(self.engine.store.value(sql.TRIGGERED_AT, (self.queue.number,)))
        return since >= int(str(self.engine.objects.manager()["TRIGINT"]))

    @property
    def process_named(self) -> bool:
        """ProcessName is not blank."""
        return bool(self.local["PROCESS"])

    @cached_property
    def process(self) -> Attributes | None:
        """The process definition that ProcessName names."""
        return self.engine.objects.get(Kind.PROCESS, str(self.local["PROCESS"])) if self.process_named else None

    @property
    def process_defined(self) -> bool:
        """The process definition that ProcessName names is there."""
        return self.process is not None

    @cached_property
    def initiation(self) -> LocalQueue | None:
        """The queue that InitiationQName names."""
        name = str(self.local["INITQ"])
        return self.engine.local_queue(name) if name else None

    @property
    def initiation_attributes(self) -> Attributes | None:
        """Those of that queue, None if there is no such queue."""
        return None if self.initiation is None else self.initiation.local

    @property
    def served(self) -> bool:
        """A program has the queue open for input; a shared one, a program of this queue manager (T04b)."""
        return self.open_for_input(self.queue) > 0

    @property
    def monitored(self) -> bool:
        """A trigger monitor has the initiation queue open for input."""
        return self.initiation is not None and self.open_for_input(self.initiation) > 0

    def open_for_input(self, queue: LocalQueue) -> int:
        """OpenInputCount; of a shared queue that of this queue manager (T04b)."""
        counts = sql.OPEN_COUNTS_HERE if is_shared(queue.local) else sql.OPEN_COUNTS
        return int(self.engine.store.value(counts, (queue.number,)))


def milliseconds() -> int:
    """Now, since 1970."""
    return int(time.time() * 1000)
