"""The anatomy of a dead-letter queue as it is now: browsed and counted, nothing kept."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mqops.clock import utc_now
from mqops.lake.run import RunFolder
from mqops.mq.browse import browse
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import dead_letter_queue, queue_manager_name
from mqops.observe.anatomy import AnatomyCounter, with_growth
from mqops.observe.arrow import batches
from mqops.observe.core.anatomy import QueueAnatomy
from mqops.observe.core.decode import row_maker


def look(connection: MqConnection, lake: Path, queue: str = "") -> QueueAnatomy:
    """Browse a queue (blank: the queue manager's DEADQ); growth is told since its last record in the lake.

    Raises:
        MQError: it cannot be browsed.
        LakeError: the last record cannot be read.
    """
    with connect(connection) as session:
        name, observed_at = queue_manager_name(session), utc_now()
        queue = queue or dead_letter_queue(session)
        counter = AnatomyCounter(name, [queue], observed_at)
        row = row_maker(name, queue, datetime.fromisoformat(observed_at))
        rows = (row(position, got.md, got.body) for position, got in enumerate(browse(session, queue)))
        for batch in batches(rows):
            counter.add(batch)
    (anatomy,) = counter.queues()
    return with_growth(RunFolder.at(lake, name, "none").lake_folder, anatomy)
