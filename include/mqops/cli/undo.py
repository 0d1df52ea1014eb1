"""`mqops undo`: put back what a run moved and discarded, without Spark and without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import dry_run_option, this_user, unit_size_option, warn_of
from mqops.decide.core import PlanSummary
from mqops.model import RunSummary
from mqops.undo.core.decision import REFUSED

MEANING = {
    "RESTORE": "discarded: put again from the copy",
    "RETURN": "moved: taken from where it went, and put back",
    "PRESENT": "on its queue already",
    "UNDONE": "put back by an earlier undo",
    "CONSUMED": "refused: no longer where it went",
    "HIDDEN": "refused: a unit of work, or a queue that cannot be read, may have it; try again when that has ended",
    "UNPROVABLE": "refused: it went where nobody can look",
    "CONFIRMS": "refused: taking it would confirm its delivery to the sender",
    "EXPIRED": "refused: its lifetime is over",
    "PARTED": "refused: others of its MQ group cannot be put back",
}


@click.command()
@click.argument("run")
@click.option("--queue-manager", "-m", default="", help="The run's queue manager; else the default one.")
@dry_run_option
@click.option("--yes", "-y", is_flag=True, help="Act without asking.")
@unit_size_option
@lake_option
@json_option
@known_errors
def undo(*, run: str, queue_manager: str, dry_run: bool, yes: bool, unit_size: int, lake: Path, as_json: bool) -> None:
    """Put back what RUN (its key in the lake) moved and discarded, with all context and the lifetime that is left.

    The plan is shown and asked about first. An undo that was begun and broken off is finished before a new one is
    planned. Exit code 1 where something cannot be undone: it is counted, with the reason, and nothing is doubled; and
    where the estate asks for four eyes: then the DAG mq_undo does it, where another person approves.
    """
    from mqops.decide.preflight_record import kept  # noqa: PLC0415
    from mqops.deciders.dead_letters import new_run_key  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.prove.prove import prove  # noqa: PLC0415
    from mqops.undo.in_process import carry_out, find_run, finish, plan_undo  # noqa: PLC0415

    if as_json and not (dry_run or yes):
        raise click.UsageError("--json asks nothing: give --dry-run or --yes with it")
    connection = connection_to(queue_manager.strip())
    with connect(connection) as session:
        name = queue_manager_name(session)
    undone = find_run(lake, name, run)
    user = this_user()
    if not dry_run:
        refuse_own(name, user, user, workflow="undo")
    finished = [] if dry_run else finish(connection, undone, unit_size=unit_size, who=user)
    folder = RunFolder.at(lake, name, new_run_key().replace("cli-", "undo-", 1))
    plan = plan_undo(connection, undone, folder)
    refused = any(action in REFUSED for action in plan.actions)
    if as_json and dry_run:
        found = kept(folder)
        show_json({"run": str(folder.path), "plan": plan.to_json(), "preflight": found.to_json() if found else None})
    elif not as_json:
        _show_plan(run, plan, finished)
    warn_of(folder)
    if dry_run:
        sys.exit(int(refused))
    if not (yes or click.confirm("Undo this?")):
        raise click.Abort
    about = {"requested_by": user, "approved_by": user}
    carry_out(connection, folder, approved=plan.digest, unit_size=unit_size, about=about)
    summary = prove(connection, folder)
    undo_failed = refused or summary.moved != sum(plan.actions.get(action, 0) for action in ("RESTORE", "RETURN"))
    if as_json:
        told = {"actions": plan.actions, "finished": [one.run for one in finished]}
        show_json(summary.to_json() | told)
    else:
        _show_summary(summary, told=plan.remarks)
    sys.exit(int(undo_failed))


def _show_plan(run: str, plan: PlanSummary, finished: list[RunSummary]) -> None:
    for one in finished:
        show_line(f"undo {one.run} was begun before and is finished now: {one.moved} put back")
    show_line(f"{run} acted on {plan.rows} messages; undo {plan.run}, plan {plan.digest}")
    for action, meaning in MEANING.items():
        if plan.actions.get(action):
            show_line(f"{plan.actions[action]:8}  {action}: {meaning}")
    for remark in plan.remarks:
        show_line(remark)


def _show_summary(summary: RunSummary, *, told: Sequence[str]) -> None:
    for reason, count in summary.reasons.items():
        show_line(f"{count:8}  could not be put: {reason}")
    for remark in summary.remarks:
        if remark not in told:
            show_line(remark)
    show_line(
        f"{summary.planned} planned = {summary.moved} put back + {summary.left} left + {summary.gone} gone: balances"
    )
