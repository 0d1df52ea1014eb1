"""What a plan does in one line, for headings, and what of it the last plan had not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqops.actions import ACTED, DISCARDS, Action, Effect
from mqops.counted import counted
from mqops.estate_values import MQ_NAME
from mqops.look.words.text import OfRun, Text, joined, said
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary

MOST_DESTINATIONS = 3
"""Destinations of an action that a heading names."""
MOST_QUEUES = 3
"""Queues of a plan that a heading names."""
NO_EARLIER_PLAN = "There is no earlier plan of this workflow for this queue to compare with."
"""What an approver is told, in the question and on the page of the plan."""
_DISCARD = "discard"
_OF_EFFECT = {
    Effect.PUT: "move",
    Effect.DEAD_LETTER: "move",
    Effect.PUT_BACK: "put back",
    Effect.LOAD: "load",
    Effect.COPY: "copy",
    Effect.DISCARD: _DISCARD,
}
"""What an action does → the verb of a heading."""
_VERBS: Mapping[str, str] = {action: _OF_EFFECT[action.effect] for action in ACTED}
"""Action → its verb; none for an action that leaves the message."""


def title(plan: PlanSummary, said_as: str = "{}?", *, undone: str = "", stay: int = 0) -> Text:
    """One line: "QM1: move 60 to A, discard 300 (of 378 messages of SYSTEM.DEAD.LETTER.QUEUE)?".

    Parameters: `said_as` how it is told, with `{}` for what the plan does; `undone` the name of the run that
    an undo undoes; `stay` messages of these that the destinations did not take at the look
    (`mqops.decide.core.staying`).
    """
    of = counted(plan.rows, "message")
    if undone:
        back = sum(messages for action, messages in plan.actions.items() if action in _VERBS)
        does = said('undo "{:breaks}": put back {} of {}', undone, back, of)
    else:
        but = f"; {stay:,} of those to move would stay" if stay else ""
        does = said("{} (of {} of {:breaks}{})", _does(plan), of, _queues(plan.queue.split(",")), but)
    return said("{:breaks}: {}", plan.queue_manager, said(said_as, does))


def decided_by(queue_manager: str, undone: str, rules: str) -> Text:
    """What decided a plan. Parameters: `undone` the key of the run that an undo undoes, "" for another plan; `rules` is
    the name of its rules table."""
    return said("undo of {}", OfRun(queue_manager, undone)) if undone else said("{}", rules)


def discarded(plan: PlanSummary) -> int:
    """Messages that a plan discards for good, so that their approval asks twice. What an undo takes away are copies."""
    return sum(n for action, n in plan.actions.items() if action in DISCARDS and action != Action.WITHDRAW)


def _does(plan: PlanSummary) -> Text:
    """The actions of a plan, what is discarded last."""
    totals: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    for action, messages in plan.actions.items():
        if verb := _VERBS.get(action):
            totals[verb] += messages
    for one in plan.counts:  # a name that IBM MQ has not is what a message says: it stands in the groups, as code
        named = MQ_NAME.fullmatch(one.dest_q) and (not one.dest_q_mgr or MQ_NAME.fullmatch(one.dest_q_mgr))
        if (verb := _VERBS.get(one.action)) and named:
            places[verb, str(Destination(one.dest_q, one.dest_q_mgr))] += one.messages
    verbs = sorted((verb for verb in totals if totals[verb]), key=lambda verb: verb == _DISCARD)
    return joined(", ", (_verb(verb, totals[verb], places) for verb in verbs)) or said("do nothing")


def _verb(verb: str, total: int, places: Counter[tuple[str, str]]) -> Text:
    if verb == _DISCARD:
        return said("{:discards}", f"{verb} {total:,}")
    return said("{} {}", verb, joined(", ", _to(total, {to: n for (of, to), n in places.most_common() if of == verb})))


def _to(total: int, places: dict[str, int]) -> Iterator[Text]:
    """The messages of an action by destination, the most first. Parameters: `total` of them, also of groups that the
    plan does not list."""
    named = list(places.items())[:MOST_DESTINATIONS]
    for place, messages in named:
        yield said("{} to {:breaks}", messages, place)
    if more := total - sum(messages for _place, messages in named):
        yield said("{}{}", more, " elsewhere" if named else "")


def _queues(names: list[str]) -> str:
    more = len(names) - MOST_QUEUES
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_QUEUES])} and {counted(more, 'other queue')}"
