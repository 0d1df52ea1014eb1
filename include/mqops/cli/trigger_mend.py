"""`mqops trigger explain --fix`: the commands that mend a queue's triggering, shown, approved, run and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.as_json import JsonObject
from mqops.cli.columns import show_command, show_folded
from mqops.cli.four_eyes import refuse_own_commands
from mqops.cli.outcome import show_line
from mqops.cli.passes import this_user
from mqops.command import command
from mqops.counted import counted
from mqops.errors import PlanChanged

if TYPE_CHECKING:
    from mqops.mq.session import Session
    from mqops.trigger.mend import MendingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending:
    """How --fix was asked for.

    Parameters: `program` APPLICID of a process that has to be defined; `digest` of the plan that is approved, "" if the
    command is to ask; `yes` not to ask.
    """

    lake: Path
    dry_run: bool
    yes: bool
    program: str
    digest: str


def mend(session: Session, plan: MendingPlan, how: Mending, *, as_json: bool) -> JsonObject:
    """Show the plan and carry it out where it is approved.

    Returns what --json adds: `plan`, and `carry_out` (the command for the approver) or `after` (the explanation after
    the commands).

    Raises:
        click.Abort: the answer is no. Nothing was changed.
        NotApproved: the estate asks for four eyes. Nothing was changed.
        PlanChanged: the plan is not the approved one. Nothing was changed.
        MqopsError: as `run_plan`.
    """
    from mqops.trigger.mend import run_plan  # noqa: PLC0415
    from mqops.trigger.record import ChangeRecord  # noqa: PLC0415

    document: JsonObject = {"plan": plan.to_json()}
    if how.digest and how.digest != plan.digest:
        raise PlanChanged(f"{plan.queue} is mended by plan {plan.digest} now: nothing was changed. Look again")
    if not as_json:
        _show_plan(plan)
    if not plan.changes or (how.dry_run and plan.refused):
        return document
    record, user = ChangeRecord(how.lake, plan.queue_manager), this_user()
    if how.dry_run:
        record.add("asked", by=user, plan=plan.digest, queue=plan.queue, commands=[one.mqsc for one in plan.changes])
        return document | {"carry_out": _carry_out_command(plan, how, as_json=as_json)}
    requester = (record.asked_by(plan.digest) if how.digest else "") or user
    refuse_own_commands(plan.queue_manager, requester=requester, approver=user)
    if not (how.digest or how.yes or plan.refused or click.confirm("Run these commands?")):
        raise click.Abort
    after = run_plan(session, plan, record, requested_by=requester, approved_by=user, program=how.program)
    if not as_json:
        show_folded(f"{counted(len(plan.changes), 'command')} done; the record is in {record.path}")
        show_folded(after.verdict)
    return document | {"after": after.to_json()}


def _show_plan(plan: MendingPlan) -> None:
    if not plan.changes:
        show_line("There is no command to run")
        return
    show_line(f"plan {plan.digest}:")
    for change in plan.changes:
        show_line(f"  {change.mqsc}")
        if change.warning:
            show_line(f"      warning: {change.warning}")
        if refusal := change.refusal():
            show_line(f"      refused: {refusal}")


def _carry_out_command(plan: MendingPlan, how: Mending, *, as_json: bool) -> str:
    words = ["mqops", "trigger", "explain", plan.queue, plan.queue_manager, "--fix", "--approve", plan.digest]
    words += ["--applicid", how.program] if how.program else []
    line = command(*words, "--lake", how.lake.resolve())
    if not as_json:
        show_line("to carry it out as it stands:")
        show_command(line)
        show_line("dry run: nothing was changed")
    return line
