"""The command `mqops`. A subcommand's module is imported only when it is called, so that start-up costs nothing.

Exit codes: 0 done, 1 the answer is no (invalid table, unbalanced run, a known error), 2 usage.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from io import TextIOWrapper

import click

COMMANDS: dict[str, str] = {
    "rules": "mqops.cli.rules:rules",
    "dlq": "mqops.cli.dlq:dlq",
    "backout": "mqops.cli.backout:backout",
    "expiry": "mqops.cli.expiry:expiry",
    "snapshot": "mqops.cli.snapshot:snapshot",
    "ledger": "mqops.cli.ledger:ledger",
    "estate": "mqops.cli.estate:estate",
    "quality": "mqops.cli.quality:quality",
    "undo": "mqops.cli.undo:undo",
    "stop": "mqops.cli.stop:stop",
    "resume": "mqops.cli.stop:resume",
}
"""Subcommand → `module:name` of its click command."""


class LazyGroup(click.Group):
    """A group whose commands are named in `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for name, place in COMMANDS.items() if find_spec(place.partition(":")[0]) is not None)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Operations of IBM MQ queue managers: rules, plans, ledger."""
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal's character set has not stops nothing
        sys.stdout.reconfigure(errors="backslashreplace")
