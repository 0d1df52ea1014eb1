"""The one list of deciders. A new one is a line here; its module is imported only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mqops.actions import Action
from mqops.errors import SettingsError
from mqops.look.words.fates import MOVES, Fates
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.deciders.decider import Decider

DECIDERS: dict[str, str] = {
    Workflow.DLQ_RULES: "mqops.deciders.dead_letters:DEAD_LETTERS",
    Workflow.BACKOUT_REPROCESS: "mqops.deciders.backout:BACKOUT",
    Workflow.AGE_OUT: "mqops.deciders.age_out:AGE_OUT",
    Workflow.UNDO: "mqops.deciders.undo:UNDO",
    Workflow.RECOVER: "mqops.deciders.recover:RECOVER",
    Workflow.MESSAGE_LOAD: "mqops.deciders.message_load:MESSAGE_LOAD",
}
"""Name → `module:value` of the decider."""

EARLIER_NAMES = {"dlq": Workflow.DLQ_RULES}
"""Names in plans and ledgers that earlier versions wrote → the name of today."""


def decider_named(name: str) -> Decider[Any]:
    """The decider of a name, also of one that an earlier version wrote.

    Raises:
        SettingsError: there is no decider of this name: a later version may have made the plan.
    """
    place = DECIDERS.get(EARLIER_NAMES.get(name, name))
    if place is None:
        raise SettingsError(f"There is no workflow {name!r}; there are {', '.join(DECIDERS)}")
    module, _, value = place.partition(":")
    found: Decider[Any] = getattr(importlib.import_module(module), value)
    return found


def by_choice(workflow: str) -> bool:
    """Whether a person, and no rules table, chooses the messages of a workflow. One that is not known has a table."""
    return workflow in DECIDERS and not decider_named(workflow).by_rules


def fates_of(workflow: str) -> Fates:
    """The words of a workflow for what becomes of messages. One that is not known moves them."""
    return decider_named(workflow).fates if workflow in DECIDERS else MOVES


def holds_queues(workflow: str) -> bool:
    """Whether the open question of a run holds other runs on the same queues back: its plan is about messages that it
    has read there."""
    return workflow not in DECIDERS or decider_named(workflow).reads_queues


def not_chosen(workflow: str, actions: Mapping[Action, int] | Mapping[str, int]) -> int:
    """How many messages of the plan were not chosen. (The plan lists all messages of its queues.) 0 if all were chosen.

    Parameters: `actions` of the plan → messages.
    """
    return int(actions.get(Action.IGNORE, 0)) if len(actions) > 1 and by_choice(workflow) else 0
