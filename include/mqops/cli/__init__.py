"""The command `mqops`. A subcommand's module is imported only when it is called, so that start-up costs nothing.

Exit codes: 0 done, 1 the answer is no (invalid table, unbalanced run, a known error), 2 usage.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from io import TextIOWrapper

import click

from mqops.cli.group import Group
from mqops.cli.progress import progress_shown
from mqops.deciders.registry import DECIDERS, decider_named

COMMANDS: dict[str, str] = {
    "rules": "mqops.cli.rules:rules",
    "dlq": "mqops.cli.dlq:dlq",
    "backout": "mqops.cli.backout:backout",
    "expiry": "mqops.cli.expiry:expiry",
    "snapshot": "mqops.cli.snapshot:snapshot",
    "ledger": "mqops.cli.ledger:ledger",
    "lake": "mqops.cli.lake:lake",
    "estate": "mqops.cli.estate:estate",
    "doctor": "mqops.cli.doctor:doctor",
    "init": "mqops.cli.init:init",
    "quality": "mqops.cli.quality:quality",
    "trigger": "mqops.cli.trigger:trigger",
    "message": "mqops.cli.message:message",
    "runs": "mqops.cli.runs:runs",
    "run": "mqops.cli.runs:run",
    "stop": "mqops.cli.stop:stop",
    "resume": "mqops.cli.stop:resume",
}
"""Subcommand → `module:name` of its click command. Each decider has a subcommand of its name besides."""
UNLISTED = frozenset({"age_out", "backout_reprocess", "dlq_rules", "message_load", "poison_guard", "recover"})
"""Deciders that a noun and a verb name as well (`expiry age-out`, `message move`). Plans, the ledger and DAGs have
these names: they are commands, and the help leaves them out."""


class LazyGroup(Group):
    """A group whose commands are named in `COMMANDS`, or are those of the deciders."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = [name for name, entry in COMMANDS.items() if find_spec(entry.partition(":")[0]) is not None]
        return sorted({*found, *map(str, DECIDERS)} - UNLISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (names := self.list_commands(ctx)) and cmd_name not in UNLISTED:
            if cmd_name.startswith("-"):
                return None  # an option: click says what is wrong with it
            raise click.NoSuchCommand(cmd_name, possibilities=names, ctx=ctx)
        entry = COMMANDS.get(cmd_name) or decider_named(cmd_name).command
        if not entry:
            from mqops.cli.decider import command_of  # noqa: PLC0415

            return command_of(decider_named(cmd_name))
        module, _, name = entry.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mqops")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Operations of IBM MQ queue managers: rules, plans, ledger."""
    ctx.with_resource(progress_shown())
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal's character set has not stops nothing
        sys.stdout.reconfigure(errors="backslashreplace")
