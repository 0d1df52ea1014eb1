"""RUN/approval.json: the question that `approve` has put to people, and the answer that Airflow recorded.

1. `approve` writes the question before it waits. An earlier answer ends with that.
2. A person answers through Airflow's API, which records who and when, and starts `approve` again with that record. No
   other task gets it: Airflow shows a task its own records only. `approve` writes it beside the question.
3. `act` reads the file. Whoever may trigger a DAG, or edit XComs, cannot write it: it is a file of the lake.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder

if TYPE_CHECKING:
    from airflow.sdk import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question of a DAG run: which run asks, about which plan (`digest`), and `text`: the SHA-256 of its words."""

    dag_id: str
    run_id: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Airflow recorded. `by_id` and `by` are empty where no person answered; `at` is UTC, ISO 8601."""

    approved: bool
    by_id: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and its answer; None while there is no answer. `task_instance` is the UUID of the task that asked."""

    question: Question
    task_instance: str
    answer: Answer | None = None


def question(context: Context, *, digest: str, subject: str, body: str) -> Question:
    """The question that this DAG run has to ask."""
    run = context["dag_run"]
    text = hashlib.sha256(f"{subject}\n{body}".encode()).hexdigest()
    return Question(dag_id=run.dag_id, run_id=run.run_id, digest=digest, text=text)


def write_question(folder: str, asked: Asked) -> None:
    """Write it in place of the one before. Raises `LakeError`."""
    write_json(RunFolder(Path(folder)).approval_json, asdict(asked))


def read_question(folder: str) -> Asked | None:
    """What was asked and answered last, None if no person was asked. Raises `LakeError`."""
    path = RunFolder(Path(folder)).approval_json
    if not path.exists():
        return None
    value = read_json(path)
    return Asked(
        question=Question(**value["question"]),
        task_instance=value["task_instance"],
        answer=Answer(**value["answer"]) if value["answer"] else None,
    )


def answered(asked: Asked, event: Mapping[str, Any], *, approve: str) -> Asked:
    """`asked` with the record that Airflow resumed the task with.

    Parameters: `approve` the option that means yes.
    """
    user = event["responded_by_user"] or {}
    answer = Answer(
        approved=list(event["chosen_options"]) == [approve],
        by_id=str(user.get("id") or ""),
        by=str(user.get("name") or user.get("id") or ""),
        at=event["responded_at"].isoformat(),
    )
    return replace(asked, answer=answer)
