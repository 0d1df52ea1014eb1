"""`mqops undo`: put back what a run moved and discarded, without Spark and without a JVM."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.acting import How, acting_options
from mqops.cli.columns import show_folded, show_lines
from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import error_document, show_json
from mqops.cli.passes import (
    discarded_unless_agreed,
    nothing_done,
    show_run_key,
    this_user,
    warn,
    warn_of,
)
from mqops.cli.run_argument import completed_undoable, connection_for, manager_of_run_option, run_argument
from mqops.cli.times import TIMES
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import LakeError, NotLookedAt
from mqops.look.words.in_lines import undo_plan_lines, undo_summary_lines

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.deciders.undo import UndoRequest
    from mqops.lake.run import RunFolder
    from mqops.look.runs import Damaged
    from mqops.look.runs_to_undo import ToUndo
    from mqops.model import RunSummary
    from mqops.mq.connection import MqConnection


@click.command(short_help="Put back what a run moved and discarded.")
@run_argument(required=False, completed=completed_undoable)
@manager_of_run_option
@connecting_options
@click.option(
    "--session", is_flag=True, help="Undo every pass of the handler (`mqops dlq run`) that RUN is one of, newest first."
)
@click.option(
    "--since",
    type=click.DateTime(TIMES),
    help="Instead of RUN: undo every run of the queue manager since this time (UTC), newest first. Needs -m.",
)
@acting_options
def undo(
    *,
    run: str,
    queue_manager: str,
    session: bool,
    since: datetime | None,
    how: How,
) -> None:
    """Put back what RUN (its key in the lake) moved and discarded, with all context and the lifetime that is left.

    The command shows the plan and asks for confirmation. It first finishes an undo of RUN that was interrupted. The
    exit code is 1 if a message cannot be undone: such messages are counted, with the reason, and none is doubled. It is
    1, too, if the estate asks for four eyes: then start the DAG mq_undo, in which another person approves.

    Several runs (--session, --since) are undone one after the other, with a plan and a question each; with --json each
    is one line. What a later run moved again is back by then. Who says no leaves that run, and the next one is planned;
    Ctrl-C ends the command. A run that cannot be read is named and left, and so are the earlier ones that share a queue
    with it. The runs that were left are named at the end, and the exit code is 1.
    """
    to_undo = _runs(run, queue_manager.strip(), how.lake, session=session, since=since)
    runs = [one.run for one in to_undo.runs]
    if len(runs) != 1 and not how.as_json:
        show_folded(f"{counted(len(runs), 'run')} to undo{': ' if runs else ''}{', '.join(one.run for one in runs)}")
    if run and not session:
        undone = _plan(connection_for(runs[0].queue_manager, queue_manager), runs[0], how)
        sys.exit(int(_carry_out(undone, how)))
    sys.exit(int(_undo_each(to_undo, queue_manager, how)))


class _Declined(click.Abort):
    """A person has seen the plan, and said no."""


def _undo_each(to_undo: ToUndo, queue_manager: str, how: How) -> bool:
    """Undo one run after the other; whether something could not be undone, or was left."""
    left = list[str]()
    for damaged in to_undo.damaged:
        _tell(damaged, how)
    try:
        failed = _undo_those_that_can_be(to_undo, queue_manager, how, left)
        left += [f"{one.run}: it cannot be read" for one in to_undo.damaged]
    finally:  # also where an error ends the command
        for text in left:
            warn(f"not undone: {text}")
    return failed or bool(left)


def _undo_those_that_can_be(to_undo: ToUndo, queue_manager: str, how: How, left: list[str]) -> bool:
    """Whether something could not be undone. Parameters: `left` gets the runs that are left, with the reason."""
    failed = False
    for one in to_undo.runs:
        if later := to_undo.left_for(one):
            left.append(f"{one.run.run}: run {later.run} is later, was not undone, and may have moved its messages on")
            continue
        try:
            planned = _plan(connection_for(one.run.queue_manager, queue_manager), one.run, how)
        except NotLookedAt:
            left.append(f"{one.run.run}: the answer was no")
            continue
        except LakeError as error:
            _tell(to_undo.cannot_be_read(one, error), how)
            continue
        try:
            failed |= _carry_out(planned, how)
        except _Declined:
            left.append(f"{one.run.run}: the answer was no")
    return failed


def _tell(damaged: Damaged, how: How) -> None:
    warn(damaged.sentence())
    if how.as_json:
        show_json({"run": damaged.run, **error_document(damaged.error)})


def _runs(key: str, queue_manager: str, lake: Path, *, session: bool, since: datetime | None) -> ToUndo:
    """The runs that are asked for, newest first. Raises `SettingsError`, `LakeError`."""
    from mqops.lake.run import find_run  # noqa: PLC0415
    from mqops.look.runs_to_undo import run_alone, runs_of_session, runs_since  # noqa: PLC0415

    if bool(key) == bool(since) or (session and since):
        raise click.UsageError("Name a run (with --session: all passes of its handler), or a time with --since")
    if since:
        if not queue_manager:
            raise click.UsageError("--since needs the queue manager: name it with -m")
        return runs_since(lake, queue_manager, since)
    found = find_run(lake, key=key, queue_manager=queue_manager, planned=True)
    return runs_of_session(found) if session else run_alone(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The undo of a run, of which nothing was moved yet. Parameters: `finished` earlier undos of the run that were."""

    undone: RunFolder
    request: UndoRequest
    folder: RunFolder
    plan: PlanSummary
    finished: list[RunSummary]


