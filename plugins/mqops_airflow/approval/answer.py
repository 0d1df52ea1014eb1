"""RUN/approval.json: the question that `approve` has put to people, and the answer that Airflow recorded.

1. `approve` puts the question to Airflow, which forgets an earlier answer with that, and writes the file before it
   waits. So a file without an answer means: what Airflow has recorded since is the answer to this question.
2. A person answers through Airflow's API, which records who and when, and starts `approve` again with that record. No
   other task gets it: Airflow shows a task its own records only. `approve` writes it beside the question.
3. `act` reads the file. Whoever may trigger a DAG, or edit XComs, cannot write it: it is a file of the lake.
4. Airflow can fail `approve` though a person has answered (`approval.recorded_answer`), and tries it again: that
   try goes on with the question that the file has. Where a person has cleared a task of the run meanwhile (`cleared`),
   it asks anew.
5. A question that nobody can answer any more says why (`over`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.lake.run import RunFolder
from mqops.look.core.question import Answer, Asked, Over, Question
from mqops.look.run_row import APPROVAL

if TYPE_CHECKING:
    from airflow.providers.standard.triggers.hitl import HITLTriggerEventSuccessPayload
    from airflow.sdk import Context

    from mqops_airflow.airflow_private.task import HITLUser


def question(context: Context, *, digest: str, subject: str, body: str) -> Question:
    """The question that this DAG run has to ask."""
    run = context["dag_run"]
    text = hashlib.sha256(f"{subject}\n{body}".encode()).hexdigest()
    return Question(dag_id=run.dag_id, run_id=run.run_id, digest=digest, text=text)


def write_question(folder: str, asked: Asked) -> None:
    """Write it in place of the one before. Raises `LakeError`."""
    APPROVAL.write(RunFolder(Path(folder)), asked)


def read_question(folder: str) -> Asked | None:
    """What was asked and answered last, None if no person was asked. Raises `LakeError`."""
    return APPROVAL.find(RunFolder(Path(folder)))


def end_question(folder: str, over: Over) -> None:
    """Note that nobody can answer any more; nothing where somebody has, or nobody was asked. Raises `LakeError`."""
    asked = read_question(folder)
    if asked is not None and asked.answer is None and asked.over is None:
        write_question(folder, replace(asked, over=over))


COMMENT = "comment"
"""The field of the question in Airflow that takes a comment."""


def comment_in(given: Mapping[str, object] | None) -> str:
    """The comment of an answer, in one line. Parameters: `given` field of the question → value."""
    return " ".join(str((given or {}).get(COMMENT) or "").split())


def answered(
    asked: Asked, user: HITLUser | None, *, approved: bool, at: datetime, given: Mapping[str, object] | None = None
) -> Asked:
    """`asked` with what Airflow recorded. Parameters: `user` None where no person has answered; `given` as of
    `comment_in`."""
    by_id, by = (user["id"] or "", user["name"] or user["id"] or "") if user else ("", "")
    comment = comment_in(given) if by else ""
    found = Answer(approved=approved, by_id=by_id, by=by, at=at.isoformat(), comment=comment)
    return replace(asked, answer=found, over=None)


def event_of(answer: Answer, chosen: str) -> HITLTriggerEventSuccessPayload:
    """The record with which Airflow would resume the task that asked. Parameters: `chosen` its option."""
    return {
        "chosen_options": [chosen],
        "params_input": {},
        "responded_at": datetime.fromisoformat(answer.at),
        "responded_by_user": {"id": answer.by_id, "name": answer.by} if answer.by_id or answer.by else None,
    }
