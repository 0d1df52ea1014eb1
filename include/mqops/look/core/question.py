"""What became of the question about a plan, in words: for notes, pages and commands. Pure.

RUN/approval.json has it (`mqops_airflow.approval.answer`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Over(StrEnum):
    """What ended a question that nobody has answered. RUN/approval.json has the word."""

    MARKED_FAILED = "marked failed"
    MARKED_SUCCESS = "marked success"
    MARKED_SKIPPED = "marked skipped"
    FAILED = "failed"


_OVER: Mapping[Over, str] = {
    Over.MARKED_FAILED: "a person marked the run, or its task approve, as failed in Airflow before anybody answered",
    Over.MARKED_SUCCESS: "a person marked the run, or its task approve, as success in Airflow before anybody answered, "
    "which approves nothing",
    Over.MARKED_SKIPPED: "a person marked the task approve as skipped in Airflow before anybody answered",
    Over.FAILED: "Airflow failed the task approve before it had an answer",
}
TIMED_OUT = "nobody answered in time, which counts as Reject"


def became_of(approval: Mapping[str, Any]) -> str:
    """What became of a question that permits nothing, as a sentence without its full stop.

    Parameters: `approval` what RUN/approval.json has, empty where nobody was asked.

    Returns:
        "" where the plan was approved, the question is open, or nobody was asked.
    """
    answer, over = approval.get("answer"), approval.get("over")
    if not answer:
        return _OVER[Over(over)] if over else ""
    if answer.get("refused"):
        return f"the approval by {answer['by'] or 'nobody'} was refused: {answer['refused']}"
    if answer["approved"]:
        return ""
    return f"the plan was rejected by {answer['by']}" if answer["by"] else TIMED_OUT
