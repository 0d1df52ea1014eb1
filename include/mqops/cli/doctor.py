"""`mqops doctor`: one table that says whether a queue manager and this machine have what mqops needs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mqops.cli.columns import show_folded
from mqops.cli.outcome import connection_to, errors_are_usage, json_option, lake_option, show_json, show_line
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import SettingsError

_MARKS = {"holds": "ok", "fails": "FAILS", "unknown": "unknown"}


@click.command()
@queue_manager_argument
@connecting_options
@click.option(
    "--own",
    multiple=True,
    metavar="NAME",
    help="A user or group that mqops works as, besides the connection's user; may be repeated.",
)
@lake_option
@json_option
@errors_are_usage
def doctor(*, queue_manager: str, named: str, own: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Say whether the queue manager and this machine have what mqops needs, and what to do where they do not.

    It looks at the needs of mqops only. `mqops estate status` says what else needs a person: full queues, channels,
    triggers, dead letters, runs.

    Each check holds, fails, or cannot be known. Nothing is changed: queues are opened and inquired, and nothing is put
    but the inquiries on the command queue. Queues with BOTHRESH are browsed for messages that loop, so the queue
    manager discards what has expired there. The estate (MQOPS_ESTATE, else the project's) names the queues that are
    looked at, where it has this queue manager.

    Exit code 0 where nothing fails, 1 where a check fails, 2 for an error.
    """
    from mqops.doctor.check import failed  # noqa: PLC0415
    from mqops.doctor.look import examine  # noqa: PLC0415
    from mqops.storage import estate_here  # noqa: PLC0415

    file = estate_here()
    if file and file.problems:
        raise SettingsError(*file.problems)
    connection = connection_to(one_queue_manager(queue_manager, named))
    name, checks = examine(connection, lake, file, own=frozenset(own))
    bad = failed(checks)
    if as_json:
        show_json({"queue_manager": name, "ok": not bad, "checks": [one.to_json() for one in checks]})
    else:
        for one in checks:
            show_folded(f"{_MARKS[one.state]:8}{one.name:18}{one.what}", indent=26)
            if one.remedy:
                show_folded(f"{'':26}to do: {one.remedy}", indent=33)
        numbers = [sum(one.state == state for one in checks) for state in _MARKS]
        show_line(
            f"{name}: {counted(len(checks), 'check')}: {numbers[0]} hold, {numbers[1]} fail, {numbers[2]} unknown"
        )
        show_folded("these are the needs of mqops only: `mqops estate status` says what else needs a person")
    sys.exit(1 if bad else 0)
