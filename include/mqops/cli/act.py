"""`mqops dlq act`: carry out what `mqops dlq run --dry-run` (or `mqops expiry age-out --dry-run`) rehearsed."""

from __future__ import annotations

from pathlib import Path

import click

from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.cli.passes import show_summary, this_user, unit_size_option, warn_of


@click.command()
@click.argument("run")
@click.option("--approve", "digest", required=True, metavar="DIGEST", help="The plan's digest, which --dry-run showed.")
@click.option("--queue-manager", "-m", default="", help="The run's queue manager; else the default one.")
@unit_size_option
@lake_option
@json_option
@known_errors
def act(*, run: str, digest: str, queue_manager: str, unit_size: int, lake: Path, as_json: bool) -> None:
    """Carry out the plan of RUN, which `mqops dlq run` or `mqops expiry age-out` made with --dry-run, and no other.

    You approve the plan that has this DIGEST, and the ledger says so. Its messages are those that were there then: what
    came later is left, what is gone by now is counted. Exit code 1 where the run's plan has another digest, and where
    the estate asks for four eyes and the plan is your own: nothing is moved. A run that was broken off goes on.
    """
    from mqops.deciders.approved_plan import carry_out, rehearsed  # noqa: PLC0415

    connection = connection_to(queue_manager.strip())
    folder, plan = rehearsed(connection, lake, run, digest)
    refuse_own(plan.queue_manager, plan.requested_by, this_user())
    warn_of(folder)
    summary = carry_out(connection, folder, plan, unit_size=unit_size, approved_by=this_user())
    show_json(summary.to_json()) if as_json else show_summary(summary)
