"""What is said of a plan and its destinations on the page where it is answered. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mqops.actions import Action
from mqops.counted import counted
from mqops.look.words.text import (
    NOTHING,
    Ago,
    Cell,
    Code,
    Column,
    Label,
    Link,
    Name,
    Quiet,
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
    from mqops.look.core.run_state import RunLine
    from mqops.look.plan_view import DestinationLine, GroupLine, PlanView

MOST_GONE = 50
"""Groups of the last plan that are named before the others are counted."""
MOST_SAMPLES = 10
"""Groups of which a message is shown."""


def stops(view: PlanView, not_done: str) -> Iterator[Text]:
    """The stops in force, and where each is taken back. Parameters: `not_done` what follows from a stop."""
    line = view.line
    for one in view.stops:
        of_run = one.startswith("Run ")
        query = {"queue_manager": line.queue_manager}
        link = (
            Link("Resume this run, on its page", "run", query | {"run": line.run})
            if of_run
            else Link("Resume all runs, on the estate", "estate", query)
        )
        yield said("{}: {}. Resume first: {}", one, not_done, link)


def snapshot(line: RunLine, depth: int | None) -> Text:
    """How old the snapshot of a plan is. Parameters: `depth` messages that are on its queues now, None where that is
    not known."""
    old = said(
        "The snapshot of this plan is {} old: it was taken {}, with {}.",
        *(Ago(line.at), Time(line.at), counted(line.messages, "message")),
    )
    now = said("{} has {} now.", Name(line.queue.replace(",", ", ")), depth) if depth is not None else NOTHING
    return sentences(old, now)


def sums(view: PlanView, size: str) -> Text:
    """The messages of a plan by action. Parameters: `size` of all of them, in words."""
    plan = view.plan
    actions = joined(", ", (f"{action} {count:,}" for action, count in plan.actions.items()))
    of = said(
        "{} of {} ({}) of {} on {}:",
        *(Strong(f"{plan.rows:,}"), counted(plan.observed, "message"), size),
        *(Name(plan.queue), plan.queue_manager),
    )
    return sentences(of, said("{}.", actions))


def compared(view: PlanView) -> Text:
    """What is new beside the last plan of the same workflow for the same queue."""
    last = view.last
    if last is None:
        return said("There is no earlier plan of this workflow for this queue to compare with.")
    query = {"queue_manager": view.line.queue_manager, "run": last.run}
    link = Link("the last plan of this workflow for this queue", "plan", query)
    groups = f"{counted(view.new, 'new group')}, {counted(len(view.gone), 'group')} gone."
    return said(
        "Compared with {}, {}, {}: {}",
        *(link, Time(last.at), counted(last.planned, "message")),
        groups if view.comparable else "one of the two has too many groups to say which are new.",
    )


def groups(view: PlanView, most: int, rule_in_words: Callable[[Action], str]) -> Table:
    """The groups of a plan. Parameters: `most` groups that are shown; `rule_in_words` what decided without a rule."""
    columns = [
        *(Column("Messages", "number"), Column("Last plan", "number"), Column("Action"), Column("Was for", "name")),
        *(Column("Reason"), Column("Goes to", "name"), Column("Rule", "text name"), Column("Oldest")),
    ]
    compares = bool(view.last and view.comparable)
    rows = [_group(one, rule_in_words, compares=compares) for one in view.groups[:most]]
    return Table(caption="Groups, the largest first", columns=columns, rows=rows)


def _group(one: GroupLine, rule_in_words: Callable[[Action], str], *, compares: bool) -> Sequence[Cell]:
    c = one.count
    unclear = c.action is Action.AMBIGUOUS and not c.origin_q
    new = Label("new", "note") if compares else "–"
    line = said("line {} {}", str(c.rule_line), Code(one.rule)) if c.rule_line else rule_in_words(c.action)
    return (
        c.messages,
        one.before if one.before is not None else new,
        Label(c.action, "bad") if c.action is Action.DISCARD else str(c.action),
        "ambiguous" if unclear else str(Destination(c.origin_q or "", c.origin_q_mgr or "")),
        c.symbol,
        str(Destination(c.dest_q, c.dest_q_mgr)),
        line,
        Time(c.oldest or ""),
    )


def gone_groups(view: PlanView) -> Table:
    """The groups of the last plan that this one has not."""
    columns = [
        *(Column("Messages then", "number"), Column("Action"), Column("Was for", "name")),
        *(Column("Reason"), Column("Went to", "name")),
    ]
    rows = [(c.messages, str(c.action), c.origin_q or "", c.symbol, c.dest_q) for c in view.gone[:MOST_GONE]]
    return Table(caption="Groups of the last plan that are gone", columns=columns, rows=rows)


def destinations(lines: Sequence[DestinationLine]) -> Table:
    """The destinations of a plan, with their room and readers."""
    figures = ("Messages", "Depth", "Room", "Readers")
    columns = [Column("Goes to", "name"), *(Column(one, "number") for one in figures), Column("State")]
    rows = [(_destination(one), one.messages, one.depth, one.room, one.readers, _ready(one)) for one in lines]
    return Table(caption="Destinations: room and readers", columns=columns, rows=rows)


def _destination(one: DestinationLine) -> Text:
    by = [Quiet(f"by {one.queue}")] if one.queue else []
    return joined(" ", [one.name, *by, *([Quiet(f"to {one.remote}")] if one.remote else [])])


def _ready(one: DestinationLine) -> Text | Label:
    if one.unknown:
        return said("{} {}", Label("unknown", "warn"), one.unknown)
    if not one.put_allowed:
        return Label("PUT(DISABLED)", "bad")
    if one.full:
        return Label(f"room for {one.room:,} of {one.messages:,}", "bad")
    if one.storage:
        return said("{} storage: a person reads it", Label("ready", "good"))
    return Label("no reader", "warn") if one.readers == 0 else Label("ready", "good")


def samples(view: PlanView) -> Table:
    """A message of each of the largest groups, masked."""
    columns = [
        *(Column("Goes to", "name"), Column("Put"), Column("By", "name"), Column("MsgId")),
        Column("Text", "mono name"),
    ]
    of = {"queue_manager": view.line.queue_manager, "run": view.line.run}
    rows = [
        (
            *(one.count.dest_q or str(one.count.action), Time(s.put_at), s.put_appl_name),
            Link(s.msg_id, "messages/one", of | {"msg_id": s.msg_id}, kind="mono name"),
            s.shape,
        )
        for one in view.groups[:MOST_SAMPLES]
        for s in one.count.samples[:1]
    ]
    return Table(caption="Samples, masked", columns=columns, rows=rows)


def answered(answer: Mapping[str, Any]) -> Text:
    """Who has answered, and when; nothing for an approval that was refused. Parameters: `answer` as RUN/approval.json
    has it, empty where there is none."""
    if not answer or answer.get("refused"):
        return NOTHING
    word = "Approved" if answer["approved"] else "Rejected"
    return said("{} by {} at {}.", word, Name(answer["by"] or "the time-out"), Time(answer["at"]))
