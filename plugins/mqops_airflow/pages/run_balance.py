"""What became of the messages of a run, or would: sums, the table by rule, the chart, and the words for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from mqops.actions import NO_RULE_FITS, Action
from mqops.deciders.registry import by_choice, not_chosen
from mqops.look.core.run_state import RunLine, RunState
from mqops.look.run_story import RunStory
from mqops.look.run_view import RunView
from mqops.model import Counts, RuleBalance, total_of
from mqops.prove.records import WORKFLOW as UNDO_WORKFLOW
from mqops_airflow.pages.charts import FATES, stacked


class Share(NamedTuple):
    """What became, or would become, of the messages of a rule. Parameters: `name` of the rule; `parts` what in words →
    messages."""

    rule: RuleBalance
    name: str
    parts: Mapping[str, int]


def would(view: RunView) -> bool:
    """Whether the page tells what would be done: a dry run, and any other plan that nobody carries out."""
    return bool(view.rules) and view.story.line.state is RunState.PLANNED


def fate_words(view: RunView) -> Mapping[str, str]:
    """What becomes of a message (`FATES`) → the word for it. An undo puts messages back, and takes away those that its
    run put as copies."""
    undo, copies = bool(view.story.undoes), Action.WITHDRAW in view.story.plan.get("actions", {})
    words = dict((_WOULD if would(view) else _DONE)[undo])
    if not undo:
        words["moved"] = words["moved"].replace("moved", view.story.line.moved_word)
    return {fate: word for fate, word in words.items() if copies or not undo or fate != "discarded"}


_DONE = (
    {fate: fate for fate in FATES},
    {"moved": "put back", "discarded": "taken away", "left": "left", "gone": "gone"},
)
_WOULD = (
    {"moved": "would be moved", "discarded": "would be discarded", "left": "would stay"},
    {"moved": "would be put back", "discarded": "would be taken away", "left": "would not be put back"},
)
"""What becomes of a message → the word for it: of any other run, and of an undo."""


def others(view: RunView) -> int:
    """The messages of a plan that nobody has chosen: they are not in its sums."""
    return not_chosen(workflow_of(view.story), view.story.plan.get("actions", {}))


def chosen(view: RunView) -> Sequence[RuleBalance]:
    """The proved balance by rule, without the messages that nobody has chosen."""
    return [one for one in view.rules if one.action != Action.IGNORE] if others(view) else view.rules


def sums_of(view: RunView) -> Counts | RunLine:
    """The sums of the proof, of `chosen` messages."""
    return total_of(chosen(view)) if others(view) else view.story.line


def balance(view: RunView) -> list[Share]:
    """What became of the messages of each rule, or would; of `chosen` ones."""
    words, workflow = fate_words(view), workflow_of(view.story)
    dry = would(view)
    stays = {(one.queue, one.rule_line, one.action): one.messages for one in view.story.stays}
    shares = []
    for one in chosen(view):
        stay = stays.get((one.queue, one.rule_line, one.action), 0)
        planned = Counter({_fate(Action(one.action)): one.planned - stay}) + Counter(left=stay)
        parts = {word: planned[fate] if dry else getattr(one, fate) for fate, word in words.items()}
        shares.append(Share(one, rule_name(one, workflow=workflow), parts))
    return shares


def chart_of(view: RunView, shares: Sequence[Share]) -> Markup | None:
    if not shares:
        return None
    several = len({one.rule.queue for one in shares}) > 1
    rows = [{"rule": f"{one.name} ({one.rule.queue})" if several else one.name, **one.parts} for one in shares]
    what = "What the plan would do with" if would(view) else "What became of"
    label = f"{what} the messages of each rule; the table below has the figures"
    return stacked(rows, of="rule", label=label, parts={word: FATES[fate] for fate, word in fate_words(view).items()})


def _fate(action: Action) -> str:
    return "discarded" if action.discards else "moved" if action.acts else "left"


def rule_name(one: RuleBalance, *, workflow: str) -> str:
    """A rule in a few words. Parameters: `workflow` of the run."""
    rule, action = rule_in_words(one.rule_line, Action(one.action), workflow), one.action
    return rule if action == Action.ERROR else f"{rule} {action}" if one.rule_line else f"{rule}: {action}"


def rule_in_words(line: int | None, action: Action, workflow: str) -> str:
    """What has decided about messages. Parameters: `line` of the rule, None for none; `workflow` "" where it is not
    known."""
    if line:
        return f"line {line}"
    if action is Action.ERROR:
        return NO_RULE_FITS
    if workflow == UNDO_WORKFLOW:
        return "undo"
    if by_choice(workflow):
        return "chosen" if action.acts else "not chosen"
    return "no rule"


def workflow_of(story: RunStory) -> str:
    return UNDO_WORKFLOW if story.undoes else story.line.workflow
