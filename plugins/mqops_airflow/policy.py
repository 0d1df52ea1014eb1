"""Which way a plan goes after it is made: stop, ask a person, or act. Pure: the estate's policy and the plan decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mqops.actions import ACTED
from mqops.estate import Approval, AutoApprove

Way = Literal["stop", "ask", "act"]
MOVING = ACTED
UNATTENDED = frozenset({"scheduled", "asset_triggered"})  # kinds of runs; every other one may carry a form


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Where to go and why, in words for the log."""

    way: Way
    why: str


def judge(*, messages: Mapping[str, int], approval: Approval, dry_run: bool, by_hand: bool, doubts: int = 0) -> Verdict:
    """The way of a plan.

    Parameters: `messages` action → number of messages; `approval` the estate's policy; `dry_run` what the form says,
    which counts for runs started by hand only (law 2); `by_hand` whether anything but a schedule started the run;
    `doubts` how much the pre-flight of its destinations found that a person has to look at.

    1. A dry run stops, and so does a plan that moves nothing.
    2. A run by hand asks, unless the estate requires no approval.
    3. A scheduled run asks unless no approval is required or the plan is within `auto_approve` and its pre-flight
       leaves no doubts.
    """
    moving = {action: count for action, count in messages.items() if action in MOVING and count}
    total = sum(moving.values())
    if by_hand and dry_run:
        return Verdict(way="stop", why=f"dry run: {total} messages would be moved or discarded, none is")
    if not total:
        return Verdict(way="stop", why="the plan moves nothing")
    if not approval.required:
        return Verdict(way="act", why="the estate requires no approval")
    if by_hand or approval.auto_approve is None:
        return Verdict(way="ask", why=f"{total} messages wait for approval")
    beyond = beyond_policy(moving, approval.auto_approve, doubts)
    if beyond:
        return Verdict(way="ask", why=beyond)
    return Verdict(way="act", why=f"{total} messages, {', '.join(sorted(moving))}: approved by the estate's policy")


def beyond_policy(moving: Mapping[str, int], policy: AutoApprove, doubts: int) -> str:
    """Why a plan needs a person after all, or nothing."""
    others = sorted(set(moving) - set(policy.actions))
    if others:
        return f"{', '.join(others)} is not approved automatically"
    total = sum(moving.values())
    if total > policy.max_messages:
        return f"{total} messages are more than the {policy.max_messages} approved automatically"
    if doubts:
        return f"{total} messages wait for approval: the pre-flight found {doubts} problems"
    return ""
