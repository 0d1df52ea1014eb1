"""`mqops backout`: put backed-out messages back where they came from, by a rules table, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import (
    dry_run_option,
    handling_options,
    read_table,
    rules_option,
    show_dry_run,
    show_summary,
    source_of,
    tell,
    this_user,
    unit_size_option,
    warn_of,
)

if TYPE_CHECKING:
    from mqops.decide.core.pacing import Handling


@click.group()
def backout() -> None:
    """Deal with backout queues."""


@backout.command()
@click.argument("queues", nargs=-1)
@click.option("--queue-manager", "-m", default="", help="The queue manager; else the default one.")
@rules_option
@dry_run_option
@unit_size_option
@handling_options
@click.option("--replay-cap", type=click.IntRange(1), default=3, show_default=True, help="Most replays of a message.")
@click.option(
    "--quarantine", default="MQOPS.QUARANTINE", show_default=True, help="Queue for what was replayed so often."
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
    handling: Handling,
    replay_cap: int,
    quarantine: str,
    lake: Path,
    as_json: bool,
) -> None:
    """One pass over backout QUEUES (none: every queue that another one names as BOQNAME) with a rules table.

    The table is a dead-letter handler's, for messages without dead-letter header: ACTION(RETRY) puts a message back on
    the queue it was backed out from, DESTQ and &ORIGQ are that queue, REASON is 0. A message whose origin is ambiguous
    stays unless a rule names a queue for it.
    """
    from mqops.deciders.backout import BackoutPass, carry_out, plan_pass  # noqa: PLC0415

    table, text = read_table(rules_file, origins=True)
    what = BackoutPass(
        connection=connection_to(queue_manager.strip()),
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queues=queues,
        replay_cap=replay_cap,
        quarantine=quarantine,
        unit_size=unit_size,
        handling=handling,
        requested_by=this_user(),
        tell=tell,
    )
    found, folder, plan = plan_pass(what)
    if folder is None or plan is None:
        empty = {"queues": list(found.depths), "planned": 0, "remarks": found.setting.remarks()}
        if as_json:
            show_json(empty)
            return
        for remark in found.setting.remarks():
            show_line(remark)
        show_line(f"nothing to do: {', '.join(found.depths) or 'no backout queues'}")
        return
    if dry_run:
        show_dry_run(folder, plan, as_json=as_json)
        return
    refuse_own(plan.queue_manager, what.requested_by, this_user(), workflow="backout_reprocess")
    warn_of(folder)
    summary = carry_out(what, folder, plan)
    show_json(summary.to_json()) if as_json else show_summary(summary)
