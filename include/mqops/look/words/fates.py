"""What becomes of the messages of a plan, in words: moved, discarded, left, gone, and why a message is left. Pure.

A decider says its own words (`mqops.deciders.decider.Decider.fates`): an undo puts messages back, and takes away those
that its run put as copies. Nothing but these values differs, so nobody else asks whether a run is an undo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from mqops.actions import GATE, NO_RULE_FITS, Action, is_gate


class Fate(StrEnum):
    """What the proof counts. The word is that of a field of `mqops.model.Counts`."""

    MOVED = "moved"
    DISCARDED = "discarded"
    LEFT = "left"
    GONE = "gone"


class Became(StrEnum):
    """What became of a message that was not moved or discarded. JSON has the word."""

    LEFT = "left"
    GONE = "gone"
    FAILED = "failed"
    """Its try failed, and it is left."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """The words of a workflow.

    Parameters: `moved` to `gone` what became of messages, and `would_` what would; `always_discards` whether the word
    for discarded messages is said also where the plan discards none; `acts` what a plan does with its messages, `plan`
    what the plan is called; `undone` what was not done with a message that is left; `undecided` what decided where no
    rule did.
    """

    moved: str = "moved"
    discarded: str = "discarded"
    left: str = "left"
    gone: str = "gone"
    would_move: str = "would be moved"
    would_discard: str = "would be discarded"
    would_leave: str = "would stay"
    always_discards: bool = True
    acts: str = "acts on"
    plan: str = "the plan"
    undone: str = "moved or discarded"
    undecided: str = "no rule"

    def words(self, *, would: bool, copies: bool = False, discards: bool = True) -> dict[Fate, str]:
        """What becomes of a message → the word for it.

        Parameters: `would` whether nobody carries out the plan; `copies` whether it puts copies; `discards` whether it
        discards messages.
        """
        made = replace(self, moved=self.moved.replace("moved", "copied")) if copies else self
        put = made.would_move.replace("moved", "copied") if copies else made.would_move
        words = (
            {Fate.MOVED: put, Fate.DISCARDED: made.would_discard, Fate.LEFT: made.would_leave}
            if would
            else {Fate.MOVED: made.moved, Fate.DISCARDED: made.discarded, Fate.LEFT: made.left, Fate.GONE: made.gone}
        )
        return {fate: word for fate, word in words.items() if discards or made.always_discards or fate != "discarded"}


MOVES = Fates()
"""A plan that moves and discards messages."""
PUTS_BACK = Fates(
    moved="put back",
    discarded="taken away",
    would_move="would be put back",
    would_discard="would be taken away",
    would_leave="would not be put back",
    always_discards=False,
    acts="puts back",
    plan="the undo",
    undone="put back",
    undecided="undo",
)
"""A plan that undoes a run."""

NOT_REACHED = "its turn has not come"
NOT_REACHED_ELSEWHERE: Mapping[Action, str] = {
    Action.RESTORE: f"{NOT_REACHED}: the run that is undone discarded it, so it is on no queue; the lake has it",
    Action.RETURN: f"{NOT_REACHED}: it is where the run that is undone put it",
    Action.WITHDRAW: f"{NOT_REACHED}: the copy is where the run that is undone put it",
    Action.LOAD: f"{NOT_REACHED}: the file has it",
}
"""Action of a message that is not on the queue of its row → why it is left where its turn has not come."""
BACK = "a unit of work of another program hid it when its turn came; it was on its queue when the run was proved"
WHY_LEFT: Mapping[Action, str] = {
    Action.IGNORE: "the table leaves it: ACTION(IGNORE), no rule matches, or all tries have failed",
    Action.ERROR: "it has no MQDLH that can be read",
    Action.AMBIGUOUS: "its origin is ambiguous",
    Action.PROTECTED: "it names a protected queue",
    Action.STUCK: "it loops, and neither a backout queue nor a dead-letter queue takes it",
    Action.GATED: "a check of the gate fails",
    Action.LATER: "its next try was not due",
    Action.REPLAYED: "it has been put as often as MAXREPLAY allows",
    Action.SPLIT: "the table sends the messages of its group to different queues",
    Action.INCOMPLETE: "its group is not complete",
    Action.BEHIND: "a message that it must follow is left",
    Action.PRESENT: "it is on its queue already",
    Action.LOADED: "an earlier load of the file has put it",
    Action.UNDONE: "an earlier undo has put it back",
    Action.CONSUMED: "it was consumed where it had gone",
    Action.HIDDEN: "it cannot be seen where it had gone",
    Action.UNPROVABLE: "what became of it cannot be proved",
    Action.CONFIRMS: "the queue manager has reported its outcome to the sender",
    Action.LAST: "the original is not on its queue, so the copy may be the last one",
    Action.EXPIRED: "its lifetime is over",
    Action.PARTED: "another message of its group cannot be put back",
}
"""Action that leaves a message → why it is left."""


def check_in_words(rule_key: str | None) -> str:
    """The check of a gate that decided about messages, "" where none did."""
    return f"gate: check {(rule_key or '').removeprefix(GATE)}" if is_gate(rule_key) else ""


def rule_in_words(
    line: int | None, action: Action, *, key: str | None = None, by_choice: bool = False, fates: Fates = MOVES
) -> str:
    """The rule, or else the check of a gate, the person or the workflow, that decided about messages.

    Parameters: `line` of the rule, None for none; `key` of it, as the plan has it; `by_choice` whether a person, and no
    rules table, chooses the messages of the workflow.
    """
    if line:
        return f"line {line}"
    if check := check_in_words(key):
        return check
    if action is Action.ERROR:
        return NO_RULE_FITS
    if by_choice and fates.undecided == MOVES.undecided:
        return "chosen" if action.acts else "not chosen"
    return fates.undecided


def rule_name(
    line: int | None, action: Action, *, key: str | None = None, by_choice: bool = False, fates: Fates = MOVES
) -> str:
    """A rule in a few words, with its action. Parameters: as of `rule_in_words`."""
    rule = rule_in_words(line, action, key=key, by_choice=by_choice, fates=fates)
    return rule if action is Action.ERROR else f"{rule} {action}" if line else f"{rule}: {action}"


def fate_of(action: Action) -> Fate:
    """What becomes of a message when its action is done."""
    return Fate.DISCARDED if action.discards else Fate.MOVED if action.acts else Fate.LEFT


NOT_CHOSEN = "it was not chosen"
_WAITS: Mapping[str, str] = {
    NOT_REACHED: "still on the queue",
    NOT_REACHED_ELSEWHERE[Action.RESTORE]: "not put back yet",
    NOT_REACHED_ELSEWHERE[Action.RETURN]: "not put back yet",
    NOT_REACHED_ELSEWHERE[Action.WITHDRAW]: "not taken away yet",
    NOT_REACHED_ELSEWHERE[Action.LOAD]: "not put yet",
}
"""Why a message is left whose turn has not come → where it is."""


def became(fate: str, why: str, words: Mapping[Fate, str]) -> str:
    """What became of a message, for people: a message that no run has reached is not said to be left by one.

    Parameters: `fate` a word of `Became`; `why` it is left; `words` of its run, as `Fates.words` gives them.
    """
    if fate == Became.FAILED:
        return "left: its try failed"
    waits = _WAITS.get(why) if fate == Became.LEFT else None
    return waits or {str(one): word for one, word in words.items()}.get(fate, fate)


def why_left(why: str, *, by_choice: bool) -> str:
    """Why a message was not moved or discarded, for people. Parameters: `by_choice` as of `rule_in_words`."""
    return NOT_CHOSEN if by_choice and why == WHY_LEFT[Action.IGNORE] else why
