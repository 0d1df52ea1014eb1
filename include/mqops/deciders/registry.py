"""The one list of deciders. A new one is a line here, or an entry point of another distribution (`mqops.outside`); its
module is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from mqops import outside
from mqops.actions import Action
from mqops.errors import SettingsError
from mqops.look.words.fates import MOVES, Fates
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.deciders.decider import Decider

DECIDERS: dict[str, str] = {
    Workflow.DLQ_RULES: "mqops.deciders.dead_letters:DEAD_LETTERS",
    Workflow.BACKOUT_REPROCESS: "mqops.deciders.backout:BACKOUT",
    Workflow.POISON_GUARD: "mqops.deciders.guard:GUARD",
    Workflow.AGE_OUT: "mqops.deciders.age_out:AGE_OUT",
    Workflow.UNDO: "mqops.deciders.undo:UNDO",
    Workflow.RECOVER: "mqops.deciders.recover:RECOVER",
    Workflow.MESSAGE_LOAD: "mqops.deciders.message_load:MESSAGE_LOAD",
}
"""Name → `module:value` of the decider."""

EARLIER_NAMES = {"dlq": Workflow.DLQ_RULES}
"""Names in plans and ledgers that earlier versions wrote → the name of today."""


def names() -> tuple[str, ...]:
    """The names of all deciders, those of other distributions behind mqops' own. Nothing is imported."""
    return (*map(str, DECIDERS), *outside.not_taken(outside.Group.DECIDERS, DECIDERS))


@cache
def _brought(name: str) -> Decider[Any]:
    """A decider of another distribution. Raises `SettingsError`."""
    from mqops.deciders.decider import Decider  # noqa: PLC0415 - only for what others bring

    one = outside.not_taken(outside.Group.DECIDERS, DECIDERS).get(name)
    if one is None:
        raise SettingsError(f"There is no workflow {name!r}; there are {', '.join(names())}")
    found: Decider[Any] = one.load(Decider)
    if found.dag or found.section or found.command:
        raise one.refused("names a DAG, a section of the estate or a command: these are for deciders of mqops")
    return found


def decider_named(name: str) -> Decider[Any]:
    """The decider of a name, also of one that an earlier version wrote.

    Raises:
        SettingsError: there is no decider of this name: a later version may have made the plan, or a distribution
            that is not installed here. Or its distribution brings it and it cannot be used.
    """
    place = DECIDERS.get(EARLIER_NAMES.get(name, name))
    if place is None:
        return _brought(name)
    module, _, value = place.partition(":")
    found: Decider[Any] = getattr(importlib.import_module(module), value)
    return found


def _known(workflow: str) -> Decider[Any] | None:
    """The decider of a name; None where it is not known here or cannot be loaded: its runs are shown all the same."""
    if workflow in DECIDERS:
        return decider_named(workflow)
    try:
        return _brought(workflow)
    except SettingsError:
        return None


def by_choice(workflow: str) -> bool:
    """Whether a person, and no rules table, chooses the messages of a workflow. One that is not known has a table."""
    known = _known(workflow)
    return known is not None and not known.by_rules


def fates_of(workflow: str) -> Fates:
    """The words of a workflow for what becomes of messages. One that is not known moves them."""
    known = _known(workflow)
    return known.fates if known else MOVES


def holds_queues(workflow: str) -> bool:
    """Whether the open question of a run holds other runs on the same queues back: its plan is about messages that it
    has read there."""
    known = _known(workflow)
    return known is None or known.reads_queues


def asks_by_hand(workflow: str) -> bool:
    """Whether a run by hand of a workflow always asks a person in Airflow. One that is not known does."""
    known = _known(workflow)
    return known is None or known.asks_by_hand


def not_chosen(workflow: str, actions: Mapping[Action, int] | Mapping[str, int]) -> int:
    """How many messages of the plan were not chosen. (The plan lists all messages of its queues.) 0 if all were chosen.

    Parameters: `actions` of the plan → messages.
    """
    return int(actions.get(Action.IGNORE, 0)) if len(actions) > 1 and by_choice(workflow) else 0
