"""`mqops dlq act`: carry out what `mqops dlq run --dry-run` (or `mqops expiry age-out --dry-run`) planned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.exit_code import of_run
from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import json_option, known_errors, lake_option, show_json
from mqops.cli.passes import pacing_options, show_run_key, show_summary, this_user, unit_size_option, warn_of
from mqops.cli.run_argument import connection_for, manager_of_run_option, run_argument
from mqops.cli.user_option import connecting_options

if TYPE_CHECKING:
    from mqops.decide.core.pacing import Pacing


@click.command()
@run_argument()
@click.option(
    "--approve", "digest", required=True, metavar="DIGEST", help="The digest of the plan, as --dry-run shows it."
)
@manager_of_run_option
@connecting_options
@unit_size_option
@pacing_options
@lake_option
@json_option
@known_errors
def act(
    *, run: str, digest: str, queue_manager: str, unit_size: int, pacing: Pacing, lake: Path, as_json: bool
) -> None:
    """Carry out the plan of RUN, which `mqops dlq run` or `mqops expiry age-out` made with --dry-run, and no other.

    You approve the plan that has this DIGEST, and the ledger records you as the approver. Only the messages of the plan
    are moved: messages that came later stay, and messages that are gone by now are counted. Nothing is moved, and the
    exit code is 1, if the plan has another digest, or if the estate asks for four eyes and you asked for the plan. A
    run that was interrupted goes on.

    --canary, --pace and --in-flight make it more careful than the plan says, never less.
    """
    from mqops.act.approved_plan import carry_out_carefully  # noqa: PLC0415
    from mqops.deciders.registry import decider_named  # noqa: PLC0415
    from mqops.deciders.run import carry_out_approved, load_approved_plan  # noqa: PLC0415
    from mqops.lake.run import find_run  # noqa: PLC0415

    found = find_run(lake, key=run, queue_manager=queue_manager.strip())
    connection = connection_for(found.queue_manager, queue_manager)
    folder, plan = load_approved_plan(connection, lake, key=found.run, digest=digest)
    decider = decider_named(plan.workflow)
    refuse_own(decider, plan.queue_manager, requester=plan.requested_by, approver=this_user())
    carry_out_carefully(folder, plan.digest, pacing)
    show_run_key(folder)
    warn_of(folder)
    summary = carry_out_approved(connection, folder, plan, unit_size=unit_size, approved_by=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)
    sys.exit(of_run(summary, plan))