def _plan(connection: MqConnection, undone: RunFolder, how: How) -> _Planned:
    """Finish what earlier undos of a run began, and plan the rest. Raises `NotLookedAt`: the answer is no; `LakeError`:
    a file that is needed cannot be read."""
    from mqops.act.approved_plan import read_approved_plan, refuse_other_queue_manager  # noqa: PLC0415
    from mqops.deciders.run import plan_run  # noqa: PLC0415
    from mqops.deciders.undo import UNDO, UndoRequest, finish_undos  # noqa: PLC0415
    from mqops.mq.connection import connect, one_session  # noqa: PLC0415

    user = this_user()
    request = UndoRequest(
        connection=connection,
        lake=undone.lake_folder.parent,
        undoes=undone,
        unit_size=how.unit_size,
        requested_by=user,
        approved_by=user,
        warn=warn,
        first_tell=how.asks,
    )
    with one_session(connection) as step:
        with connect(step) as session:
            refuse_other_queue_manager(session, read_approved_plan(undone))
        if not how.dry_run:
            refuse_own(UNDO, undone.queue_manager, requester=user, approver=user)
        finished = [] if how.dry_run else finish_undos(step, undone, unit_size=how.unit_size, who=user)
        folder, plan = plan_run(UNDO, replace(request, connection=step))
    return _Planned(undone=undone, request=request, folder=folder, plan=plan, finished=finished)


def _carry_out(planned: _Planned, how: How) -> bool:
    """Show the plan, ask, and carry it out; whether something could not be undone. Raises `_Declined`."""
    from mqops.decide.preflight_record import PREFLIGHT  # noqa: PLC0415
    from mqops.deciders.run import carry_out  # noqa: PLC0415
    from mqops.deciders.undo import UNDO  # noqa: PLC0415

    folder, plan = planned.folder, planned.plan
    refused, put_back = (any(getattr(one, name) for one in plan.actions) for name in ("refused", "acts"))
    more = {"actions": plan.actions, "finished": [one.run for one in planned.finished]}
    if how.as_json and how.dry_run:
        found = PREFLIGHT.find(folder)
        show_json({"plan": plan.to_json(), "preflight": found.to_json() if found else None})
    elif not how.as_json:
        show_lines(undo_plan_lines(planned.undone.run, plan, planned.finished, kept=put_back and not how.dry_run))
    elif not put_back:
        show_json(nothing_done(plan).to_json() | more)
    warn_of(folder)
    if how.dry_run or not put_back:
        folder.discard()  # nothing carries out the plan of an undo but the undo itself
        return refused
    show_run_key(folder)
    with discarded_unless_agreed(folder):
        if not (how.yes or click.confirm("Undo this?")):
            raise _Declined
    summary = carry_out(UNDO, planned.request, folder, plan)
    if how.as_json:
        show_json(summary.to_json() | more)
    else:
        show_lines(undo_summary_lines(summary, told=plan.remarks))
    done = summary.moved + summary.discarded
    return refused or done != sum(count for action, count in plan.actions.items() if action.acts)
