"""The dead-letter queue: whether there is one, the messages on it, and of what kinds the newest snapshot has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mqops.act.sources import PROTECTION_ERRORS
from mqops.kept import bytes_of, kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency
from mqops.look.estate.since import to_know, with_since
from mqops.look.taken_since import not_taken
from mqops.look.words.run_name import name_of
from mqops.observe.core.dead_letters import Kind, Kinds, kinds_of, protected
from mqwire import constants as c

_NONE = pa.table(
    {
        "queue": pa.array([], pa.string()),
        "msg_key": pa.array([], pa.string()),
        **{name: pa.array([], pa.int32()) for name in ("msg_type", "feedback", "expiry")},
    }
)


def dead_letter_queue(known: Known) -> Iterator[Problem]:
    """That the queue manager has none: what a channel cannot put is lost then, or stops the channel."""
    if wrong := known.figures.no_dead_letter_queue:
        yield Problem(
            what=f"The queue manager has no dead-letter queue, because {wrong}: a nonpersistent message that a channel "
            f"cannot put is lost, and a persistent one stops the channel",
            remedy=f"To mend it: {known.figures.deadq_mend}",
            urgency=Urgency.NOW,
        )


def dead_letters(known: Known) -> Iterator[Problem]:
    """Messages that no application got: on the dead-letter queue, and where AMS puts those that it cannot open."""
    for one in known.figures.queues:
        if one.depth and one.name == known.figures.dead_letter_queue:
            what = f"{one.name}, the dead-letter queue, has {with_since(known, one)}"
            yield Problem(what=what, remedy=to_know(known, one), place=Place.DEAD_LETTERS, about=one.name)
        elif one.depth and one.name == PROTECTION_ERRORS:
            yield Problem(what=protected(one.depth), place=Place.QUEUE, about=one.name)


def by_kind(known: Known) -> Iterator[Problem]:
    """Reports, and messages that expire, on the dead-letter queue, by the newest snapshot of the last day."""
    queue = known.figures.dead_letter_queue
    if not any(one.name == queue and one.depth for one in known.figures.queues):
        return
    looked = (run for run, name, _messages in known.observed(known.of_last_day()) if name == queue)
    if (run := next(looked, None)) is not None:
        found = _kinds(known.path(run), queue)
        if told := found.sentences():
            name = f'the run "{name_of(run)}"'
            what = f"No run has taken these messages from {queue} since {name} found them: {'; '.join(told)}"
            yield Problem(what=what, place=Place.DEAD_LETTERS, about=queue)


def _kinds(run: Path, queue: str) -> Kinds:
    """The kinds of messages of a queue that are in a snapshot, and that no run has taken since. Raises `LakeError`."""
    there = not_taken(RunFolder(run), _told_of(run, queue))
    return kinds_of(Kind(row["msg_type"], row["feedback"], row["expiry"]) for row in there.to_pylist())


@kept(most=32 * 2**20, size=bytes_of)
def _told_of(run: Path, queue: str) -> pa.Table:
    """The reports, and the messages with a lifetime, of a queue in a snapshot. A snapshot never changes."""
    if not RunFolder(run).snapshot.is_dir():
        return _NONE
    batches = read_parquet(RunFolder(run).snapshot, _NONE.schema.names)
    found = [batch.filter(_is_told(batch, queue)) for batch in batches]
    return pa.Table.from_batches(found) if found else _NONE


def _is_told(batch: pa.RecordBatch, queue: str) -> pa.Array:
    special = pc.or_(
        pc.equal(batch.column("msg_type"), c.MQMT_REPORT), pc.not_equal(batch.column("expiry"), c.MQEI_UNLIMITED)
    )
    return pc.and_(pc.equal(batch.column("queue"), queue), special)
