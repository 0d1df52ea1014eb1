"""`mqops lake`: what the lake keeps of old runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mqops.cli.columns import show_folded
from mqops.cli.group import Group
from mqops.cli.outcome import json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import this_user
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument, queue_managers_argument
from mqops.clock import utc
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.estate_values import duration, size

if TYPE_CHECKING:
    from mqops.retention.core.due import Due, Policy
    from mqops.retention.prune import Pruned


class _Valued(click.ParamType[Any]):
    """A value as the estate has it: a length of time or a size."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """The value. Raises `click.BadParameter`."""
        try:
            return {"time": duration, "size": size}[self.name](value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


_TIME, _SIZE = _Valued("time"), _Valued("size")


@click.group(cls=Group)
def lake() -> None:
    """The folder of snapshots, plans and ledgers."""


@lake.command()
@queue_managers_argument
@click.option("--snapshots", type=_TIME, help="Remove snapshots (with the bodies of messages) of runs that are older.")
@click.option("--plans", type=_TIME, help="Remove the plans of runs that are older, with what is left of the snapshot.")
@click.option("--runs", type=_TIME, help="Remove runs whole that are older and have moved and discarded nothing.")
@click.option(
    "--most-runs",
    type=click.IntRange(1),
    help="So many runs of each workflow and queue keep their messages, whatever their age.",
)
@click.option("--most-size", type=_SIZE, help="Remove the oldest messages while the lake has more, such as 50G.")
@click.option(
    "--undo", type=_TIME, help="So long a run that moved messages can be undone: it keeps all.  [default: 7d]"
)
@click.option(
    "--newest", type=click.IntRange(1), help="So many runs of each workflow and queue keep all.  [default: 1]"
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@lake_option
@json_option
@known_errors
def prune(
    *,
    queue_managers: tuple[str, ...],
    more: tuple[str, ...],
    snapshots: timedelta | None,
    plans: timedelta | None,
    runs: timedelta | None,
    most_runs: int | None,
    most_size: int | None,
    undo: timedelta | None,
    newest: int | None,
    dry_run: bool,
    lake: Path,
    as_json: bool,
) -> None:
    """Remove what old runs of QMGR no longer need: messages first, then plans. Without a name: of all in the lake.

    Without an option that says what is old, `retention` of the estate counts. The ledger stays, and the records of each
    run that moved or discarded messages. A run that is not over, waits for an answer, does not balance, can still be
    undone, or is needed by an undo keeps all; so does the newest one with all messages of a queue. The ledger says what
    was removed, when, by whom and why. Times are such as 12h or 30d.
    """
    from mqops.lake.run import queue_managers as in_lake  # noqa: PLC0415
    from mqops.retention.core.due import UNDO, Ages, Policy  # noqa: PLC0415
    from mqops.retention.prune import prune as remove  # noqa: PLC0415
    from mqops.retention.prune import survey  # noqa: PLC0415

    given = any(one is not None for one in (snapshots, plans, runs, most_runs, most_size))
    policy = (
        Policy(
            ages=Ages(snapshots=snapshots, plans=plans, runs=runs),
            undo=UNDO if undo is None else undo,
            newest=newest or 1,
            most_runs=most_runs or 0,
            most_bytes=most_size or 0,
        )
        if given
        else _of_estate()
    )
    done = []
    for name in dict.fromkeys((*queue_managers, *more)) or in_lake(lake):
        now = utc()

        def told(due: Due, freed: int, name: str = name) -> None:
            if not as_json:
                what = f"{'would remove' if dry_run else 'removed'} {' and '.join(due.parts)}"
                show_line(f"{name}  {due.run}  {what}, {counted(freed, 'byte')}: {due.why}")

        found = survey(lake, name, policy, now=now)
        done.append(remove(lake, name, found, who=this_user(), now=now, dry_run=dry_run, told=told))
    if as_json:
        show_json({"dry_run": dry_run, "queue_managers": [one.to_json() for one in done]})
        return
    for one in done:
        _show(one, dry_run=dry_run)


@lake.command()
@queue_manager_argument
@click.option(
    "--snapshots",
    is_flag=True,
    help="Make no key: encrypt the data keys of all snapshots by the newest one. No snapshot is written anew.",
)
@click.option("--forget", is_flag=True, help="With --snapshots: then remove the keys before the newest one.")
@click.option(
    "--keys", type=click.Path(dir_okay=False, path_type=Path), help="The file of keys. Default: that of the estate."
)
@lake_option
@json_option
@known_errors
def rekey(
    *, queue_manager: str, named: str, snapshots: bool, forget: bool, keys: Path | None, lake: Path, as_json: bool
) -> None:
    """Make a new key for the bodies of QMGR. It encrypts new snapshots; the earlier ones decrypt what is there.

    The keys are in the file that `bodies` of the estate names, outside the lake; the first key makes it. Back it up
    apart from the lake: without the keys no body can be read, and no run can be undone.
    """
    from mqops.lake.run import folder_of  # noqa: PLC0415
    from mqops.observe.rekey import new_key, rekey_snapshots  # noqa: PLC0415 - loads pyarrow

    queue_manager = one_queue_manager(queue_manager, named)
    if not queue_manager:
        raise click.UsageError("Name the queue manager whose bodies they encrypt")
    if (forget and not snapshots) or (keys and snapshots):
        raise click.UsageError("--forget goes with --snapshots, --keys without it")
    folder = folder_of(lake, queue_manager)
    done = rekey_snapshots(folder, forget=forget) if snapshots else new_key(folder, keys)
    if as_json:
        show_json(done)
        return
    if not snapshots:
        show_line(f"{queue_manager}: key {done.key} encrypts from now on, in {done.keys}")
        return
    show_line(f"{queue_manager}: key {done.key} encrypts the data keys of {counted(done.snapshots, 'more snapshot')}")
    for one in done.forgotten:
        show_line(f"    key {one} was removed from {done.keys}")


def _of_estate() -> Policy:
    from mqops.retention.of_estate import policy_of  # noqa: PLC0415
    from mqops.storage import estate_here  # noqa: PLC0415 - loads the MQ library

    file = estate_here()
    if file is None or file.estate.retention is None:
        raise SettingsError(
            "Nothing says what is old: name at least one of --snapshots, --plans, --runs, --most-runs and --most-size, "
            "or write `retention` into the estate file"
        )
    return policy_of(file.estate.retention)


def _show(found: Pruned, *, dry_run: bool) -> None:
    what = "would be removed" if dry_run else "removed"
    parts = ", ".join(counted(number, part) for part, number in found.parts.items()) or "nothing"
    show_folded(f"{found.queue_manager}: {what}: {parts}; {counted(found.bytes, 'byte')}", indent=4)
    for why, number in found.kept.items():
        show_folded(f"    {counted(number, 'run keeps', 'runs keep')} all: {why}", indent=8)
    if found.in_progress:
        show_folded(
            f"    {counted(found.in_progress, 'run')} passed over: another process has it, or has begun it since"
        )
