"""The states of a run, and what is said of each: the one place for these words. Pure.

The rules by which a run has a state stand in `mqops.look.core.run_state`.
"""

from __future__ import annotations

from enum import StrEnum

AT_WORK = "at work"
"""The word for a run that Airflow is at work on."""


class RunState(StrEnum):
    """The state of a run. JSON has the word.

    Attributes: `kind` the colour of the word on a page; `meaning` what it means, in words; `beside` the same where the
    word stands beside it and is not said twice: what is behind the stroke.
    """

    DONE = "done", "good", "carried out and |proved: it balances"
    UNBALANCED = (
        "unbalanced",
        "bad",
        "carried out, and the proof does not balance: |find the cause before anything else is done",
    )
    UNFINISHED = "unfinished", "warn", "proved, and some messages of the plan are not dealt with yet: it can go on"
    STOPPED = "stopped", "bad", "stopped |by a person: what was done is in the ledger, the rest is where it was"
    BEGUN = "begun", "note", "begun and |not proved: a process is at work on it, or ended too early"
    APPROVED = "approved", "good", "approved, and |not begun yet: nothing was moved"
    WAITING = "waiting", "warn", "waits |for an approval: nothing was moved"
    REJECTED = "rejected", "bad", "rejected: |nothing was moved"
    REFUSED = "refused", "bad", "the approval was refused: nothing was moved", "it permits nothing: nothing was moved"
    UNANSWERED = "unanswered", "warn", "its question ended without an answer: nothing was moved"
    PLANNED = "planned", "quiet", "planned only: |nothing was moved"
    OBSERVED = "observed", "quiet", "a snapshot only: nothing was planned"
    CHECKED = "checked", "good", "the messages of its snapshot were checked"
    FAILED = "failed", "bad", "its messages do not pass the critical checks, or queues could not be looked at"
    SCANNED = "scanned", "quiet", "a scan for expired messages"
    INCOMPLETE = "incomplete", "warn", "no snapshot was finished: the run ended too early, or it has just begun"

    kind: str
    meaning: str
    beside: str

    def __new__(cls, word: str, kind: str = "quiet", words: str = "", beside: str = "") -> RunState:
        """The words are attributes, so that no table beside the states can forget one."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.kind, member.meaning = kind, words.replace("|", "")
        member.beside = beside or words.rpartition("|")[2]
        return member


NOT_CARRIED_OUT = frozenset({RunState.PLANNED, RunState.WAITING})
"""States of a run of whose plan is told what it would do: a dry run, and one that waits for its approval."""
