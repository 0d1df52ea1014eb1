"""What a plan says is to be done with a message. Each action stands here once, with its effect."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, StrEnum


class Effect(Enum):
    """What an action does to the message, as far as the queue manager is concerned."""

    LEAVE = "the message stays where it is"
    PUT = "a rules table puts the message on another queue"
    DEAD_LETTER = "the message is put on the dead-letter queue, behind an MQDLH"
    DISCARD = "the message is removed from its queue"
    PUT_BACK = "an undo puts the message back on the queue it was taken from"
    LOAD = "a load puts a message of a file"
    COPY = "a copy of the message is put on another queue"
    REFUSE = "an undo cannot put the message back, and leaves everything as it is"


class Action(StrEnum):
    """The action of a plan's row. Arrow, Spark and JSON see its name as plain text.

    Attributes: `effect` what happens to the message; `puts`, `discards`, `puts_back` and `refused` whether the effect
    is PUT, DISCARD, PUT_BACK or REFUSE; `acts` whether anything is put or discarded at all.
    """

    RETRY = "RETRY", Effect.PUT
    FWD = "FWD", Effect.PUT
    DISCARD = "DISCARD", Effect.DISCARD
    EXPIRE = "EXPIRE", Effect.DISCARD
    """Discard by age: the expiration report that the message asked for is sent in the same unit of work (E15)."""

    DEADLETTER = "DEADLETTER", Effect.DEAD_LETTER
    """A message that loops, and that its backout queue does not take (`mqops.backout.core.guard`)."""
    DISPOSE = "DISPOSE", Effect.DISCARD
    """A message that loops is discarded, because its report options say so (MQRO_DISCARD_MSG)."""

    IGNORE = "IGNORE", Effect.LEAVE
    ERROR = "ERROR", Effect.LEAVE
    """The message has no MQDLH that can be read (D05)."""
    AMBIGUOUS = "AMBIGUOUS", Effect.LEAVE
    """The origin of a backed-out message is ambiguous (`mqops.backout.core.decision`)."""
    PROTECTED = "PROTECTED", Effect.LEAVE
    """The message names a protected queue (`mqops.decide.core.protected`)."""
    STUCK = "STUCK", Effect.LEAVE
    """A message that loops, and neither a backout queue nor a dead-letter queue takes it."""
    GATED = "GATED", Effect.LEAVE
    """A check of the workflow's gate fails (`mqops.decide.core.gate`)."""
    LATER = "LATER", Effect.LEAVE
    """The next try is not due (`mqops.decide.retry_not_due`)."""
    REPLAYED = "REPLAYED", Effect.LEAVE
    SPLIT = "SPLIT", Effect.LEAVE
    INCOMPLETE = "INCOMPLETE", Effect.LEAVE
    BEHIND = "BEHIND", Effect.LEAVE
    """For these four see `mqops.decide.core.message_groups`."""

    RESTORE = "RESTORE", Effect.PUT_BACK
    """An undo puts the copy of a discarded message."""
    RETURN = "RETURN", Effect.PUT_BACK
    """An undo gets a moved message from where it went, and puts its original back."""
    PRESENT = "PRESENT", Effect.LEAVE
    UNDONE = "UNDONE", Effect.LEAVE
    CONSUMED = "CONSUMED", Effect.REFUSE
    HIDDEN = "HIDDEN", Effect.REFUSE
    UNPROVABLE = "UNPROVABLE", Effect.REFUSE
    CONFIRMS = "CONFIRMS", Effect.REFUSE
    EXPIRED = "EXPIRED", Effect.REFUSE
    PARTED = "PARTED", Effect.REFUSE
    """For all from PRESENT on see the rules of `mqops.undo`."""

    LOAD = "LOAD", Effect.LOAD
    LOADED = "LOADED", Effect.LEAVE
    """For these two see the rules of `mqops.message_file`."""

    COPY = "COPY", Effect.COPY
    """The message is browsed, and what was browsed is put on another queue (`mqops.deciders.recover`)."""
    WITHDRAW = "WITHDRAW", Effect.DISCARD
    """An undo takes a copy from where it was put."""
    LAST = "LAST", Effect.REFUSE
    """For these two see rule 12 of `mqops.undo`."""

    __hash__ = str.__hash__  # Enum's own is written in Python, and actions are keys for every message

    effect: Effect
    puts: bool
    discards: bool
    puts_back: bool
    refused: bool
    acts: bool

    def __new__(cls, word: str, effect: Effect = Effect.LEAVE) -> Action:
        """The effects are attributes and not properties: they are asked for every message."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.effect = effect
        member.puts = effect is Effect.PUT
        member.discards = effect is Effect.DISCARD
        member.puts_back = effect is Effect.PUT_BACK
        member.refused = effect is Effect.REFUSE
        member.acts = effect not in {Effect.LEAVE, Effect.REFUSE}
        return member


PUTS = tuple(action for action in Action if action.puts)
"""A rules table puts the message on another queue. Canaries are sent for these: a discarded message does not return."""
SENDS = tuple(
    action for action in Action if action.effect in {Effect.PUT, Effect.DEAD_LETTER, Effect.LOAD, Effect.COPY}
)
"""Somebody chose the queue that the message is put on: it may have no room, or be one that nothing may be put on."""
DISCARDS = tuple(action for action in Action if action.discards)
ACTED = tuple(action for action in Action if action.acts)
"""For words that come from the ledger or stand in Spark's columns."""


def moved_word(actions: Iterable[str]) -> str:
    """What is said of the messages that a plan with these actions has put: the original of a COPY stays on its queue. A
    plan that copies moves nothing."""
    return "copied" if Action.COPY in set(actions) else "moved"


OF_NOBODY = " "
"""`alternate_user` of a message that PUTAUT(CTX) puts while its MQMD.UserIdentifier is blank. No user has this name, so
the put never gets the authority of the user that mqops runs as."""

NO_RULE_FITS = "no MQDLH can be read, so it stays"
"""What is said of ERROR: no rule could see the message. "No rule" would say that the table has none for it."""

GATE = "gate:"
"""How the rule key of rows begins that a check of the gate decides about: `gate:SUITE:CHECK`. They are no replays."""


def is_gate(rule_key: str | None) -> bool:
    """Whether the gate decided, and no rule."""
    return (rule_key or "").startswith(GATE)
