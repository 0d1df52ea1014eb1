"""`mqops stop` and `mqops resume`: the kill switch of acting, for one run or for a queue manager."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.outcome import json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import show_summary, this_user, unit_size_option
from mqops.cli.run_argument import completed_queue_managers, connection_for, run_argument
from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import SettingsError
from mqops.lake import stop as store

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder

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
@click.option("--why", default="", help="The reason, for people who find the run stopped.")
@lake_option
@json_option
@known_errors
def stop(*, run: str, queue_manager: str, why: str, lake: Path, as_json: bool) -> None:
    """Stop RUN, or all runs of a queue manager, on every machine that shares the lake.

    Every process ends after its current unit of work. Nothing is undone and nothing is lost: the ledger has what was
    done, and the other messages are on their queues. `mqops resume` removes the stop.
    """
    folder, name = _what_to_stop(lake, run, queue_manager)
    stopped = store.stop(folder, store.Stop(by=this_user(), at=utc_now(), why=why))
    if as_json:
        show_json({"stopped": name, **stopped.to_json()})
    else:
        resume_it = command("mqops", "resume", *([folder.name] if run else ["-m", queue_manager.strip()]))
        show_line(f"{name} is stopped {stopped}; to go on: {resume_it}")


@click.command()
@run_argument(required=False)
@_manager_option
@click.option("--finish", is_flag=True, help="Carry out the rest of RUN in this process, and prove it.")
@unit_size_option
@lake_option
@json_option
@known_errors
def resume(*, run: str, queue_manager: str, finish: bool, unit_size: int, lake: Path, as_json: bool) -> None:
    """Remove the stop of `mqops stop`. With --finish, carry out the rest of a run that was begun, each message once.

    A run of Airflow goes on when you clear its task act.
    """
    from mqops.deciders.run import finish_run  # noqa: PLC0415
    from mqops.lake.run import find_run  # noqa: PLC0415

    if finish and not run:
        raise click.UsageError("--finish needs a run")
    folder, name = _what_to_stop(lake, run, queue_manager)
    lifted = store.lift(folder, by=this_user(), at=utc_now())
    if not finish:
        if as_json:
            show_json({"resumed": name, "was_stopped": lifted.to_json() if lifted else None})
        else:
            show_line(f"{name} was stopped {lifted}; it can go on now" if lifted else f"{name} was not stopped")
        return
    found = find_run(lake, key=run, queue_manager=queue_manager.strip())
    connection = connection_for(queue_manager_of(found), queue_manager)
    summary = finish_run(connection, found, unit_size=unit_size, who=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)


def _what_to_stop(lake: Path, run: str, queue_manager: str) -> tuple[Path, str]:
    """The folder whose stop it is, and what it is called.

    Raises:
        SettingsError: there is no such run, or no run of such a queue manager: no process would ever look for the stop.
    """
    from mqops.lake.run import RunFolder, find_run  # noqa: PLC0415

    if run:
        found = find_run(lake, key=run, queue_manager=queue_manager.strip())
        return found.path, f"run {found.run}"
    if not queue_manager.strip():
        raise click.UsageError("Name a run, or a queue manager with --queue-manager")
    folder = RunFolder.at(lake, queue_manager.strip(), "any").lake_folder
    if not folder.is_dir():
        raise SettingsError(f"{lake} has no runs of queue manager {queue_manager.strip()}. Check --lake and the name")
    return folder, f"all acting on {queue_manager.strip()}"


def queue_manager_of(run: RunFolder) -> str:
    """The queue manager whose run it is, as its plan has it."""
    from mqops.lake.files import read_json  # noqa: PLC0415

    return str(read_json(run.plan_json)["queue_manager"])
