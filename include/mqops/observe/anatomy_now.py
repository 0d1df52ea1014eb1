"""The anatomy of a dead-letter queue as it is now: the messages are browsed and counted, and no run is written."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mqops.clock import utc_now
from mqops.lake.run import RunFolder
from mqops.mq.browse import browse
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name
from mqops.mq.named_queue import alias_of, usable_dead_letter_queue
from mqops.observe.anatomy import AnatomyCounter, with_growth
from mqops.observe.batches import record_batches
from mqops.observe.core.anatomy import QueueAnatomy
from mqops.observe.core.decode import Browsed
from mqops.observe.core.expired import Expired
from mqops.observe.expired import discarded, states_of
from mqops.observe.unseen import unseen


def look(connection: MqConnection, lake: Path, queue: str = "") -> tuple[QueueAnatomy, tuple[str, ...]]:
    """Browse a queue (blank: the queue manager's DEADQ); growth is since its last record in the lake. With it come
    sentences: what the queue manager discarded meanwhile, why a queue with a depth shows nothing.

    Raises:
        MQError: it cannot be browsed.
        LakeError: the last record cannot be read.
    """
    with connect(connection) as session:
        name, observed_at = queue_manager_name(session), utc_now()
        queue = queue or usable_dead_letter_queue(session)
        counter = AnatomyCounter(name, [queue], observed_at)
        browsed = Browsed(queue_manager=name, queue=queue, observed_at=datetime.fromisoformat(observed_at))
        before = states_of(session, [queue])
        for batch in record_batches(browsed, browse(session, queue)):
            counter.add(batch)
        expired = discarded(before, states_of(session, [queue])).get(queue, Expired())
        (anatomy,) = counter.queues()
        remarks: tuple[str, ...] = (expired.sentence(queue),) if expired.messages else ()
        remarks += tuple(filter(None, ("" if anatomy.messages else unseen(session, queue),)))
        remarks = (*filter(None, (alias_of(session, queue),)), *remarks)
    return with_growth(RunFolder.at(lake, name, "none").lake_folder, anatomy), remarks
