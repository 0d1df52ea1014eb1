"""Whether a plan may be carried out, and who allowed it: by what the tasks `route` and `approve` of the run have left.

1. The verdict of `route` is `act`: the estate's policy allows the plan that the verdict was on.
2. It is `ask`: `approve` must have noted an approval of that very plan, where four eyes are required by somebody else
   than who started the run.
3. Nothing else allows anything. A task that a person marked as success has noted nothing; a task that is not cleared
   keeps what it noted, on whatever plan that was.

Whoever acts asks here first, each time it starts: tasks can be cleared and marked one by one, in any order.

What tasks note are XComs. Airflow lets those who may edit the XComs of a DAG write them by hand, an approval in another
person's name, too: four eyes hold for people without that right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqops.errors import MqopsError

if TYPE_CHECKING:
    from airflow.sdk import Context

POLICY = "the policy of the estate"
AGAIN = "clear the task approve and what is behind it to ask"


class NotAllowed(MqopsError):
    """Nobody who may has approved this plan; let somebody do so (clear the task approve to ask)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """To carry out one plan, the one with the digest; who asked for it and who approved it, for the ledger."""

    digest: str
    requested_by: str
    approved_by: str


def permission(context: Context, *, four_eyes: bool) -> Permission:
    """The permission that this run has.

    Raises:
        NotAllowed: it has none.
    """
    decision = context["ti"].xcom_pull(task_ids="approve", key="decision")
    return permitted(verdict_of(context), decision, requested_by=requester(context), four_eyes=four_eyes)


def permitted(
    verdict: Mapping[str, Any] | None, decision: Mapping[str, Any] | None, *, requested_by: str, four_eyes: bool
) -> Permission:
    """The permission that a verdict and a decision (None: there is none) make.

    Raises:
        NotAllowed: they make none; the text says why and what to do.
    """
    if verdict is None:
        raise NotAllowed("the task route has no verdict on the plan: clear it and what is behind it")
    digest = verdict["digest"]
    if verdict["way"] == "act":
        return Permission(digest=digest, requested_by=requested_by, approved_by=POLICY)
    if verdict["way"] != "ask":
        raise NotAllowed(f"this run is to move nothing ({verdict['why']}): start another one")
    if decision is None:
        raise NotAllowed(f"nobody has approved plan {digest}: the task approve has no answer; {AGAIN}")
    by = decision["by"]
    if not decision["approved"]:
        raise NotAllowed(f"plan {decision['digest']} was rejected by {by}; {AGAIN} again")
    if decision["digest"] != digest:
        raise NotAllowed(f"{by} approved plan {decision['digest']}, the plan is {digest} now: start a new run to ask")
    if four_eyes and by == requested_by:
        raise NotAllowed(f"{by} started this run; the estate asks for another person's approval: {AGAIN} again")
    return Permission(digest=digest, requested_by=requested_by, approved_by=by)


def verdict_of(context: Context) -> Mapping[str, Any] | None:
    """What `route` found, None where it has found nothing."""
    found: Mapping[str, Any] | None = context["ti"].xcom_pull(task_ids="route", key="verdict")
    return found


def requester(context: Context) -> str:
    """Who started the run: a person's name, else the kind of run."""
    run = context["dag_run"]
    return str(run.triggering_user_name or run.run_type.value)
