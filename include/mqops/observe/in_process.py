"""Observe in one process, without Spark: the same snapshot, the same summary."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from mqops.clock import utc_now
from mqops.errors import LakeError
from mqops.lake.files import lake_errors, make_folder
from mqops.lake.parquet import is_sealed, write_parquet, write_parquet_to
from mqops.lake.run import RunFolder
from mqops.lake.step import Step
from mqops.ledger.file import LedgerFile
from mqops.model import ObserveSummary
from mqops.mq.browse import browse, while_there
from mqops.mq.connection import Reach, connect
from mqops.mq.inquire import base_queue_if_known, gone_of, queue_manager_name, settled_queues, still_settled
from mqops.mq.named_queue import usable_dead_letter_queue
from mqops.mq.session import RawMessage, Session
from mqops.observe import snapshot
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.expired import discarded, known_depth, states_of
from mqops.observe.sealed import sealing_for, write_sealed
from mqops.observe.statistics import count_puts_and_gets
from mqops.observe.unchanged import Changed, unchanged
from mqops.observe.unseen import unseen


def observe(
    connection: Reach,
    run: RunFolder,
    queues: Sequence[str] = (),
    *,
    limit: int = 0,
    some_may_end: bool = False,
    ledger: LedgerFile,
    chosen: Callable[[Session, str], Iterator[RawMessage]] | None = None,
    before: RunFolder | None = None,
) -> ObserveSummary:
    """Take a run's snapshot; writes RUN/snapshot, RUN/tries.jsonl and RUN/observe.json.

    Parameters: `queues` names, none for the queue manager's DEADQ; `limit` most messages of each queue, 0 for all;
    `some_may_end` whether nobody named the queues, so that one that has ended since is passed over;
    `ledger` the open one, by which tries are counted; `chosen` gives the messages of a queue that are copied, None for
    all; `before` a run that has looked at the same queue, one only: what has not changed there since is not copied
    again.

    Raises:
        MQError: the queue manager or a queue cannot be reached. Nothing was changed.
        LakeError, SettingsError: the snapshot cannot be kept.
    """
    snapshot.begin(run)
    sealing = sealing_for(run)
    observed_at = utc_now()
    with connect(connection) as session:
        name = queue_manager_name(session)
        count_puts_and_gets(session, run.lake_folder.parent, name)
        names = tuple(queues) or (usable_dead_letter_queue(session),)
        states, settled = states_of(session, names), settled_queues(session, names)
        at = datetime.fromisoformat(observed_at)
        if not (
            before
            and sealing is None
            and _copied_news(session, run, Browsed(queue_manager=name, queue=names[0], observed_at=at), before)
        ):
            batches = (
                record_batches(
                    Browsed(queue_manager=name, queue=queue, observed_at=at),
                    while_there(
                        chosen(session, queue) if chosen else browse(session, queue, limit=limit), may_end=some_may_end
                    ),
                )
                for queue in names
            )
            with Step(run, "observe", known_depth(states, limit)) as told:
                write_sealed(run, sealing, told.counted(chain.from_iterable(batches)))
        expired = discarded(states, states_of(session, names))
        settled = still_settled(session, settled)
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
            ledger=ledger,
            unseen=partial(unseen, session),
            base=partial(base_queue_if_known, session),
        )


def _copied_news(session: Session, run: RunFolder, browsed: Browsed, before: RunFolder) -> bool:
    """Link into a run's snapshot what has not changed since a run before, and copy the other messages of the queue;
    False, and nothing is there, where the queue changed meanwhile, or where its bodies were encrypted: each run has a
    data key of its own. Raises as `observe`."""
    try:
        if is_sealed(before.snapshot):
            return False
    except LakeError:  # it was pruned
        return False
    known = unchanged(session, browsed.queue, before)
    try:
        make_folder(run.snapshot)
        known.link(run.snapshot)
        messages = known.split(browse(session, browsed.queue, behind=known.passed_over))
        place, first = known.place_of_stayed(run.snapshot), len(known.descriptors)
        with lake_errors(place):
            stayed = write_parquet_to(place, SNAPSHOT, record_batches(browsed, messages.stayed(), first=first))
            if not stayed:
                place.unlink()
        write_parquet(run.snapshot, SNAPSHOT, record_batches(browsed, messages.news(), first=first + stayed))
    except Changed:
        shutil.rmtree(run.snapshot)
        return False
    return True
