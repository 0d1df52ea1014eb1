"""`mqops backout`: put backed-out messages back where they came from, by a rules table, without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.cli.passes import (
    dry_run_option,
    ending,
    pacing_options,
    read_table,
    rules_option,
    run_once,
    source_of,
    this_user,
    unit_size_option,
    warn,
)
from mqops.cli.run_argument import queue_manager_option
from mqops.deciders.backout import BACKOUT, BackoutQueues, BackoutRequest
from mqops.deciders.decider import NothingToDo

if TYPE_CHECKING:
    from mqops.decide.core.pacing import Pacing
    from mqops.deciders.decider import Selection


@click.group(cls=Group)
def backout() -> None:
    """Process backout queues."""


@backout.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@rules_option
@dry_run_option
@unit_size_option
@pacing_options
@click.option(
    "--replay-cap",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="The largest number of replays of a message.",
)
@click.option(
    "--quarantine",
    default="MQOPS.QUARANTINE",
    show_default=True,
    help="Queue for messages that were replayed --replay-cap times.",
)
@lake_option
@json_option
@known_errors
def run(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    rules_file: IO[bytes],
    dry_run: bool,
    unit_size: int,
    pacing: Pacing,
    replay_cap: int,
    quarantine: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Make one pass over backout QUEUES by a rules table. Without QUEUES: every queue that is the BOQNAME of another.

    The table is that of a dead-letter queue handler, used for messages without an MQDLH. ACTION(RETRY) puts a message
    back on the queue it was backed out from. DESTQ and &ORIGQ are that queue, and REASON is 0. A message whose origin
    is ambiguous stays unless a rule names a queue for it.
    """

    table, text = read_table(rules_file, origins=True)
    what = BackoutRequest(
        connection=connection_to(queue_manager.strip()),
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queues=queues,
        replay_cap=replay_cap,
        quarantine=quarantine,
        unit_size=unit_size,
        pacing=pacing,
        requested_by=this_user(),
        warn=warn,
    )
    try:
        done = run_once(BACKOUT, what, dry_run=dry_run, as_json=as_json)
    except NothingToDo as nothing:
        sys.exit(_show_nothing(nothing.selection, as_json=as_json))
    sys.exit(ending(done))


def _show_nothing(found: Selection, *, as_json: bool) -> ExitCode:
    assert isinstance(found, BackoutQueues)
    code = ExitCode.NO if found.setting.unseen else ExitCode.DONE
    if as_json:
        show_json({"queues": list(found.depths), "planned": 0, "remarks": found.setting.remarks()})
        return code
    for remark in found.setting.remarks():
        show_folded(remark)
    show_folded(f"nothing to do: {', '.join(found.depths) or 'no backout queues'}")
    return code
