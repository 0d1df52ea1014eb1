"""How far a run is: what it reads or decides, how fast it acts, and where its messages went. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.balance import it_is
from mqops.look.words.fates import Fate
from mqops.look.words.text import NOTHING, Table, Text, said, sentences

if TYPE_CHECKING:
    from mqops.act.core.progress import LiveProgress
    from mqops.look.run_story import RunStory

MOST_WENT = 20
"""Destinations that are named before they are counted."""


def progress(story: RunStory, words: Mapping[Fate, str]) -> Text:
    """How far a run has come that acts. Parameters: `words` of its workflow."""
    if (p := story.progress) is None:
        return NOTHING
    tally = p.tally
    counts = [f"{tally.moved:,} {words[Fate.MOVED]}"]
    counts += [f"{tally.discarded:,} {words[Fate.DISCARDED]}"] if Fate.DISCARDED in words else []
    figures = ((tally.failed, "failed"), (tally.left, "not tried"), (tally.absent, "gone"), (p.before, "before"))
    counts += [f"{number:,} {word}" for number, word in figures if number or word in {"failed", "gone"}]
    dealt_with = f"{p.overall:,} of {counted(p.planned, 'message')}"
    none_yet = f"No unit of work is done yet{' since the run went on' if p.before else ''}."
    stay = story.line.planned - p.planned
    return sentences(
        said("{:strong} dealt with, {} a second{}: {}.", dealt_with, *_speed(p), ", ".join(counts)),
        said("Last unit of work {:ago} ago.", p.at) if tally.done else said(none_yet),
        said(f"The plan leaves {counted(stay, 'other message')} as {it_is(stay)}.") if stay > 0 else NOTHING,
    )


def _speed(found: LiveProgress) -> tuple[int, str]:
    return round(found.per_second), f", {found.to_go}" if found.to_go else ""


def went(story: RunStory, word: str) -> Table:
    """Where the messages of a run went, the most first: by the ledger, and while it acts by what act says. Parameters:
    `word` what is said of messages that were moved."""
    said_now = story.progress.tally.to if story.progress and not story.line.proved_at else {}
    known = max(story.went, said_now, key=lambda one: sum(one.values()))
    rows = [(name, messages) for name, messages in sorted(known.items(), key=lambda one: -one[1])[:MOST_WENT]]
    left_off = sum(known.values()) - sum(messages for _name, messages in rows)
    more = [(f"{len(known) - len(rows):,} other queues", left_off)] if left_off else []
    return Table(f"Where messages were {word}", ["To|name", "Messages|number"], [*rows, *more])


def reading(line: str, at: str) -> Text:
    """How far a step is that reads or decides messages. Parameters: `line` as the log has it; `at` when it was so, ISO
    8601 UTC."""
    name, _, figures = line.partition(": ")
    return said("{:strong}: {}, as of {:ago} ago.", name, figures, at)


def held(story: RunStory) -> Iterator[str]:
    """The destinations that get no message now, and why."""
    tally = story.progress.tally if story.progress else None
    return (f"{destination} is held: {why}" for destination, why in (tally.held if tally else {}).items())
