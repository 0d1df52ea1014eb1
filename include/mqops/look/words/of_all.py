"""Tables of all queue managers, one for each subject: a row for each that has something to tell, the worst first, and a
name for each other one; both lead to its page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from mqops.counted import counted
from mqops.look.words.estate import answers_in_short
from mqops.look.words.text import NOTHING, Cell, Label, Lines, Link, Name, OfRun, Quiet, Table, Text, joined, said

if TYPE_CHECKING:
    from mqops.look.estate.expiring import Expiring
    from mqops.look.figures import Figures
    from mqops.message_checks import QualitySummary
    from mqops.observe.core.anatomy import QueueAnatomy
    from mqops.trigger.audit import Audit

MOST_NAMED = 3
"""Queues that a row names; of more it says how many they are."""


class DeadLettersOf(NamedTuple):
    """A queue manager. Parameters: `queues` that have dead letters, first the one that its page shows; `recorded` the
    queues as runs saw them last; `said` of names in the estate that are no local queue's."""

    name: str
    figures: Figures
    queues: Sequence[str]
    recorded: Sequence[QueueAnatomy]
    said: Sequence[str] = ()


class TriggersOf(NamedTuple):
    """A queue manager. Parameters: `audit` None where none was made; `at` when it was, ISO 8601 UTC; `problem` why
    there is no later one; `awaited` whether it was asked and may answer yet."""

    name: str
    audit: Audit | None
    at: str
    problem: str
    awaited: bool = False


class ChecksOf(NamedTuple):
    """A queue manager. Parameters: `last` the check that counts, None where nothing was checked; `problem` why that is
    not known."""

    name: str
    last: QualitySummary | None
    problem: str = ""


class OfAll(NamedTuple):
    """All queue managers. Parameters: `rest` those that the table leaves out, and `heading` what they are."""

    table: Table
    heading: str
    rest: Sequence[Link]
    age: Text = NOTHING


class _Row(NamedTuple):
    """A queue manager. Parameters: `order` of the row; `cells` the first is the link to its page; `tells` whether the
    table has it."""

    order: tuple[int, ...]
    cells: Sequence[Cell]
    name: Link
    tells: bool


def _of_all(caption: str, headings: Sequence[str], found: Iterable[_Row], heading: str) -> OfAll:
    rows = sorted(found, key=lambda row: (row.order, row.name.said))
    table = Table(caption, ("*Queue manager|name", *headings), [(row.name, *row.cells) for row in rows if row.tells])
    rest = sorted((row.name for row in rows if not row.tells), key=lambda link: link.said)
    return OfAll(table, f"{heading}: {counted(len(rest), 'queue manager')}", rest)


def _named(name: str, page: str) -> Link:
    return Link(name, page, {"queue_manager": name}, kind="name")


def _few(names: Sequence[str]) -> Text:
    """Some queues: the first ones, and how many more there are; nothing without one."""
    if not names:
        return NOTHING
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return said("{}: {}{}", len(names), joined(", ", map(Name, names[:MOST_NAMED])), more)


def dead_letters(found: Iterable[DeadLettersOf]) -> OfAll:
    """The fullest dead-letter queue of each queue manager: those that do not answer, then those with most messages."""
    headings = ("!State", "Dead-letter queue", "Now|number", "Oldest", "A run saw|number", "When")
    return _of_all("Dead letters of all queue managers", headings, map(_of_depth, found), "No dead letters")


