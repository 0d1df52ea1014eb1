"""A run on the command line: its key or the beginning of it, completed by the Tab key; and its queue manager."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mqops.cli.outcome import connection_to, default_lake
from mqops.errors import SettingsError
from mqops.mq.connection import VARIABLE, MqConnection
from mqops.run_key import is_run_key

MOST_COMPLETED = 50
"""The newest runs that are offered."""


def completed_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The keys of the lake's newest runs that begin so."""
    return _completed(ctx, incomplete, lambda _run: True)


def completed_undoable(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Those of them that an undo can be of."""
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.prove.records import is_undoable  # noqa: PLC0415

    return _completed(ctx, incomplete, lambda run: is_undoable(RunFolder(run)))


def _completed(ctx: click.Context, incomplete: str, wanted: Callable[[Path], bool]) -> list[CompletionItem]:
    lake = _lake(ctx)
    found = (path for path in lake.glob("*/runs/*") if path.name.startswith(incomplete))
    runs = [path for path in found if is_run_key(path.name) and path.is_dir()]  # a shell is given no other text
    newest = sorted(runs, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    offered = islice(filter(wanted, newest), MOST_COMPLETED)
    return [CompletionItem(path.name, help=path.parent.parent.name) for path in offered]


def completed_queue_managers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The queue managers of the lake whose names begin so."""
    from mqops.estate_values import MQ_NAME  # noqa: PLC0415
    from mqops.lake.run import queue_managers  # noqa: PLC0415

    lake = _lake(ctx)
    return [
        CompletionItem(name) for name in queue_managers(lake) if name.startswith(incomplete) and MQ_NAME.fullmatch(name)
    ]


def _lake(ctx: click.Context) -> Path:
    """The lake of the command that is being written; where the estate cannot say it, one that has nothing to offer."""
    try:
        return Path(ctx.params.get("lake") or os.environ.get("MQOPS_LAKE") or default_lake())
    except click.UsageError:
        return Path(os.devnull)


def run_argument(
    *, required: bool = True, completed: Callable[..., list[CompletionItem]] = completed_runs
) -> Callable[[Any], Any]:
    """The argument RUN. Parameters: `completed` what the Tab key offers."""
    argument = partial(click.argument, "run", shell_complete=completed)
    return argument(required=True) if required else argument(default="")


queue_manager_option = click.option(
    "--queue-manager",
    "-m",
    default="",
    shell_complete=completed_queue_managers,
    help="The queue manager. Default: the default queue manager.",
)


def queue_manager_argument(command: Any) -> Any:
    """The argument QMGR (`queue_manager`), and -m for the same (`named`): give both to `one_queue_manager`."""
    argument = click.argument("queue_manager", metavar="[QMGR]", default="", shell_complete=completed_queue_managers)
    option = click.option(
        "--queue-manager", "-m", "named", default="", shell_complete=completed_queue_managers, help="As QMGR."
    )
    return argument(option(command))


def queue_managers_argument(command: Any) -> Any:
    """The arguments QMGR (`queue_managers`), and -m for the same (`more`)."""
    argument = click.argument("queue_managers", metavar="[QMGR]...", nargs=-1, shell_complete=completed_queue_managers)
    option = click.option(
        "--queue-manager",
        "-m",
        "more",
        multiple=True,
        shell_complete=completed_queue_managers,
        help="As QMGR; may be repeated.",
    )
    return argument(option(command))


manager_of_run_option = click.option(
    "--queue-manager",
    "-m",
    default="",
    shell_complete=completed_queue_managers,
    help="The queue manager of RUN. Needed only if several queue managers have such a run.",
)
snapshot_option = click.option(
    "--snapshot",
    "snapshot",
    metavar="RUN|FOLDER",
    required=True,
    shell_complete=completed_runs,
    help="A run of the lake, by its key or the beginning of it; or the folder of a run or of a snapshot.",
)


def one_queue_manager(argument: str, option: str) -> str:
    """The queue manager that was named, as an argument, by -m, or both the same."""
    argument, option = argument.strip(), option.strip()
    if argument and option and argument != option:
        raise click.UsageError(f"QMGR is {argument}, and -m is {option}: name one queue manager")
    return argument or option


def connection_for(queue_manager_of_run: str, named: str) -> MqConnection:
    """The connection for a run: by -m, by MQOPS_CONNECTION, else a local one to the queue manager of the run.

    Raises:
        SettingsError: MQOPS_CONNECTION is for another queue manager than the one that was named, or not valid.
    """
    if named.strip() or os.environ.get(VARIABLE):
        return connection_to(named.strip())
    return connection_to(queue_manager_of_run)


def snapshot_folder(lake: Path, named: str) -> Path:
    """The folder of a snapshot: the one that was named, else that of the run of the lake.

    Raises:
        SettingsError: there is neither such a folder nor such a run.
    """
    from mqops.lake.run import find_run  # noqa: PLC0415

    folder = Path(named)
    if folder.is_dir():
        return folder
    if not is_run_key(named):
        raise SettingsError(f"There is no folder {named}: name a run's key, a run's folder, or one of Parquet files")
    return find_run(lake, key=named).path
