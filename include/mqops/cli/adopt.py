"""`mqops run adopt`: a person answers for what a version without signatures left on the ledger queue."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.columns import show_lines
from mqops.cli.exit_code import ExitCode, of_run
from mqops.cli.outcome import json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import refuse_to_ask, show_summary, this_user, unit_size_option, yes_option
from mqops.cli.run_argument import connection_for, manager_of_run_option, run_argument
from mqops.cli.user_option import connecting_options

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder


@click.command()
@run_argument()
@manager_of_run_option
@connecting_options
@click.option("--why", default="", help="The reason, which the ledger keeps. Needed unless it is a dry run.")
@click.option("--dry-run", is_flag=True, help="Say what is on MQOPS.LEDGER of RUN. Nothing is changed.")
@yes_option
@unit_size_option
@lake_option
@json_option
@known_errors
def adopt(
    *,
    run: str,
    queue_manager: str,
    why: str,
    dry_run: bool,
    yes: bool,
    unit_size: int,
    lake: Path,
    as_json: bool,
) -> None:
    """Finish RUN, which a version of mqops began that did not sign its messages on MQOPS.LEDGER.

    Anybody who may put on MQOPS.LEDGER could have made such messages. So a person looks who put them (--dry-run),
    answers for them, and says why: the ledger keeps that. The lane tokens say where each lane goes on; then the rest
    of the plan is carried out, each message once, and the run is proved. Before it the version that began the run must
    have ended.
    """
    from mqops.act.approved_plan import read_approved_plan  # noqa: PLC0415
    from mqops.deciders.run import finish_run  # noqa: PLC0415
    from mqops.lake.run import find_run  # noqa: PLC0415
    from mqops.ledger import adopt as ledger_adopt  # noqa: PLC0415
    from mqops.ledger.file import LedgerFile  # noqa: PLC0415
    from mqops.ledger.opened import OpenLedger  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415

    refuse_to_ask(as_json=as_json, answered=dry_run or yes)
    if not dry_run and not why.strip():
        raise click.UsageError("say why you answer for this run: --why REASON")
    found = find_run(lake, key=run, queue_manager=queue_manager.strip(), planned=True)
    ledger = OpenLedger(LedgerFile(found.lake_folder), read_approved_plan(found).identity, found)
    connection = connection_for(found.queue_manager, queue_manager)
    with connect(connection) as session, found.lock():
        seen = ledger_adopt.look(session, ledger)
        if dry_run:
            show_json(seen.to_json()) if as_json else show_lines([*seen.lines(), "dry run: nothing was changed"])
            sys.exit(ExitCode.NO if seen.problems else ExitCode.DONE)
        if not yes:
            show_lines(seen.lines())
            if not click.confirm("Answer for these messages and finish the run?"):
                raise click.Abort
        ledger_adopt.adopt(session, ledger, who=this_user(), why=why)
    if _undoes(found):
        show_line(f"run {found.run} is signed now. It is an undo: enter `mqops undo` with the run that it undoes")
        sys.exit(ExitCode.DONE)
    summary = finish_run(connection, found, unit_size=unit_size, who=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)
    sys.exit(of_run(summary))


def _undoes(run: RunFolder) -> bool:
    from mqops.prove.records import UNDO_RECORD  # noqa: PLC0415

    return UNDO_RECORD.find(run) is not None
