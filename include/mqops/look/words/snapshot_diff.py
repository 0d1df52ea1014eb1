"""What is said of two snapshots that were compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqops.command import command
from mqops.counted import counted
from mqops.look.core.run_state import RunLine
from mqops.look.core.snapshot_diff import Change, SnapshotDiff
from mqops.look.words.run_name import name_of
from mqops.look.words.text import Code, Link, Name, OfRun, Table, Text, joined, of_message, said

NONE_BEFORE = "There is no earlier snapshot of these queues to compare it with."
SAME = "No message arrived, left or was backed out."
MOST_GROUPS = 50
"""Groups of changed messages that a page shows."""
_CHANGES = {
    Change.ARRIVED: "arrived",
    Change.LEFT: "left",
    Change.BACKOUT_COUNT: "stayed, with another BackoutCount",
}


def compared(found: SnapshotDiff, queue_manager: str) -> Text:
    """The sums."""
    total = found.total
    return said(
        "From {} to {}: {} arrived, {} left, {} stayed, and of these {} have another BackoutCount.",
        OfRun(queue_manager, found.a.named),
        OfRun(queue_manager, found.b.named),
        counted(total.arrived, "message"),
        f"{total.left:,}",
        f"{total.stayed:,}",
        f"{total.backout_count_changed:,}",
    )


def groups(found: SnapshotDiff) -> Table:
    """The groups in which something has changed, those with most changes first."""
    rows = [
        (Name(one.queue), one.reason, Name(one.application), one.rule, *counts)
        for one, counts in found.groups
        if counts
    ]
    headings = ["*Queue|name", "Reason", "Application|name", "Rule|mono"]
    headings += [f"{one}|number" for one in ("Arrived", "Left", "Stayed", "Backed out")]
    caption = "What has changed, the most first"
    if len(rows) > MOST_GROUPS:
        caption = f"The first {MOST_GROUPS} of {len(rows):,} groups in which something has changed"
    return Table(caption, headings, rows[:MOST_GROUPS])


def examples(found: SnapshotDiff, queue_manager: str) -> Table:
    """The first messages of each kind of change."""
    rows = [
        (of_message(queue_manager, _shows(found, change), one.msg_id, queue=one.queue), what)
        for change, what in _CHANGES.items()
        for one in found.examples.get(change, ())
    ]
    return Table("Messages, the first of each kind", ["*MsgId|mono", "What"], rows)


def _shows(found: SnapshotDiff, change: Change) -> str:
    """The run whose snapshot has a message of this kind of change."""
    return (found.a if change is Change.LEFT else found.b).named


def with_another(before: Iterable[RunLine], query: dict[str, str]) -> Text:
    """Links to the comparison with each of the earlier snapshots."""
    links: Iterator[Link] = (
        Link(name_of(one, seconds=True), "snapshot_diff", {**query, "old": one.run}, title=one.run) for one in before
    )
    return said("Compare with: {}", joined(" \u00b7 ", links))


def too_large(old: str, new: str, messages: int) -> Text:
    """The sentence instead of a comparison that would take the API server too long."""
    return said(
        "Together they have {}, too many to compare for a page: {}",
        counted(messages, "message"),
        Code(command("mqops", "snapshot", "diff", old, new)),
    )
