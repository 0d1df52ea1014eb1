"""The states of a run, and what is said of each: the one place for these words. Pure.

The rules by which a run has a state stand in `mqops.look.core.run_state`.
"""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """The state of a run. JSON has the word.

    Attributes: `meaning` what it means, in words; `beside` the same where the word stands beside it and is not said
    twice; `kind` the colour of the word on a page.
    """

    DONE = "done", "carried out and proved: it balances", "proved: it balances", "good"
    UNBALANCED = (
        "unbalanced",
        "carried out, and the proof does not balance: find the cause before anything else is done",
        "find the cause before anything else is done",
        "bad",
    )
    UNFINISHED = "unfinished", "proved, and some messages of the plan are not dealt with yet: it can go on", "", "warn"
    STOPPED = (
        "stopped",
        "stopped by a person: what was done is in the ledger, the rest is where it was",
        "by a person: what was done is in the ledger, the rest is where it was",
        "bad",
    )
    BEGUN = (
        "begun",
        "begun and not proved: a process is at work on it, or ended too early",
        "not proved: a process is at work on it, or ended too early",
        "note",
    )
    APPROVED = (
        "approved",
        "approved, and not begun yet: nothing was moved",
        "not begun yet: nothing was moved",
        "good",
    )
    WAITING = "waiting", "waits for an approval: nothing was moved", "for an approval: nothing was moved", "warn"
    REJECTED = "rejected", "rejected: nothing was moved", "nothing was moved", "bad"
    REFUSED = (
        "refused",
        "the approval was refused: nothing was moved",
        "it permits nothing: nothing was moved",
        "bad",
    )
    UNANSWERED = "unanswered", "its question ended without an answer: nothing was moved", "", "warn"
    PLANNED = "planned", "planned only: nothing was moved", "nothing was moved", "quiet"
    OBSERVED = "observed", "a snapshot only: nothing was planned", "", "quiet"
    CHECKED = "checked", "the messages of its snapshot were checked", "", "good"
    FAILED = (
        "failed",
        "its messages do not pass the critical checks, or queues could not be looked at",
        "",
        "bad",
    )
    SCANNED = "scanned", "a scan for expired messages", "", "quiet"
    INCOMPLETE = "incomplete", "no snapshot was finished: the run ended too early, or it has just begun", "", "warn"

    meaning: str
    beside: str
    kind: str

    def __new__(cls, word: str, meaning: str = "", beside: str = "", kind: str = "quiet") -> RunState:
        """The words are attributes, so that no table beside the states can forget one."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        member.beside = beside or meaning
        member.kind = kind
        return member
