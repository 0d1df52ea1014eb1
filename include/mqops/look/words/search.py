"""What is said of a search in recorded snapshots, and what it found. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.runs import named
from mqops.look.words.text import NOTHING, Link, Name, Table, Text, Tick, joined, of_message, said, sentences
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.find import FoundMessage

MOST_NAMED = 3
"""Queues that are named before they are counted."""


def searched(line: RunLine | None) -> Text:
    """Which snapshot is searched; nothing where none is."""
    if line is None:
        return NOTHING
    queues = line.queue.split(",")
    of = counted(len(queues), "queue") if len(queues) > MOST_NAMED else joined(", ", map(Name, queues))
    return said("The search is in one snapshot: of {}, taken {:time} by the run {}.", of, line.at, named(line))


def failed(of: Mapping[str, str], checks: Mapping[str, str], *, took: bool) -> Text:
    """That a run which was started for a new look failed. Parameters: `of` it, for its page; `checks` of it, for their
    page, none where it has checked nothing; `took` whether the search is in the snapshot that it took before."""
    when = (
        "The run that took this snapshot failed afterwards:"
        if took
        else "The new look failed before it had a snapshot:"
    )
    found = said(", and {} of the snapshot", Link("what its checks found", "quality", checks)) if checks else NOTHING
    return said("{} {} says what failed{}.", when, Link("its page", "run", of), found)


def snapshot_of(line: RunLine) -> str:
    """The snapshot of a run in a few words."""
    number = len(line.queue.split(","))
    return f"{line.workflow} of {counted(number, 'queue') if number > MOST_NAMED else line.queue}"


def unrecorded(queue: str, depth: int | None, unit: str, queue_manager: str) -> Text:
    """That no run has recorded messages of a queue. Parameters: `depth` of now, None where it is not known; `unit` of
    work that is open there, in words, "" for none."""
    now = said(", which has {} now", depth) if depth else NOTHING
    link = Link("start one on the page Quality", "quality", {"queue_manager": queue_manager})
    return sentences(
        said("no run has recorded messages of {:name}{}, so none can be shown.", queue, now),
        said("{}.", unit) if unit else NOTHING,
        said("A quality run records those of its queues: {}.", link),
    )


def there_now(queue: str, depth: int, *, only_there: bool, listed: int | None = None, copies: int = 0) -> Text:
    """How many messages a queue has now, beside a list that a run has recorded. Parameters: `only_there` whether the
    list passes over those that runs have taken since; `listed` messages of the list in all, where it has all of these
    of the queue, None where it does not, or nobody counted; `copies` that it leaves out though they may be there, since
    they are equal in everything to one that a run has taken."""
    now = said("{:name} has {} now.", queue, counted(depth, "message"))
    if not only_there:
        return sentences(now, said("The list has all that the run recorded, those that were taken since, too."))
    taken = said("The list is without those that runs have taken since, by their proofs.")
    if listed is None:
        return sentences(now, taken, said("What applications took is in it still, and what came since is not."))
    return sentences(now, said("The list has {}.", listed), _differs(depth, listed, copies), taken)


def _differs(depth: int, listed: int, copies: int) -> Text:
    """What follows where a queue has more messages than a list of those that are there, or fewer."""
    if depth > listed and copies:
        equal = counted(copies, "message is equal", "messages are equal")
        left_out = said(
            "{} in everything to one that a run has taken: such copies are not in the list, and may be there.", equal
        )
        return sentences(
            said("That is {} more: messages came since the snapshot, or are such copies.", depth - listed), left_out
        )
    if depth > listed:
        return said("That is {} more: messages came since the snapshot.", depth - listed)
    if depth < listed:
        return said("That is {} fewer: applications took messages since, or they expired.", listed - depth)
    if not depth:
        return NOTHING
    return said("Whether applications took some, and as many came since, is not known.")


def looked_at(number: int, total: int) -> str:
    """How many messages the search has looked at. Parameters: `total` of the snapshot, 0 where only some were meant."""
    return f"{number:,} of {counted(total, 'message')}" if total else counted(number, "message")


def messages(
    found: Sequence[FoundMessage],
    queue_manager: str,
    run: str,
    *,
    more: bool,
    put_at: Callable[[FoundMessage], str],
    size: Callable[[int], str],
    ticks: bool = False,
    since: Mapping[tuple[str, str], Text] = MappingProxyType({}),
) -> Table:
    """The messages that fit. Parameters: `more` whether there are others; `put_at` and `size` how time and length are
    shown; `ticks` whether a row begins with a box that chooses its message; `since` queue and identity of each message
    that is there no longer → what runs have done with it: there is nothing to choose."""
    names = (f"{one}|name" for one in ("Destination", "Application", "User"))
    rows = []
    for one in found:
        link = of_message(queue_manager, run, one.msg_id, queue=one.queue, position=str(one.position))
        target = str(Destination(one.dest_q or "", one.dest_q_mgr or ""))
        done = since.get((one.queue, one.msg_key), NOTHING)
        where = (put_at(one), link, *([done] if since else []), one.queue, one.reason, target)
        box = Text((Tick(f"Choose {one.msg_id} of {one.queue}", one.msg_id, one.queue),)) if not done else None
        tick = (box,) if ticks else ()
        rows.append((*tick, *where, one.application, one.user, one.format, size(one.bytes)))
    headings = [
        "Put at (UTC)",
        "MsgId",
        *(["Since then"] if since else []),
        "Queue|name",
        "Reason",
        *names,
        "Format",
        "Size|number",
    ]
    headings = ["Choose", *headings] if ticks else headings
    return Table(f"Messages that fit{', the first' if more else ':'} {len(found):,}", headings, rows, part=more)
