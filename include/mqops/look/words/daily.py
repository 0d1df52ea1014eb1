"""The daily notification: what needs a person, of all queue managers in one message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mqops.counted import counted
from mqops.look.estate.problem import Urgency

if TYPE_CHECKING:
    from mqops.look.words.needs import Needs

LONGEST = 400
"""Characters of a line."""


class Daily(NamedTuple):
    """A message. Parameters: `needs_somebody` whether something needs a person now or soon."""

    subject: str
    lines: list[str]
    needs_somebody: bool


def daily(found: Sequence[Needs], *, managers: int, most: int) -> Daily:
    """The message, the worst first. It has no text of a message, since the list has none.

    Parameters: `found` as of `mqops.look.words.needs.needs_in_text`; `managers` of the estate; `most` lines.
    """
    numbers = {group.urgency: group.number for group in found}
    now, soon = numbers.get(Urgency.NOW, 0), numbers.get(Urgency.SOON, 0)
    of = counted(managers, "queue manager")
    subject = f"{of}: {now:,} now, {soon:,} soon need a person" if now or soon else f"{of}: nothing needs a person"
    lines = [f"{group.urgency}: {need.line}" for group in found for need in group.lines]
    shown = [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines[:most]]
    more = len(lines) - len(shown)
    return Daily(subject, [*shown, *([f"and {more:,} more: `mqops estate status`"] if more else [])], bool(now or soon))
