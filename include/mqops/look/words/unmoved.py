"""The messages of a run that were not moved or discarded, by reason and one by one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqops.look.words.fates import Became, Fate, became, why_left
from mqops.look.words.text import Table, Text, Tick, of_message, said

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


def messages(
    story: RunStory,
    words: Mapping[Fate, str],
    *,
    by_choice: bool,
    would: bool,
    gone: bool,
    over: bool,
    ticks: bool = False,
) -> Table:
    """These messages, by row of the plan. Parameters: as of `reasons`; `over` whether nothing more is done by the
    run; `ticks` whether a row begins with a box that chooses its message, where it is not gone."""
    rows = []
    for one in story.messages:
        link = of_message(story.line.queue_manager, story.line.run, one.msg_id, queue=one.queue)
        fate, why = became(one.became, one.why, words), why_left(one.why, by_choice=by_choice)
        box = () if one.became == Became.GONE else (Tick(f"Choose {one.msg_id} of {one.queue}", one.msg_id, one.queue),)
        rows.append((*((Text(box),) if ticks else ()), one.row, fate, why, f"{one.action} {one.dest_q}", link))
    which = "were left, gone or failed" if over else "are left, gone or failed, or whose turn has not come"
    caption = f"Messages that {words[Fate.LEFT]}{' or are gone' if gone else ''}" if would else f"Messages that {which}"
    headings = ["Row|number", "Outcome" if would else "Became", "Why|text", "Planned|name", "MsgId"]
    return Table(caption, ["Choose", *headings] if ticks else headings, rows)
