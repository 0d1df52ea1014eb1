"""The messages of a run that were not moved or discarded, by reason and one by one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqops.look.words.fates import Fate, became, why_left
from mqops.look.words.text import Column, Link, Table, Text, said

if TYPE_CHECKING:
    from mqops.look.run_story import RunStory

MOST_REASONS = 10
"""Reasons that are named before the others are counted."""


def reasons(story: RunStory, words: Mapping[Fate, str], *, by_choice: bool) -> Iterator[Text]:
    """How many messages, what became of them, and why, most first. Parameters: `words` of the run; `by_choice` as of
    `mqops.look.words.fates.why_left`."""
    for one in story.unmoved[:MOST_REASONS]:
        why = f" ({why_left(one.why, by_choice=by_choice)})" if one.why else ""
        yield said("{} {}{}", one.messages, became(one.became, one.why, words), why)
    if others := sum(one.messages for one in story.unmoved[MOST_REASONS:]):
        yield said("{} for other reasons", others)


def caption(words: Mapping[Fate, str], *, would: bool, gone: bool, over: bool) -> str:
    """What the table of the messages is about. Parameters: `over` whether nothing more is done by the run."""
    if would:
        return f"Messages that {words[Fate.LEFT]}{' or are gone' if gone else ''}"
    if over:
        return "Messages that were left, gone or failed"
    return "Messages that are left, gone or failed, or whose turn has not come"


def messages(
    story: RunStory, words: Mapping[Fate, str], *, by_choice: bool, would: bool, gone: bool, over: bool
) -> Table:
    """These messages, by row of the plan. Parameters: as of `reasons` and `caption`."""
    line = story.line
    columns = [
        *(Column("Row", "number"), Column("Outcome" if would else "Became"), Column("Why", "text")),
        *(Column("Planned", "name"), Column("MsgId")),
    ]
    of = {"queue_manager": line.queue_manager, "run": line.run}
    rows = [
        (
            str(one.row),
            became(one.became, one.why, words),
            why_left(one.why, by_choice=by_choice),
            f"{one.action} {one.dest_q}",
            Link(one.msg_id, "messages/one", of | {"queue": one.queue, "msg_id": one.msg_id}, kind="mono name"),
        )
        for one in story.messages
    ]
    return Table(caption=caption(words, would=would, gone=gone, over=over), columns=columns, rows=rows)
