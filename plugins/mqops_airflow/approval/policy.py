"""Which way a plan goes after it is made: stop, ask a person, or act. Pure: the estate's policy and the plan decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mqops.actions import ACTED, Action
from mqops.counted import counted
from mqops.estate_workflows import Approval, AutoApprove
from mqops.trigger.core.trigger_message import CONF_KEY

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.decide.core import PlanSummary
    from mqops.decide.core.preflight import Preflight

Way = Literal["stop", "ask", "act"]
NOT_LOOKED = "the destinations were not looked at"
OPERATOR_TRIGGERED = "operator_triggered"
UNATTENDED = frozenset({"scheduled", "asset_triggered"})
"""Kinds of runs that carry no form. See `unattended` for the one other kind that may carry none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Where to go and why, in words for the log."""

    way: Way
    why: str


def verdict_on(plan: PlanSummary, found: Preflight | None, *, approval: Approval, context: Context) -> Verdict:
    """The way of a run's plan. `route` asks, and `act` asks again: it does not use an earlier answer.

    Parameters: `found` the pre-flight; None, or that of another plan, counts as one doubt. Kind of run and form come
    from Airflow's record of the DAG run, which cannot be edited after the start.
    """
    from mqops.decide.core.staying import staying  # noqa: PLC0415
    from mqops.deciders.registry import asks_by_hand, not_chosen  # noqa: PLC0415

    looked_at = found is not None and found.plan == plan.digest
    return judge(
        messages=plan.actions,
        approval=approval,
        dry_run=bool(context["params"]["dry_run"]),
        by_hand=not unattended(context["dag_run"]),
        doubts=[one.text for one in found.doubts] if found is not None and looked_at else [NOT_LOOKED],
        stay=staying(found, plan.digest).messages,
        others=not_chosen(plan.workflow, plan.actions),
        asks_by_hand=asks_by_hand(plan.workflow),
    )


def unattended(run: Any) -> bool:
    """Whether no form came with a DAG run: a schedule started it, or the trigger monitor with nothing but its message.

    A task of another DAG can start a run, too. If the run's conf names no value of the form, the form is the estate's.
    """
    kind = getattr(run.run_type, "value", run.run_type)
    return kind in UNATTENDED or (kind == OPERATOR_TRIGGERED and set(run.conf or ()) == {CONF_KEY})


def judge(
    *,
    messages: Mapping[Action, int],
    approval: Approval,
    dry_run: bool,
    by_hand: bool,
    doubts: Sequence[str] = (),
    stay: int = 0,
    others: int = 0,
    asks_by_hand: bool = True,
) -> Verdict:
    """The way of a plan.

    Parameters: `messages` action → number of messages; `approval` the estate's policy; `dry_run` what the form says,
    which counts for runs started by hand only (law 2); `by_hand` whether anything but a schedule started the run;
    `doubts` what the pre-flight of its destinations found that a person has to look at, the worst first, and `stay` the
    messages that these did not take (`mqops.decide.core.staying`); `others` messages that nobody has chosen;
    `asks_by_hand` whether rule 2 holds: not for a workflow whose form chooses no destination
    (`mqops.deciders.decider.Decider`).

    1. A dry run stops, and so does a plan that moves nothing.
    2. A run by hand always asks: its form may name any queue and any table of the estate.
    3. Any other run asks unless no approval is required or the plan is within `auto_approve` and its pre-flight
       leaves no doubts.
    """
    moving = {action: count for action, count in messages.items() if action in ACTED and count}
    total = sum(moving.values())
    number = counted(total, "message")
    if by_hand and dry_run:
        found = f"; {_found(doubts)}" if doubts and total else ""
        return Verdict(way="stop", why=f"dry run: {_would(messages, total, stay, others)}; nothing was done{found}")
    if not total:
        return Verdict(way="stop", why="the plan moves nothing")
    always = by_hand and asks_by_hand
    if not approval.required and not always:
        runs = "this workflow's runs" if by_hand else "scheduled runs"
        return Verdict(way="act", why=f"the estate requires no approval of {runs}")
    if always or approval.auto_approve is None:
        return Verdict(way="ask", why=f"{counted(total, 'message waits', 'messages wait')} for approval")
    beyond = beyond_policy(moving, approval.auto_approve, len(doubts))
    if beyond:
        return Verdict(way="ask", why=beyond)
    return Verdict(way="act", why=f"{number}, {', '.join(sorted(moving))}: approved by the estate's policy")


def _would(messages: Mapping[Action, int], total: int, stay: int, others: int) -> str:
    """What a plan would do, in words. Parameters: `total` of the messages that it acts on; the others as of `judge`."""
    planned, does = [Action(action) for action in messages], total - stay
    because = "its destination does not take it now" if stay == 1 else "their destinations do not take them now"
    if not any(action.puts_back or action.refused or action in _OF_UNDO for action in planned):
        left = f", {stay:,} would stay, because {because}" if stay else ""
        leaves = sum(messages.values()) - total - others
        left += f", and the plan leaves {leaves:,}" if leaves else ""
        done = "copied" if Action.COPY in planned else "moved or discarded"
        return f"{counted(does, 'message')} would be {done}{left}"
    copies = messages.get(Action.WITHDRAW, 0)  # an undo
    taken = [f"{counted(copies, 'copy', 'copies')} would be taken away"] if copies else []
    back = [f"{counted(does - copies, 'message')} would be put back"] if does > copies or not copies else []
    back += [f"{stay:,} would not be put back, because {because}"] if stay else []
    return ", ".join(back + taken)


_OF_UNDO = frozenset({Action.WITHDRAW, Action.PRESENT, Action.UNDONE})
"""Actions that only an undo plans, besides those that put back and those that refuse."""


def _found(doubts: Sequence[str]) -> str:
    """What the pre-flight found: the worst of it in words, so that nobody has to look for it elsewhere."""
    number = counted(len(doubts), "problem")
    if len(doubts) == 1:
        return f"the pre-flight found {number}: {doubts[0]}"
    return f"the pre-flight found {number}, which the plan has; the worst: {doubts[0]}"


def beyond_policy(moving: Mapping[Action, int], policy: AutoApprove, doubts: int) -> str:
    """Why a plan needs a person after all, or nothing."""
    others = sorted(set(moving) - set(policy.actions))
    if others:
        return f"{', '.join(others)} is not approved automatically"
    total = sum(moving.values())
    if total > policy.max_messages:
        return f"{counted(total, 'message')}: more than the {policy.max_messages:,} approved automatically"
    if doubts:
        waiting = counted(total, "message waits", "messages wait")
        return f"{waiting} for approval: the pre-flight found {counted(doubts, 'problem')}"
    return ""
