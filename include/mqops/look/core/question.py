"""The question about a plan, its answer, and what became of it, in words: for notes, pages and commands. Pure.

RUN/approval.json has them; `mqops_airflow.approval.answer` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Over(StrEnum):
    """What ended a question that nobody has answered. RUN/approval.json has the word."""

    MARKED_FAILED = "marked failed"
    MARKED_SUCCESS = "marked success"
    MARKED_SKIPPED = "marked skipped"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """What became of the question, as a sentence without its full stop."""
        return _OVER[self]


_OVER: Mapping[Over, str] = {
    Over.MARKED_FAILED: "a person marked the run, or its task approve, as failed in Airflow before anybody answered",
    Over.MARKED_SUCCESS: "a person marked the run, or its task approve, as success in Airflow before anybody answered, "
    "which approves nothing",
    Over.MARKED_SKIPPED: "a person marked the task approve as skipped in Airflow before anybody answered",
    Over.FAILED: "Airflow failed the task approve before it had an answer",
}
COMMENT_LONGEST = 500
"""Characters of a comment to an answer: the ledger has it."""
TIMED_OUT = "nobody answered in time, which counts as Reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question of a DAG run: which run asks, about which plan (`digest`), and `text`: the SHA-256 of its words."""

    dag_id: str
    run_id: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Airflow recorded. `by_id` and `by` are empty where no person answered; `at` is UTC, ISO 8601. `refused` why
    an approval permits nothing, blank where it does. `comment` that the person has given."""

    approved: bool
    by_id: str
    by: str
    at: str
    refused: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and its answer.

    Parameters: `task_instance` the UUID of the task that waits for it; `answer` None while there is none; `cleared` how
    often tasks of the DAG run had been cleared when it was put; `until` when no answer becomes a rejection, ISO 8601
    UTC; `over` why nobody can answer any more, None where a person can, or has.
    """

    question: Question
    task_instance: str
    answer: Answer | None = None
    cleared: int = 0
    until: str = ""
    over: Over | None = None


def became_of(asked: Asked | None) -> str:
    """What became of a question that permits nothing, as a sentence without its full stop.

    Parameters: `asked` None where nobody was asked.

    Returns:
        "" where the plan was approved, the question is open, or nobody was asked.
    """
    answer = asked.answer if asked else None
    if answer is None:
        return asked.over.meaning if asked and asked.over else ""
    if answer.refused:
        return f"the approval by {answer.by or 'nobody'} was refused: {answer.refused}"
    if answer.approved:
        return ""
    why = f": {answer.comment}" if answer.comment else ""
    return f"the plan was rejected by {answer.by}{why}" if answer.by else TIMED_OUT
