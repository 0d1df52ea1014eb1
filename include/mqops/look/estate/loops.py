"""Queues where a message comes back again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mqops.counted import counted
from mqops.kept import bytes_of, kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency
from mqops.look.figures import QueueFigures
from mqops.look.taken_since import not_taken

BACKED_OUT = 3
"""Times after which a message loops where BOTHRESH(0) sets no limit."""
_NONE = pa.table(
    {
        "queue": pa.array([], pa.string()),
        "msg_key": pa.array([], pa.string()),
        "backout_count": pa.array([], pa.int32()),
    }
)


def seen_to_loop(known: Known) -> Iterator[Problem]:
    """The messages that loop, by a browse that was made now."""
    return (
        Problem(what=what, urgency=Urgency.NOW, place=Place.QUEUE, about=queue, looping_queue=queue)
        for queue, what in known.poison.items()
    )


def loops(known: Known) -> Iterator[Problem]:
    """Queues that no browse has looked at, by the newest snapshot of the last day.

    A backed-out message keeps its BackoutCount on a backout queue and on the dead-letter queue, where nothing loops.
    Raises `LakeError`.
    """
    apart = {known.figures.dead_letter_queue, *known.poison}
    asked = {
        one.name: one for one in known.figures.queues if one.depth and not one.is_backout and one.name not in apart
    }
    for run, queue, _messages in known.observed(known.of_last_day()) if asked else ():
        if (one := asked.pop(queue, None)) is not None:
            path = known.path(run)
            found = _backed_out(path)
            chosen = pc.and_(
                pc.equal(found["queue"], queue), pc.greater_equal(found["backout_count"], one.threshold or BACKED_OUT)
            )
            if looping := not_taken(RunFolder(path), found.filter(chosen))["backout_count"].to_pylist():
                yield _looping(one, looping, run)
        if not asked:
            return


def _looping(queue: QueueFigures, counts: Sequence[int], run: RunLine) -> Problem:
    """Parameters: `counts` the backout counts of the messages that loop; `run` whose snapshot has them."""
    by = f". It is open by {', '.join(queue.open_by)}" if queue.open_by else ""
    who = (
        "the application gets the same message again and again"
        if queue.readers
        else "no program has the queue open for input now"
    )
    what = (
        f"Poison on {queue.name}: {counted(len(counts), 'message')} came back up to "
        f"{counted(max(counts), 'time')}, and BOTHRESH is {queue.threshold}: {who}{by}"
    )
    loops = queue.name if queue.threshold else ""
    urgency = Urgency.NOW if queue.readers else Urgency.SOON
    return Problem(what=what, urgency=urgency, place=Place.MESSAGES, about=run.run, looping_queue=loops)


@kept(most=32 * 2**20, size=bytes_of)
def _backed_out(run: Path) -> pa.Table:
    """Queue, identity and backout count of messages of a snapshot that were backed out. A snapshot never changes."""
    if not RunFolder(run).snapshot.is_dir():
        return _NONE
    batches = read_parquet(RunFolder(run).snapshot, _NONE.schema.names)
    found = [batch.filter(pc.greater(batch.column("backout_count"), 0)) for batch in batches]
    return pa.Table.from_batches(found) if found else _NONE
