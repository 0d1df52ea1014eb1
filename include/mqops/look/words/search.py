"""What is said of a search in recorded snapshots, and what it found. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Column, Link, Name, OfRun, Table, Text, Time, joined, said, sentences
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.find import FoundMessage

TOO_SLOW = (
    "This search is too slow here: pages may use little time and memory, so that they delay nobody. This command "
    "searches as long as it takes:"
)
MOST_NAMED = 3
"""Queues that are named before they are counted."""


def searched(line: RunLine | None) -> Text:
    """Which snapshot is searched; nothing where none is."""
    if line is None:
        return NOTHING
    queues = line.queue.split(",")
    of = counted(len(queues), "queue") if len(queues) > MOST_NAMED else joined(", ", map(Name, queues))
    run = OfRun(line.queue_manager, line.run)
    return said("The search is in one snapshot: of {}, taken {} by {} of {}.", of, Time(line.at), run, line.workflow)


def snapshot_of(line: RunLine) -> str:
    """The snapshot of a run in a few words."""
    queues = line.queue.split(",")
    return f"{line.workflow} of {counted(len(queues), 'queue') if len(queues) > MOST_NAMED else line.queue}"


def unrecorded(queue: str, depth: int | None, unit: str, queue_manager: str) -> Text:
    """That no run has recorded messages of a queue. Parameters: `depth` of now, None where it is not known; `unit` of
    work that is open there, in words, "" for none."""
    now = said(", which has {} now", depth) if depth else NOTHING
    link = Link("start one on the page Quality", "quality", {"queue_manager": queue_manager})
    return sentences(
        said("no run has recorded messages of {}{}, so none can be shown.", Name(queue), now),
        said("{}.", unit) if unit else NOTHING,
        said("A quality run records those of its queues: {}.", link),
    )


def looked_at(number: int, total: int) -> str:
    """How many messages the search has looked at. Parameters: `total` of the snapshot, 0 where only some were meant."""
    return f"{number:,} of {counted(total, 'message')}" if total else counted(number, "message")


def messages(
    found: Sequence[FoundMessage],
    of: dict[str, str],
    *,
    more: bool,
    put_at: Callable[[FoundMessage], str],
    size: Callable[[int], str],
) -> Table:
    """The messages that fit.

    Parameters: `of` queue manager and run, as an address names them; `more` whether there are others; `put_at` and
    `size` how time and length are shown.
    """
    columns = [
        *(Column("Put at (UTC)"), Column("MsgId"), Column("Queue", "name"), Column("Reason")),
        *(Column(one, "name") for one in ("Destination", "Application", "User")),
        *(Column("Format"), Column("Size", "number")),
    ]
    rows = [
        (
            put_at(one),
            Link(
                one.msg_id,
                "messages/one",
                of | {"queue": one.queue, "msg_id": one.msg_id, "position": str(one.position)},
                kind="mono name",
            ),
            *(one.queue, one.reason, str(Destination(one.dest_q or "", one.dest_q_mgr or ""))),
            *(one.application, one.user, one.format, size(one.bytes)),
        )
        for one in found
    ]
    which = "that fit, the first " if more else "that fit: "
    return Table(caption=f"Messages {which}{len(found):,}", columns=columns, rows=rows)
