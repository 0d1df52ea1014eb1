"""Tables of all queue managers, one for each subject: a row a queue manager, the worst first, which leads to its page.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from mqops.look.words.estate import answers_in_short
from mqops.look.words.text import NOTHING, Cell, Label, Link, Name, OfRun, Quiet, Table, Text, Time, joined, said

if TYPE_CHECKING:
    from mqops.look.estate.expiring import Expiring
    from mqops.look.figures import Figures
    from mqops.message_checks import QualitySummary
    from mqops.observe.core.anatomy import QueueAnatomy
    from mqops.trigger.audit import Audit

MOST_NAMED = 3
"""Queues that a row names; of more it says how many they are."""


class DeadLettersOf(NamedTuple):
    """A queue manager. Parameters: `recorded` its dead-letter queue as a run saw it last, None where none has."""

    name: str
    figures: Figures
    recorded: QueueAnatomy | None


class TriggersOf(NamedTuple):
    """A queue manager. Parameters: `audit` None where none was made; `at` when it was, ISO 8601 UTC; `problem` why
    there is no later one."""

    name: str
    audit: Audit | None
    at: str
    problem: str


class ChecksOf(NamedTuple):
    """A queue manager. Parameters: `last` the check that counts, None where nothing was checked; `problem` why that is
    not known."""

    name: str
    last: QualitySummary | None
    problem: str = ""


def _named(name: str, page: str) -> Link:
    return Link(name, page, {"queue_manager": name}, kind="name")


def _few(names: Sequence[str]) -> Text:
    """Some queues: the first ones, and how many more there are; nothing without one."""
    if not names:
        return NOTHING
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return said("{}: {}{}", len(names), joined(", ", map(Name, names[:MOST_NAMED])), more)


def dead_letters(found: Iterable[DeadLettersOf]) -> Table:
    """The dead-letter queue of each queue manager, those with most messages first, behind those that do not answer."""
    headings = ["*Queue manager|name", "State", "Dead-letter queue|name", "Now|number", "Oldest"]
    rows = sorted((_of_depth(one) for one in found), key=lambda row: row[0])
    return Table(
        "Dead letters of all queue managers", [*headings, "A run saw|number", "When"], [cells for _order, cells in rows]
    )


def _of_depth(one: DeadLettersOf) -> tuple[tuple[bool, int, str], Sequence[Cell]]:
    figures, seen = one.figures, one.recorded
    queue = figures.dead_letter_queue or (seen.queue if seen else "")
    now = next((each for each in figures.queues if each.name == queue), None)
    depth = now.depth if now else figures.depth_of(queue) if queue else None
    oldest = NOTHING
    if now and now.depth and now.oldest is not None and figures.seen_at:
        put = datetime.fromisoformat(figures.seen_at) - timedelta(seconds=now.oldest)
        oldest = said("{:ago}", put.isoformat())
    run = OfRun(one.name, seen.run, said=seen.observed_at) if seen and seen.run else NOTHING
    cells = (_named(one.name, "dead_letters"), said("{}", answers_in_short(figures)), queue or None, depth)
    order = (not figures.unreachable, -(depth or 0), one.name)
    return order, (*cells, oldest, seen.messages if seen else None, run)


def triggers(found: Iterable[TriggersOf]) -> Table:
    """What triggers on each queue manager, those with most queues that cannot first, behind those without an answer."""
    headings = ["*Queue manager|name", "State", "Cannot trigger", "Switched off", "Without a monitor", "Looked at"]
    rows = sorted((_of_audit(one) for one in found), key=lambda row: row[0])
    return Table("Triggers of all queue managers", headings, [cells for _order, cells in rows])


def _of_audit(one: TriggersOf) -> tuple[tuple[bool, int, int, str], Sequence[Cell]]:
    audit, name = one.audit, _named(one.name, "triggers")
    if audit is None:
        state = said("{} {:breaks}", Label("no answer", "bad"), one.problem)
        return (False, 0, 0, one.name), (name, state, None, None, None, None)
    broken = list(audit.cannot_trigger)
    wrong = bool(broken or audit.unserved)
    word = Label("no answer", "bad") if one.problem else Label("broken", "bad") if wrong else Label("in order", "good")
    cells = (_few(broken), _few(audit.switched_off), _few(audit.unserved), said("{:ago} ago", one.at))
    order = (not one.problem, -len(broken), -len(audit.unserved), one.name)
    return order, (name, Text((word,)), *cells)


def expiry(found: Iterable[tuple[str, Expiring | None]], until: str) -> Table:
    """What expires on each queue manager before a time, most first. Parameters: `until` the time in words."""
    headings = ["*Queue manager|name", f"Expire before {until}|number", "On", "Of recorded messages|number", "Counted"]
    rows = sorted((_of_expiry(name, one) for name, one in found), key=lambda row: row[0])
    return Table("Expiry on all queue managers", headings, [cells for _order, cells in rows])


def _of_expiry(name: str, found: Expiring | None) -> tuple[tuple[bool, int, str], Sequence[Cell]]:
    link = _named(name, "expiry")
    if found is None or found.problem:
        why = said("{:breaks}", found.problem) if found else Text((Quiet("being counted"),))
        return (not found, 0, name), (link, None, why, None, None)
    queues = sorted((one for one in found.queues.values() if one.before), key=lambda one: (-one.before, one.queue))
    expire, recorded = sum(one.before for one in queues), sum(one.messages for one in found.queues.values())
    on = _few([one.queue for one in queues]) if found.queues else Text((Quiet("no snapshot"),))
    return (True, -expire, name), (link, expire, on, recorded, said("{:ago} ago", found.at))


def quality(found: Iterable[ChecksOf]) -> Table:
    """The check of each queue manager that counts, those not in order first, with most messages that fail."""
    headings = ["*Queue manager|name", "State", "Checks not met|number", "Messages that fail|number", "Checked", "Run"]
    rows = sorted((_of_checks(one) for one in found), key=lambda row: row[0])
    return Table("Quality on all queue managers", headings, [cells for _order, cells in rows])


def _of_checks(one: ChecksOf) -> tuple[tuple[int, int, str], Sequence[Cell]]:
    link, last = _named(one.name, "quality"), one.last
    if last is None:
        state = said("{:breaks}", one.problem) if one.problem else Text((Quiet("never checked"),))
        return (0 if one.problem else 3, 0, one.name), (link, state, None, None, None, None)
    label = Label("in order", "good") if last.ok else Label("not in order", "bad")
    run = OfRun(one.name, last.run, short=True)
    cells = (Text((label,)), sum(last.failed.values()), last.left, Time(last.checked_at), run)
    return (2 if last.ok else 1, -last.left, one.name), (link, *cells)
