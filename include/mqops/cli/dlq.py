"""`mqops dlq`: the dead-letter queue handler on the command line, without Spark and without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.anatomy import anatomy
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.cli.passes import (
    dry_run_option,
    handling_options,
    read_table,
    rules_option,
    show_dry_run,
    show_summary,
    source_of,
    strict_option,
    this_user,
    unit_size_option,
    warn_of,
)

if TYPE_CHECKING:
    from mqops.plan.handling import Handling


@click.group()
def dlq() -> None:
    """Deal with dead-letter queues by a rules table."""


dlq.add_command(anatomy)


@dlq.command()
@click.argument("queue", default="")
@click.argument("queue_manager", metavar="[QMGR]", default="")
@rules_option
@strict_option
@dry_run_option
@unit_size_option
@handling_options
@lake_option
@json_option
@known_errors
def run(
    *,
    queue: str,
    queue_manager: str,
    rules_file: IO[bytes],
    strict: bool,
    dry_run: bool,
    unit_size: int,
    handling: Handling,
    lake: Path,
    as_json: bool,
) -> None:
    """One pass over QUEUE of queue manager QMGR with the rules table on standard input, as runmqdlq takes it.

    QUEUE and QMGR beat INPUTQ and INPUTQM of the table; with neither it is the dead-letter queue of the default queue
    manager. Every message is copied to the lake before anything is moved, and the pass is proved at its end.
    """
    from mqops.workflow.dlq import Pass, carry_out, plan_pass  # noqa: PLC0415

    table, text = read_table(rules_file, strict=strict)
    what = Pass(
        connection=connection_to(queue_manager.strip() or table.control.inputqm.strip()),
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queue=queue.strip() or table.control.inputq.strip(),
        unit_size=unit_size,
        handling=handling,
        requested_by=this_user(),
    )
    folder, plan = plan_pass(what)
    if dry_run:
        show_dry_run(folder, plan, as_json=as_json)
        return
    warn_of(folder)
    summary = carry_out(what, folder, plan)
    show_json(summary.to_json()) if as_json else show_summary(summary)
