"""Whether a plan may be carried out, and who allowed it: by the run's files and Airflow's record of the DAG run.

1. The policy is asked again, about RUN/plan.json and RUN/preflight.json. It says `act`: the estate allows the plan.
2. It says `ask`: RUN/approval.json must have an approval by a person (see `approval.answer`), of this DAG run, of
   this plan, and of exactly the text that plan and pre-flight give now. With four eyes another person than the one who
   started the run must have given it.
3. Nothing else allows anything. A task that a person marked as success has recorded nothing; a task that is not cleared
   keeps what it recorded, on whatever plan that was.

Each task that acts asks here first, each time it starts: tasks can be cleared and marked one by one, in any order. No
XCom is
read: Airflow lets those who may trigger a DAG write its XComs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqops.errors import MqopsError
from mqops.look.core.question import COMMENT_LONGEST
from mqops_airflow.approval import answer
from mqops_airflow.approval.four_eyes import same_person
from mqops_airflow.approval.policy import verdict_on
from mqops_airflow.runs.plan_files import compared_in, preflight_in, read_plan, undone_in
from mqops_airflow.runs.requester import requester

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate_workflows import Approval
    from mqops.look.core.question import Asked, Question
    from mqops_airflow.approval.policy import Verdict

POLICY = "the policy of the estate"
AGAIN = "clear the task approve and what is behind it to ask"


class NotAllowed(MqopsError):
    """No person who may approve this plan has approved it; clear the task approve to ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """To carry out one plan, the one with the digest; for the ledger who asked for it, who approved it, and the comment
    of the latter."""

    digest: str
    requested_by: str
    approved_by: str
    comment: str = ""

    @property
    def about(self) -> dict[str, str]:
        """What the ledger says of it."""
        people = {"requested_by": self.requested_by, "approved_by": self.approved_by}
        return people | ({"comment": self.comment} if self.comment else {})


def permission(context: Context, folder: str, approval: Approval) -> Permission:
    """The permission that this run has.

    Parameters: `folder` the run's; `approval` the estate's policy.

    Raises:
        LakeError: a file of the run cannot be read.
        NotAllowed: it has none.
    """
    from mqops_airflow.approval import plan_text  # noqa: PLC0415

    plan, found = read_plan(folder), preflight_in(folder)
    subject, body = plan_text.question(plan, found, context, compared_in(folder), undone_in(folder, plan))
    return permitted(
        verdict_on(plan, found, approval=approval, context=context),
        answer.question(context, digest=plan.digest, subject=subject, body=body),
        answer.read_question(folder),
        requested_by=requester(context),
        four_eyes=approval.four_eyes,
    )


def permitted(
    verdict: Verdict, question: Question, asked: Asked | None, *, requested_by: str, four_eyes: bool
) -> Permission:
    """The permission that a policy's verdict and an answer make.

    Parameters: `question` what is to be asked now; `asked` what was asked and answered, None if no person was asked.

    Raises:
        NotAllowed: they make none; the text says why and what to do.
    """
    digest = question.digest
    if verdict.way == "act":
        return Permission(digest=digest, requested_by=requested_by, approved_by=POLICY)
    if verdict.way != "ask":
        raise NotAllowed(f"this run must not move anything ({verdict.why}): start a new run")
    if asked is None or asked.answer is None:
        raise NotAllowed(f"nobody has approved plan {digest}: the task approve has no answer; {AGAIN}")
    by = asked.answer.by
    must_be_of(question, asked.question, by)
    if not asked.answer.approved:
        raise NotAllowed(f"plan {digest} was rejected by {by or 'the time-out'}; {AGAIN} again")
    if not by:
        raise NotAllowed(f"Airflow does not say who approved plan {digest}; {AGAIN} again")
    if four_eyes and (same_person(by, requested_by) or same_person(asked.answer.by_id, requested_by)):
        raise NotAllowed(f"{by} started this run; the estate asks for another person's approval: {AGAIN} again")
    comment = asked.answer.comment
    if len(comment) > COMMENT_LONGEST:
        raise NotAllowed(f"the comment of {by} has more than {COMMENT_LONGEST} characters; {AGAIN} again")
    if any(ord(one) < ord(" ") and not one.isspace() for one in comment):
        raise NotAllowed(f"the comment of {by} has a control character; {AGAIN} again")
    return Permission(digest=digest, requested_by=requested_by, approved_by=by, comment=comment)


def must_be_of(now: Question, then: Question, by: str) -> None:
    """Refuse an answer to another question than the one that is to be asked now. Raises `NotAllowed`."""
    if (then.dag_id, then.run_id) != (now.dag_id, now.run_id):
        raise NotAllowed(f"the approval in this run's folder is of run {then.run_id} of {then.dag_id}: start a new run")
    if then.digest != now.digest:
        raise NotAllowed(
            f"{by} answered about plan {then.digest}, the plan is {now.digest} now: start a new run to ask"
        )
    if then.text != now.text:
        raise NotAllowed(
            f"{by} saw a text about plan {now.digest} that is another one now: the files of the plan were changed, or "
            "mqops was updated since. Start a new run to ask"
        )
