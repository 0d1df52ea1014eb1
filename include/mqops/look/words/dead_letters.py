"""What is said of a dead-letter queue: how it was seen, what runs have done since, and its groups. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mqops.actions import NO_RULE_FITS, Action
from mqops.counted import counted
from mqops.look.words.text import (
    NOTHING,
    Ago,
    Breaks,
    Cell,
    Column,
    Label,
    Lines,
    Link,
    Name,
    OfRun,
    Strong,
    Table,
    Text,
    Time,
    joined,
    said,
    sentences,
)
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.dead_letters import Change, DeadLetterGroup, DeadLetters, Decided
    from mqops.look.figures import Figures
    from mqops.look.runs import GrewDuringScans
    from mqops.observe.core.anatomy import QueueAnatomy

HANDLE = Link("A dry run", place="handle")
"""The form of the page."""


def as_seen(found: DeadLetters) -> Text:
    """When a run saw the queue."""
    one = found.anatomy
    query = {"queue_manager": one.queue_manager, "run": one.run}
    return sentences(
        said(
            "Queue {}, as a run saw it at {} ({} ago).",
            *(Name(one.queue, strong=True), Time(one.observed_at), Ago(one.observed_at)),
        ),
        Link("Look at its messages", "messages", query) if one.run else NOTHING,
    )


def nothing_seen(own: str, depth: int | None, figures: Figures) -> Text:
    """What the dead-letter queue of a queue manager has, which no run has looked at."""
    if not (depth and own):
        return NOTHING
    silent = said(", or had {} ago: the queue manager does not answer now", Ago(figures.seen_at))
    number = counted(depth, "message")
    return said("{} has {}{}.", Name(own, strong=True), number, silent if figures.unreachable else NOTHING)


def not_found(queue: str, said_of_name: str, *, may_look: bool) -> str:
    """That no run has looked at a queue. Parameters: `said_of_name` what the queue manager says of its name, "" for
    nothing; `may_look` whether the page has a form for a dry run."""
    check = "Check its name: a dry run looks at it." if may_look else "Check its name."
    return f"No run has found dead letters on the queue {queue}. {f'{said_of_name}.' if said_of_name else check}"


def in_short(found: DeadLetters, depth: int | None, figures: Figures) -> Iterator[Text]:
    """The figures at the top."""
    one = found.anatomy
    yield said("{} {} then", Strong(f"{one.messages:,}"), "message" if one.messages == 1 else "messages")
    if found.left is not None:
        yield said("{} of them left by runs", Strong(f"{found.left:,}"))
    if depth is not None:
        ago = said("{} ago: no answer now", Ago(figures.seen_at)) if figures.unreachable else said("now")
        yield said("{} {}", Strong(f"{depth:,}"), ago)
    if one.since.observed_at and not found.acted:
        yield _growth(one)


def _growth(one: QueueAnatomy) -> Text:
    more, since = sum(one.growth.values()), one.since
    than = said("{} {} than", Strong(f"{abs(more):,}"), "more" if more > 0 else "fewer") if more else said("as many as")
    if not since.run:
        return said("{} at {}, when it was empty", than, Time(since.observed_at))
    return said("{} in {}", than, OfRun(one.queue_manager, since.run, f"the run of {since.observed_at}"))


def since_then(found: DeadLetters) -> Iterator[Text]:
    """What runs have done to the queue since it was seen."""
    for change in found.acted:
        yield said("{} {}.", OfRun(found.anatomy.queue_manager, change.run), _did(change, found.anatomy))


def _did(change: Change, one: QueueAnatomy) -> str:
    if change.undo:
        took = change.moved + change.discarded
        ways = [f"put back {counted(change.put_back, 'message')}"] if change.put_back else []
        ways += [f"took back {counted(took, 'message')}"] if took else []
        return f"{' and '.join(ways)} (an undo)"
    found = f"moved {counted(change.moved, 'message')}, discarded {change.discarded:,}"
    found += f", found {change.gone:,} gone" if change.gone else ""
    found += f" and left {change.left:,}" if change.run == one.run else ""
    return found + (", of all its queues: it is not proved yet" if change.whole else "")


def grew(queue_manager: str, scans: Iterable[GrewDuringScans], *, may_look: bool) -> Iterator[Text]:
    """That reports of expiry came to the queue. Parameters: `may_look` whether the page has a form for a dry run."""
    for scan in scans:
        yield sentences(
            said("the queue grew by {} during scans for expired messages.", counted(scan.messages, "message")),
            said(
                "Reports of expiry that could not be put on their reply-to queue come here; see {}.",
                OfRun(queue_manager, scan.run),
            ),
            said("{} shows what they are.", HANDLE) if may_look else NOTHING,
        )


def not_in_figures(found: DeadLetters, *, may_look: bool) -> Text:
    """What the figures of the page do not tell, where runs have acted. Parameters: `may_look` as of `grew`."""
    if not found.acted:
        return NOTHING
    put_back = any(one.put_back for one in found.acted)
    first = (
        said("All below is what the queue was made of before that.")
        if found.left is None
        else sentences(
            said("Below is what these runs have left."),
            said("What came to the queue since, and what applications took, is not in these figures."),
            said("Neither is what an undo put back, unless the run of {} had seen it.", Time(found.anatomy.observed_at))
            if put_back
            else NOTHING,
        )
    )
    return sentences(first, said("{} shows what the queue is made of now.", HANDLE) if may_look else NOTHING)


def nothing_left(found: DeadLetters) -> str:
    """That the page shows no group, because runs have left none."""
    back = sum(one.put_back for one in found.acted)
    first = "These runs have left none of the messages that were there then."
    if not back:
        return first
    them = counted(back, "message")
    return f"{first} The {them} that an undo put back were recorded by an earlier run: a dry run shows what they are."


def gone_groups(found: DeadLetters) -> str:
    """The groups that are gone since the snapshot before, "" where none is."""
    gone = [one for one in found.groups if not one.messages]
    if not gone or found.acted or not found.anatomy.since.observed_at:
        return ""
    number = counted(abs(sum(one.growth for one in gone)), "message")
    return f"{counted(len(gone), 'group is gone', 'groups are gone')} since then: {number}."


def groups(
    found: DeadLetters,
    *,
    ages: Sequence[str],
    before: bool,
    by_hand: bool,
    may_look: bool,
    problem_of: Callable[[Any, QueueAnatomy], str],
) -> Table:
    """The groups of the queue, with what the rules table says of them.

    Parameters: `ages` the names of the columns for ages; `before` whether runs have acted since, and what they left is
    not known; `by_hand` whether the page of the run has a form for messages without an MQDLH; `problem_of` what the
    pre-flight says of a decision, "" for nothing.
    """
    grown = bool(found.anatomy.since.observed_at) and not found.acted
    source = found.rules_source.rsplit("/", 1)[-1]
    caption = f"Groups{' before that' if before else ''}: reason, destination, application"
    columns = [
        *(Column("Reason", heads=True), Column("Destination", "name"), Column("Application", "name")),
        *(Column("Messages", "number"), *((Column("Growth", "number"),) if grown else ())),
        *(Column("By the rules table"), *(Column(age, "number") for age in ages)),
    ]

    def cells(row: DeadLetterGroup) -> Iterator[Cell]:
        group = row.group
        yield group.reason
        yield str(Destination(group.origin_q or "", group.origin_q_mgr or "")) or "–"
        yield group.application or "–"
        yield row.messages
        if grown:
            yield f"{row.growth:+,}"
        lines = [
            joined(
                " ",
                [
                    _decided(one, found.anatomy, by_hand=by_hand, may_look=may_look),
                    *([f"({counted(one.messages, 'message')})"] if len(row.decided) > 1 else []),
                    *((Label("problem", "bad"), why) if (why := problem_of(one.decision, found.anatomy)) else ()),
                ],
            )
            for one in row.decided
        ]
        yield said("{}", Lines(tuple(lines))) if lines else "–"
        yield from (str(row.ages.get(age, 0) or "") for age in ages)

    rows = [tuple(cells(row)) for row in found.groups if row.messages]
    return Table(
        caption=f"{caption}{f', and what {source} says of them' if source else ''}", columns=columns, rows=rows
    )


def _decided(what: Decided, one: QueueAnatomy, *, by_hand: bool, may_look: bool) -> Text:
    query = {"queue_manager": one.queue_manager}
    if what.decision.action is Action.ERROR:
        more = NOTHING
        if by_hand:
            form = "the form of mq_recover moves it to a queue that you name"
            more = said(": {}", Link(form, "run", query | {"run": one.run}, place="actions"))
        elif may_look:
            dry_run = Link("a dry run", place="handle")
            more = said(": the page of {} of this queue has a form that moves it to a queue that you name", dry_run)
        return said("{} {}{}", Label("stays", "warn"), NO_RULE_FITS, more)
    if what.line is None:
        return said("{} {}", Label("no rule", "warn"), Breaks(str(what.decision)))
    rule = Link(f"line {what.line}", "rules", query | {"workflow": "dlq_rules"}, place=f"line-{what.line}")
    return said("{}: {}", rule, Breaks(str(what.decision)))
