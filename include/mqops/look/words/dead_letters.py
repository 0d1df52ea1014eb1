"""What is said of a dead-letter queue: how it was seen, what runs have done since, and its groups. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mqops.actions import NO_RULE_FITS, Action
from mqops.counted import counted
from mqops.look.words.text import NOTHING, Cell, Label, Lines, Link, OfRun, Table, Text, said, sentences
from mqops.model import Destination
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.look.dead_letters import Change, DeadLetterGroup, DeadLetters, Decided
    from mqops.look.figures import Figures
    from mqops.look.runs import GrewDuringScans
    from mqops.observe.core.anatomy import Group, QueueAnatomy

HANDLE = Link("A dry run", place="handle")
"""The form of the page."""


def as_seen(found: DeadLetters) -> Text:
    """When a run saw the queue."""
    one = found.anatomy
    link = Link("Look at its messages", "messages", {"queue_manager": one.queue_manager, "run": one.run})
    when = "Queue {:strong_name}, as a run saw it at {:time} ({:ago} ago)."
    return sentences(said(when, one.queue, one.observed_at, one.observed_at), link if one.run else NOTHING)


def nothing_seen(own: str, depth: int | None, figures: Figures) -> Text:
    """What the dead-letter queue of a queue manager has, which no run has looked at."""
    if not (depth and own):
        return NOTHING
    silent = said(", or had {:ago} ago: the queue manager does not answer now", figures.seen_at)
    return said("{:strong_name} has {}{}.", own, counted(depth, "message"), silent if figures.unreachable else NOTHING)


def not_found(queue: str, said_of_name: str, *, may_look: bool) -> str:
    """That no run has looked at a queue. Parameters: `said_of_name` what the queue manager says of its name, "" for
    nothing; `may_look` whether the page has a form for a dry run."""
    check = "Check its name: a dry run looks at it." if may_look else "Check its name."
    return f"No run has found dead letters on the queue {queue}. {f'{said_of_name}.' if said_of_name else check}"


def in_short(found: DeadLetters, depth: int | None, figures: Figures) -> Iterator[Text]:
    """The figures at the top."""
    one = found.anatomy
    yield said("{:strong} {} then", one.messages, "message" if one.messages == 1 else "messages")
    if found.left is not None:
        yield said("{:strong} of them left by runs", found.left)
    if depth is not None:
        ago = said("{:ago} ago: no answer now", figures.seen_at) if figures.unreachable else said("now")
        yield said("{:strong} {}", depth, ago)
    if (since := one.since).observed_at and not found.acted:
        more = sum(one.growth.values())
        than = said("{:strong} {} than", abs(more), "more" if more > 0 else "fewer") if more else said("as many as")
        empty = said("{} at {:time}, when it was empty", than, since.observed_at)
        run = OfRun(one.queue_manager, since.run, f"the run of {since.observed_at}")
        yield said("{} in {}", than, run) if since.run else empty


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
        words = (
            "the queue grew by {} during scans for expired messages. Reports of expiry that could not be put on their "
            "reply-to queue come here; see {}."
        )
        first = said(words, counted(scan.messages, "message"), OfRun(queue_manager, scan.run))
        yield sentences(first, said("{} shows what they are.", HANDLE) if may_look else NOTHING)


def not_in_figures(found: DeadLetters, *, may_look: bool) -> Text:
    """What the figures of the page do not tell, where runs have acted. Parameters: `may_look` as of `grew`."""
    if not found.acted:
        return NOTHING
    seen = found.anatomy.observed_at
    left = "Below is what these runs have left. What came to the queue since, and what applications took, is not in "
    put_back = said("Neither is what an undo put back, unless the run of {:time} had seen it.", seen)
    return sentences(
        said("All below is what the queue was made of before that." if found.left is None else f"{left}these figures."),
        put_back if found.left is not None and any(one.put_back for one in found.acted) else NOTHING,
        said("{} shows what the queue is made of now.", HANDLE) if may_look else NOTHING,
    )


def nothing_left(found: DeadLetters) -> str:
    """That the page shows no group, because runs have left none."""
    first = "These runs have left none of the messages that were there then."
    if not (back := sum(one.put_back for one in found.acted)):
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
    problem_of: Callable[[Any, QueueAnatomy], str],
    stays: Mapping[Group, Sequence[int]],
    *,
    ages: Sequence[str],
    before: bool,
    by_hand: bool,
    may_look: bool,
) -> Table:
    """The groups of the queue, with what the rules table says of them.

    Parameters: `problem_of` what the pre-flight says of a decision, "" for nothing; `stays` group → messages
    of each of its decisions that their destinations did not take at the look; `ages` the names of the columns for ages;
    `before` whether runs have acted since, and what they left is not known; `by_hand` whether the page of the run
    has a form for messages without an MQDLH.
    """
    grown = bool(found.anatomy.since.observed_at) and not found.acted
    source = found.rules_source.rsplit("/", 1)[-1]
    headings = ["*Reason", "Destination|name", "Application|name", "Messages|number"]
    headings += [*(["Growth|number"] if grown else []), "By the rules table", *(f"Age {age}|number" for age in ages)]

    def decided(one: Decided, stay: int, *, several: bool) -> Text:
        text = [_decided(one, found.anatomy, by_hand=by_hand, may_look=may_look)]
        text += [said("({})", counted(one.messages, "message"))] if several else []
        text += [_would_stay(stay, found.anatomy)] if stay else []
        why = problem_of(one.decision, found.anatomy)
        return sentences(*text, *((Label("problem", "bad"), why) if why else ()))

    alike = Counter(_looked_for(row.group) for row in found.groups if row.messages)

    def cells(row: DeadLetterGroup) -> Iterator[Cell]:
        group, several = row.group, len(row.decided) > 1
        lines = [decided(*one, several=several) for one in zip(row.decided, stays[group], strict=True)]
        yield from (group.reason, str(Destination(group.origin_q or "", group.origin_q_mgr or "")) or "–")
        yield group.application or "–"
        yield _listed(row, found.anatomy, alone=alike[_looked_for(row.group)] == 1)
        yield from [f"{row.growth:+,}"] if grown else []
        yield Lines(lines) if lines else "–"
        yield from (row.ages.get(age, 0) or None for age in ages)

    caption = f"Groups{' before that' if before else ''}: reason, destination, application"
    caption += f", and what {source} says of them" if source else ""
    return Table(caption, headings, [tuple(cells(row)) for row in found.groups if row.messages])


def _would_stay(messages: int, one: QueueAnatomy) -> Text:
    """That messages would stay although a rule moves them. The plan of the run says why."""
    query = {"queue_manager": one.queue_manager, "run": one.run}
    return said("{}: {}", Label(f"{messages:,} would stay", "warn"), Link("why", "plan", query))


def _looked_for(group: Group) -> tuple[str, str, str]:
    """What the list of a group looks for: it has no field for the queue manager of the destination."""
    return group.reason, group.origin_q, group.application


def _listed(row: DeadLetterGroup, one: QueueAnatomy, *, alone: bool) -> Cell:
    """How many messages a group has, with the link to their list, where they can be chosen. A group that no search is
    about has none: of messages without an MQDLH, or with a name that is a pattern for the search. Parameters: `alone`
    whether no other group has the same in all that a search looks for."""
    group = row.group
    searched = all(name and "*" not in name and "?" not in name for name in (group.origin_q, group.application))
    if not (one.run and alone and searched and group.reason.startswith("MQ")):
        return row.messages
    of = {"reason": group.reason, "dest_q": f"={group.origin_q}", "application": f"={group.application}"}
    query = {"queue_manager": one.queue_manager, "run": one.run, "queue": one.queue, "there": "now", **of}
    return Link(f"{row.messages:,}", "messages", query, title="Choose from these messages")


def _decided(what: Decided, one: QueueAnatomy, *, by_hand: bool, may_look: bool) -> Text:
    query = {"queue_manager": one.queue_manager}
    if what.decision.action is Action.ERROR:
        moves, of_run = "moves it to a queue that you name", query | {"run": one.run}
        form = Link(f"the form of mq_recover {moves}", "run", of_run, "actions")
        dry_run = said(f"the page of {{}} of this queue has a form that {moves}", Link("a dry run", place="handle"))
        more = said(": {}", form if by_hand else dry_run) if by_hand or may_look else NOTHING
        return said("{} {}{}", Label("stays", "warn"), NO_RULE_FITS, more)
    if what.line is None:
        return said("{} {:breaks}", Label("no rule", "warn"), str(what.decision))
    rule = Link(f"line {what.line}", "rules", query | {"workflow": Workflow.DLQ_RULES}, f"line-{what.line}")
    return said("{}: {:breaks}", rule, str(what.decision))
