"""`mqops NAME`: the command of a decider without a command of its own. Its options are the fields of its form that its
request has and not every request."""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option
from mqops.cli.passes import dry_run_option, ending, run_once, this_user, unit_size_option, warn
from mqops.cli.run_argument import queue_manager_option
from mqops.cli.user_option import connecting_options
from mqops.deciders.decider import Decider, RunRequest


def command_of(decider: Decider[Any]) -> click.Command:
    """The click command. Each field of the form is an option, and `queues` are arguments.

    The default value of a field of the request says of what type it is; `metadata["help"]` is shown as help.
    """

    def run(*, queue_manager: str, dry_run: bool, unit_size: int, lake: Path, as_json: bool, **form: Any) -> None:
        request = decider.request(
            connection=connection_to(queue_manager.strip()),
            lake=lake,
            unit_size=unit_size,
            requested_by=this_user(),
            warn=warn,
            **form,
        )
        sys.exit(ending(run_once(decider, request, dry_run=dry_run, as_json=as_json)))

    command: Any = known_errors(run)
    for option in (
        json_option,
        lake_option,
        unit_size_option,
        dry_run_option,
        connecting_options,
        queue_manager_option,
    ):
        command = option(command)
    own = {*decider.form} - {field.name for field in fields(RunRequest)}
    for field in reversed([field for field in fields(decider.request) if field.name in own]):
        command = _parameter(field)(command)
    return click.command(decider.name, help=decider.request.__doc__)(command)


def _parameter(field: Field[Any]) -> Any:
    if field.name == "queues":
        return click.argument("queues", nargs=-1, required=True)
    name = "--" + field.name.replace("_", "-")
    help_text = field.metadata.get("help", "")
    if field.default is MISSING:
        return click.option(name, required=True, help=help_text)
    return click.option(name, default=field.default, show_default=True, help=help_text)