def _of_depth(one: DeadLettersOf) -> _Row:
    figures = one.figures
    depths = {queue: figures.depth_of(queue) for queue in one.queues}
    queue = max(depths, key=lambda name: depths[name] or 0, default="")
    depth, others = depths.get(queue), {name: number for name, number in depths.items() if number and name != queue}
    seen = next((each for each in one.recorded if each.queue == queue), None)
    now = next((each for each in figures.queues if each.name == queue), None)
    oldest = NOTHING
    if now and now.depth and now.oldest is not None and figures.seen_at:
        put = datetime.fromisoformat(figures.seen_at) - timedelta(seconds=now.oldest)
        oldest = said("{:ago}", put.isoformat())
    run = OfRun(one.name, seen.run, said=seen.observed_at) if seen and seen.run else NOTHING
    page = Link(queue, "dead_letters", {"queue_manager": one.name, "queue": queue}, kind="name")
    named = page if queue not in one.queues[:1] else Name(queue)
    also = said("; {} on {}", counted(sum(others.values()), "message"), joined(", ", map(Name, others)))
    remarks = Lines([said("{:breaks}", text) for text in one.said], kind="quiet") if one.said else NOTHING
    shown = said("{}{}{}", named if queue else NOTHING, also if others else NOTHING, remarks)
    cells = (
        *(said("{}", answers_in_short(figures)), shown or None),
        *(depth, oldest, seen.messages if seen else None, run),
    )
    silent, known = bool(figures.unreachable), [number for number in depths.values() if number is not None]
    tells = silent or sum(known) > 0 or len(known) < len(depths) or not depths or bool(one.said)
    return _Row((not silent, -sum(known)), cells, _named(one.name, "dead_letters"), tells)


def triggers(found: Iterable[TriggersOf]) -> OfAll:
    """What triggers on each queue manager: those that do not answer, then those with most queues that cannot."""
    headings = ("!State", "!Cannot trigger", "Switched off", "Without a monitor", "Looked at")
    return _of_all("Triggers of all queue managers", headings, map(_of_audit, found), "In order")


def _of_audit(one: TriggersOf) -> _Row:
    audit, name = one.audit, _named(one.name, "triggers")
    if audit is None:
        silent = Label("being asked") if one.awaited else Label("no answer", "bad")
        state = said("{} {:breaks}", silent, one.problem)
        return _Row((0, 0, 0), (state, None, None, None, None), name, tells=True)
    broken = list(audit.cannot_trigger)
    wrong = bool(broken or audit.unserved)
    word = Label("no answer", "bad") if one.problem else Label("broken", "bad") if wrong else Label("in order", "good")
    cells = (Text((word,)), _few(broken), _few(audit.switched_off), _few(audit.unserved), said("{:ago} ago", one.at))
    tells = bool(one.problem or wrong or audit.switched_off)
    return _Row((not one.problem, -len(broken), -len(audit.unserved)), cells, name, tells)


def expiry(found: Iterable[tuple[str, Expiring | None]], until: str) -> OfAll:
    """What expires on each queue manager before a time, most first. Parameters: `until` the time in words."""
    headings = (f"Expire before {until}|number", "On", "Of recorded messages|number", "Counted")
    rows = (_of_expiry(name, one) for name, one in found)
    return _of_all("Expiry on all queue managers", headings, rows, "Nothing recorded expires before that")


def _of_expiry(name: str, found: Expiring | None) -> _Row:
    link = _named(name, "expiry")
    if found is None or found.problem:
        why = said("{:breaks}", found.problem) if found else Text((Quiet("being counted"),))
        return _Row((not found, 0), (None, why, None, None), link, tells=True)
    queues = sorted((one for one in found.queues.values() if one.before), key=lambda one: (-one.before, one.queue))
    expire, recorded = sum(one.before for one in queues), sum(one.messages for one in found.queues.values())
    cells = (expire, _few([one.queue for one in queues]), recorded, said("{:ago} ago", found.at))
    return _Row((1, -expire), cells, link, bool(expire))


def quality(found: Iterable[ChecksOf]) -> OfAll:
    """The check of each queue manager that counts, those not in order first, with most messages that fail."""
    headings = ("!State", "Checks not met|number", "Messages that fail|number", "Checked")
    return _of_all("Quality on all queue managers", headings, map(_of_checks, found), "Never checked")


def _of_checks(one: ChecksOf) -> _Row:
    link, last = _named(one.name, "quality"), one.last
    if last is None:
        return _Row((0, 0), (said("{:breaks}", one.problem), None, None, None), link, bool(one.problem))
    label = Label("in order", "good") if last.ok else Label("not in order", "bad")
    checked = OfRun(one.name, last.run, said=last.checked_at)
    cells = (Text((label,)), sum(last.failed.values()), last.left, checked)
    return _Row((2 if last.ok else 1, -last.left), cells, link, tells=True)
