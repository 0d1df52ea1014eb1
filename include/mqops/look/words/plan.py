"""What is said of a plan and its destinations on the page where it is answered. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.core.preflight import Finding, same_said
from mqops.look.words.fates import check_in_words
from mqops.look.words.planned import NO_EARLIER_PLAN
from mqops.look.words.rules import of_rule
from mqops.look.words.text import (
    NOTHING,
    Cell,
    Discards,
    Label,
    Link,
    Quiet,
    Table,
    Text,
    Time,
    of_message,
    said,
    sentences,
    with_commands,
)
from mqops.model import Destination
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.look.core.question import Asked
    from mqops.look.core.run_state import RunLine
    from mqops.look.plan_view import DestinationLine, GroupLine, PlanView

MOST_GONE = 50
"""Groups of the last plan that are named before the others are counted."""
MOST_SAMPLES = 10
"""Groups of which a message is shown."""


def folded(findings: Iterable[Finding]) -> list[tuple[str, Text]]:
    """What a pre-flight found, once for all destinations with the same: kind of a problem (warn, bad), and its text."""
    return [
        (
            "warn" if severity == "warning" else "bad",
            sentences(f"{', '.join(names)}: {what.removesuffix('.')}.", with_commands(remedy)),
        )
        for (severity, what, remedy), names in same_said(findings).items()
    ]


def stops(view: PlanView, not_done: str) -> Iterator[Text]:
    """The stops in force, and where each is taken back. Parameters: `not_done` what follows from a stop."""
    query = {"queue_manager": view.line.queue_manager}
    of_run = Link("Resume this run, on its page", "run", query | {"run": view.line.run})
    of_all = Link("Resume all runs, on the estate", "estate", query)
    for one in view.stops:
        yield said("{}: {}. Resume first: {}", one, not_done, of_run if one.startswith("Run ") else of_all)


def snapshot(line: RunLine, depth: int | None) -> Text:
    """How old the snapshot of a plan is. Parameters: `depth` messages that are on its queues now, None where that is
    not known."""
    taken, number = "The snapshot of this plan is {:ago} old: it was taken {:time}, with {}.", line.messages
    now = said("{:name} has {} now.", line.queue.replace(",", ", "), depth) if depth is not None else NOTHING
    return sentences(said(taken, line.at, line.at, counted(number, "message")), now)


def sums(view: PlanView, size: str) -> Text:
    """The messages of a plan by action. Parameters: `size` of all of them, in words."""
    plan = view.plan
    if not plan.observed and plan.workflow == Workflow.UNDO:
        return said("There is nothing to put back: the run moved no message and discarded none.")
    if not plan.observed:
        return said("There was no message on {:name} on {}: the plan does nothing.", plan.queue, plan.queue_manager)
    actions = ", ".join(f"{action} {count:,}" for action, count in plan.actions.items()) or "nothing"
    of, here = (plan.rows, counted(plan.observed, "message"), size), (plan.queue, plan.queue_manager)
    return said("{:strong} of {} ({}) of {:name} on {}: {}.", *of, *here, actions)


def compared(view: PlanView) -> Text:
    """What is new beside the last plan of the same workflow for the same queue."""
    last = view.last
    if last is None:
        return said(NO_EARLIER_PLAN)
    query = {"queue_manager": view.line.queue_manager, "run": last.run}
    link = Link("the last plan of this workflow for this queue", "plan", query)
    found = f"{counted(view.new, 'new group')}, {counted(len(view.gone), 'group')} gone."
    found = found if view.comparable else "one of the two has too many groups to say which are new."
    return said("Compared with {}, {:time}, {}: {}", link, last.at, counted(last.planned, "message"), found)


def groups(view: PlanView, most: int, rule_in_words: Callable[[Action], str]) -> Table:
    """The groups of a plan. Parameters: `most` groups that are shown; `rule_in_words` what decided without a rule."""
    headings = ["Messages|number", "Last plan|number", "Action", "Was for|name", "Reason", "Goes to|name"]
    compares = bool(view.last and view.comparable)
    rows = [_group(view.line, one, rule_in_words, compares=compares) for one in view.groups[:most]]
    columns = [*headings, "Rule|text name", "Oldest"]
    ignored = "; what is ignored stands last" if Action.IGNORE in view.plan.actions else ""
    return Table(f"Groups, the largest first{ignored}", columns, rows, part=len(view.groups) > most)


def left_off(view: PlanView, most: int) -> Text:
    """How many groups a page leaves off, and where their messages are; nothing where it shows all. Parameters: `most`
    groups that are shown."""
    groups = max(0, len(view.groups) - most) + view.plan.counts_left_off
    if not groups:
        return NOTHING
    messages = view.plan.rows - sum(one.count.messages for one in view.groups[:most])
    link = Link("Messages", "messages", {"queue_manager": view.line.queue_manager, "run": view.line.run})
    where = (
        said("{}: its messages are not shown.", view.pruned.sentence("this run"))
        if view.pruned
        else said("{} lists all messages of this plan, by planned action.", link)
    )
    told = "… and {} with {}. {}"
    return said(told, counted(groups, "more group"), counted(messages, "message"), where)


def _group(run: RunLine, one: GroupLine, rule_in_words: Callable[[Action], str], *, compares: bool) -> Sequence[Cell]:
    c = one.count
    origin = Destination(c.origin_q or "", c.origin_q_mgr or "")
    return (
        c.messages,
        one.before if one.before is not None else Label("new", "note") if compares else "–",
        Discards(c.action) if c.action.discards else str(c.action),
        "ambiguous" if c.action is Action.AMBIGUOUS and not c.origin_q else str(origin),
        c.symbol,
        str(Destination(c.dest_q, c.dest_q_mgr)),
        said("{} {:code}", of_rule(run, c.rule_line, f"line {c.rule_line}"), one.rule)
        if c.rule_line
        else check_in_words(c.rule_key) or rule_in_words(c.action),
        Time(c.oldest or ""),
    )


def gone_groups(view: PlanView) -> Table:
    """The groups of the last plan that this one has not."""
    headings = ["Messages then|number", "Action", "Was for|name", "Reason", "Went to|name"]
    rows = [(c.messages, str(c.action), c.origin_q or "", c.symbol, c.dest_q) for c in view.gone[:MOST_GONE]]
    return Table("Groups of the last plan that are gone", headings, rows)


def destinations(lines: Sequence[DestinationLine]) -> Table:
    """The destinations of a plan, with their room and readers."""
    headings = ["Goes to|name", "Messages|number", "Depth|number", "Room|number", "Readers|number", "!State"]
    rows = [(_destination(one), one.messages, one.depth, one.room, one.readers, _ready(one)) for one in lines]
    return Table("Destinations: room and readers", headings, rows)


def _destination(one: DestinationLine) -> Text:
    by, to = (Quiet(f"{word} {name}" if name else "") for word, name in (("by", one.queue), ("to", one.remote)))
    return sentences(one.name, by, to)


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
    of, rows = (view.line.queue_manager, view.line.run), []
    for one in view.groups[:MOST_SAMPLES]:
        for s in one.count.samples[:1]:
            to = one.count.dest_q or str(one.count.action)
            rows.append((to, Time(s.put_at), s.put_appl_name, of_message(*of, s.msg_id), s.shape))
    return Table("Samples, masked", ["Goes to|name", "Put", "By|name", "MsgId", "Text|mono name"], rows)


def answered(asked: Asked | None) -> Text:
    """Who has answered, and when; nothing where nobody has or was asked, and for an approval that was refused."""
    answer = asked.answer if asked else None
    if answer is None or answer.refused:
        return NOTHING
    word = "Approved" if answer.approved else "Rejected"
    done = said("{} by {:name} at {:time}", word, answer.by or "the time-out", answer.at)
    return said("{}: {}.", done, answer.comment.rstrip(".")) if answer.comment else said("{}.", done)
