"""`mqops stop` and `mqops resume`: the kill switch of acting, for one run or for a queue manager."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import show_summary, this_user, unit_size_option
from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import SettingsError
from mqops.lake import stop as store

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder

_manager_option = click.option("--queue-manager", "-m", default="", help="Its queue manager; alone: all its runs.")


@click.command()
@click.argument("run", default="")
@_manager_option
@click.option("--why", default="", help="For those who find it stopped.")
@lake_option
@json_option
@known_errors
def stop(*, run: str, queue_manager: str, why: str, lake: Path, as_json: bool) -> None:
    """Stop acting on RUN, or on everything of a queue manager, on every machine that shares the lake.

    Every process ends after the unit of work that it is in. Nothing is undone and nothing is lost: what was done is in
    the ledger, the rest is where it was. `mqops resume` takes the stop back.
    """
    folder, name = _place(lake, run, queue_manager)
    stopped = store.stop(folder, store.Stop(by=this_user(), at=utc_now(), why=why))
    if as_json:
        show_json({"stopped": name, **stopped.to_json()})
    else:
        resume_it = command("mqops", "resume", *([run] if run else ["-m", queue_manager.strip()]))
        show_line(f"{name} is stopped {stopped}; to go on: {resume_it}")


@click.command()
@click.argument("run", default="")
@_manager_option
@click.option("--finish", is_flag=True, help="Act on the rest of RUN here and now, and prove it.")
@unit_size_option
@lake_option
@json_option
@known_errors
def resume(*, run: str, queue_manager: str, finish: bool, unit_size: int, lake: Path, as_json: bool) -> None:
    """Take back what `mqops stop` did. With --finish, deal with the rest of a run that was begun, each message once.

    A run of Airflow goes on when its task act is cleared.
    """
    from mqops.deciders import stop as workflow  # noqa: PLC0415

    if finish and not run:
        raise click.UsageError("--finish needs a run")
    folder, name = _place(lake, run, queue_manager)
    lifted = store.lift(folder)
    if not finish:
        if as_json:
            show_json({"resumed": name, "was_stopped": lifted.to_json() if lifted else None})
        else:
            show_line(f"{name} was stopped {lifted}; it may go on" if lifted else f"{name} was not stopped")
        return
    found = workflow.find_run(lake, run, queue_manager)
    summary = workflow.finish(connection_to(queue_manager_of(found)), found, unit_size=unit_size, who=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)


def _place(lake: Path, run: str, queue_manager: str) -> tuple[Path, str]:
    """The folder whose stop it is, and what it is called.

    Raises:
        SettingsError: there is no such run, or no run of such a queue manager: nobody would ever look for the stop.
    """
    from mqops.deciders.stop import find_run  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415

    if run:
        return find_run(lake, run, queue_manager.strip()).path, f"run {run}"
    if not queue_manager.strip():
        raise click.UsageError("Name a run, or a queue manager with --queue-manager")
    folder = RunFolder.at(lake, queue_manager.strip(), "any").lake_folder
    if not folder.is_dir():
        raise SettingsError(f"{lake} has nothing of queue manager {queue_manager.strip()}: is it the lake of its runs?")
    return folder, f"all acting on {queue_manager.strip()}"


def queue_manager_of(run: RunFolder) -> str:
    """The queue manager whose run it is, as its plan has it."""
    from mqops.lake.files import read_json  # noqa: PLC0415

    return str(read_json(run.plan_json)["queue_manager"])
