"""Observe in one process, without Spark: the same snapshot, the same summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from mqops.clock import utc_now
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.model import ObserveSummary
from mqops.mq.browse import browse, while_there
from mqops.mq.connection import Reach, connect
from mqops.mq.inquire import base_queue_if_known, gone_of, queue_manager_name, settled_queues
from mqops.mq.named_queue import usable_dead_letter_queue
from mqops.mq.session import RawMessage, Session
from mqops.observe import snapshot
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.expired import discarded, states_of
from mqops.observe.sealed import write_snapshot
from mqops.observe.unseen import unseen


def observe(
    connection: Reach,
    run: RunFolder,
    queues: Sequence[str] = (),
    *,
    limit: int = 0,
    some_may_end: bool = False,
    file: LedgerFile | None = None,
    chosen: Callable[[Session, str], Iterator[RawMessage]] | None = None,
) -> ObserveSummary:
    """Take a run's snapshot; writes RUN/snapshot, RUN/tries.jsonl and RUN/observe.json.

    Parameters: `queues` names, none for the queue manager's DEADQ; `limit` most messages of each queue, 0 for all;
    `some_may_end` whether nobody named the queues, so that one that has ended since is passed over;
    `file` the ledger, if the caller has it open; `chosen` gives the messages of a queue that are copied, None for all.

    Raises:
        MQError: the queue manager or a queue cannot be reached. Nothing was changed.
        LakeError, SettingsError: the snapshot cannot be kept.
    """
    snapshot.begin(run)
    observed_at = utc_now()
    with connect(connection) as session:
        name = queue_manager_name(session)
        names = tuple(queues) or (usable_dead_letter_queue(session),)
        before, settled = states_of(session, names), settled_queues(session)
        at = datetime.fromisoformat(observed_at)
        batches = (
            record_batches(
                Browsed(queue_manager=name, queue=queue, observed_at=at),
                while_there(
                    chosen(session, queue) if chosen else browse(session, queue, limit=limit), may_end=some_may_end
                ),
            )
            for queue in names
        )
        write_snapshot(run, chain.from_iterable(batches))
        expired = discarded(before, states_of(session, names))
        settled &= settled_queues(session)
        gone = gone_of(session, names) if some_may_end else ()
        return snapshot.finish(
            run,
            name,
            names,
            observed_at,
            whole=not limit and chosen is None,
            expired=expired,
            gone=gone,
            settled=settled,
            file=file,
            unseen=partial(unseen, session),
            base=partial(base_queue_if_known, session),
        )
