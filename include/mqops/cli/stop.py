"""`mqops stop` and `mqops resume`: the kill switch of acting, for one run or for a queue manager."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.exit_code import ExitCode, of_run
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import show_summary, this_user, unit_size_option
from mqops.cli.run_argument import completed_queue_managers, connection_for, run_argument
from mqops.cli.user_option import connecting_options
from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import LakeError, SettingsError
from mqops.lake import stop as store
from mqops.ledger import stop_message
from mqops.ledger.elsewhere import note_taken_off

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder
    from mqops.mq.connection import MqConnection

_manager_option = click.option(
    "--queue-manager",
    "-m",
    default="",
    shell_complete=completed_queue_managers,
    help="The queue manager of RUN. Without RUN: all runs of this queue manager.",
)


@click.command(short_help="Stop a run, or all runs of a queue manager.")
@run_argument(required=False)
@_manager_option
@connecting_options
@click.option("--why", default="", help="The reason, for people who find the run stopped.")
@lake_option
@json_option
@known_errors
def stop(*, run: str, queue_manager: str, why: str, lake: Path, as_json: bool) -> None:
    """Stop RUN on every machine that shares the lake, or all runs on a queue manager, of every lake.

    Every process ends after its current unit of work. Nothing is undone and nothing is lost: the ledger has what was
    done, and the other messages are on their queues. `mqops resume` removes the stop.

    For all runs on a queue manager a message on MQOPS.LEDGER says so, which the runs of every lake look for. If it
    cannot be put, the command says why: then the stop holds for the runs of this lake only. It works on a full disk.
    """
    folder, name, where = _what_to_stop(lake, run, queue_manager)
    what = store.Stop(by=this_user(), at=utc_now(), why=why)
    why_not = "" if where is None else stop_message.stop_all(where, folder, what)
    if why_not and not folder.is_dir():
        raise _unknown(lake, queue_manager)
    try:
        stopped = store.stop(folder, what)
    except LakeError as error:
        if where is None or why_not:
            raise
        stopped = what
        show_line(f"mqops: {error}", err=True)
    if as_json:
        more = {} if where is None else {"every_lake": not why_not, "why_not": why_not}
        show_json({"stopped": name, **stopped.to_json(), **more})
        return
    resume_it = command("mqops", "resume", *([folder.name] if run else ["-m", queue_manager.strip()]))
    show_line(f"{name} is stopped {stopped}; to go on: {resume_it}")
    if why_not:
        show_line(f"it holds for the runs of {lake} only; those of other lakes go on: {why_not}")
    elif where is not None:
        show_line("it holds for the runs of every lake")


@click.command()
@run_argument(required=False)
@_manager_option
@connecting_options
@click.option(
    "--why", default="", help="The reason to take off a stop that no key of this lake signed, as that of another lake."
)
@click.option("--finish", is_flag=True, help="Carry out the rest of RUN in this process, and prove it.")
@unit_size_option
@lake_option
@json_option
@known_errors
def resume(*, run: str, queue_manager: str, why: str, finish: bool, unit_size: int, lake: Path, as_json: bool) -> None:
    """Remove the stop of `mqops stop`. With --finish, carry out the rest of a run that was begun, each message once.

    A run of Airflow goes on when you clear its task act.

    A stop of all runs that this lake did not sign is shown and left, and the exit code is 1. With the reason (--why) it
    is taken off, too, and noted in LAKE/QMGR/ledger/taken_off.jsonl.
    """
    from mqops.deciders.run import finish_run  # noqa: PLC0415
    from mqops.lake.run import find_run  # noqa: PLC0415

    if finish and not run:
        raise click.UsageError("--finish needs a run")
    folder, name, where = _what_to_stop(lake, run, queue_manager)
    for_all = _resumed(where, folder, lake, queue_manager, why.strip()) if where else stop_message.Resumed([], [])
    lifted = store.lift(folder, by=this_user(), at=utc_now())
    if not finish:
        lifted = lifted or (for_all.taken[0].what if for_all.taken else None)
        if as_json:
            left = {"left": [one.what.to_json() for one in for_all.left[: stop_message.MOST]]} if where else {}
            show_json({"resumed": name, "was_stopped": lifted.to_json() if lifted else None, **left})
        elif not for_all.left:
            show_line(f"{name} was stopped {lifted}; it can go on now" if lifted else f"{name} was not stopped")
        for one in stop_message.shown(for_all.left):
            show_line(f"mqops: {name} is stopped still, {one}: --why with the reason takes it off", err=True)
        sys.exit(ExitCode.NO if for_all.left else ExitCode.DONE)
    found = find_run(lake, key=run, queue_manager=queue_manager.strip(), planned=True)
    connection = connection_for(queue_manager_of(found), queue_manager)
    summary = finish_run(connection, found, unit_size=unit_size, who=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)
    sys.exit(of_run(summary))


def _resumed(where: MqConnection, folder: Path, lake: Path, queue_manager: str, why: str) -> stop_message.Resumed:
    """Take the stops for every lake off. Raises `SettingsError`, `LakeError`."""
    found = stop_message.resume_all(where, folder)
    if found.unknown and not folder.is_dir():
        raise _unknown(lake, queue_manager)
    if found.unknown:
        show_line(f"mqops: whether a stop for every lake is on MQOPS.LEDGER is not known: {found.unknown}", err=True)
    if not (why and found.left):
        return found
    note_taken_off(folder, ["stop"], by=this_user(), why=why)
    others = stop_message.resume_all(where, folder, unverified=True)
    return others._replace(taken=[*found.taken, *others.taken])


def _unknown(lake: Path, queue_manager: str) -> SettingsError:
    return SettingsError(f"{lake} has no runs of queue manager {queue_manager.strip()}. Check --lake and the name")


def _what_to_stop(lake: Path, run: str, queue_manager: str) -> tuple[Path, str, MqConnection | None]:
    """The folder whose stop it is, what it is called, and the queue manager whose runs are all meant, else None.

    Raises:
        SettingsError: there is no such run; or MQOPS_CONNECTION is for another queue manager.
    """
    from mqops.lake.run import RunFolder, find_run  # noqa: PLC0415

    if run:
        found = find_run(lake, key=run, queue_manager=queue_manager.strip())
        return found.path, f"run {found.run}", None
    if not queue_manager.strip():
        raise click.UsageError("Name a run, or a queue manager with --queue-manager")
    name = queue_manager.strip()
    return RunFolder.at(lake, name, "any").lake_folder, f"all acting on {name}", connection_to(name)


def queue_manager_of(run: RunFolder) -> str:
    """The queue manager whose run it is, as its plan has it."""
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    return PLAN.read(run).queue_manager
