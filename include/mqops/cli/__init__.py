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
from mqops.deciders.registry import DECIDERS, decider_named, names
from mqops.errors import SettingsError

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
ABOUT: dict[str, str] = {
    "backout": "Process backout queues.",
    "dlq": "Process dead-letter queues by a rules table.",
    "doctor": "Say whether the queue manager and this machine have what mqops needs, and what to do where they do not.",
    "estate": "The estate file: queue managers and workflows.",
    "expiry": "Expired messages, and messages that will expire.",
    "init": "Print the MQSC commands that give a queue manager what mqops needs.",
    "lake": "The folder of snapshots, plans and ledgers.",
    "ledger": "The record of everything that was moved or discarded.",
    "message": "Messages on queues and in snapshots.",
    "quality": "Check messages by suites of expectations.",
    "resume": "Remove the stop of `mqops stop`.",
    "rules": "Check, explain, compare and test rules tables.",
    "run": "One run of the lake.",
    "runs": "List the runs of the lake, newest first: when, state, queue, and what became of the messages.",
    "snapshot": "Copy the messages of queues to the lake.",
    "stop": "Stop a run, or all runs of a queue manager.",
    "trigger": "Say why a queue triggers or not.",
    "undo": "Put back what a run moved and discarded.",
}
"""The first sentence of each command's help: `mqops --help` imports no command."""
UNLISTED = frozenset({"age_out", "backout_reprocess", "dlq_rules", "message_load", "poison_guard", "recover"})
"""Deciders that a noun and a verb name as well (`expiry age-out`, `message move`). Plans, the ledger and DAGs have
these names: they are commands, and the help leaves them out."""


class LazyGroup(Group):
    """A group whose commands are named in `COMMANDS`, or are those of the deciders, also of other distributions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = [name for name, entry in COMMANDS.items() if find_spec(entry.partition(":")[0]) is not None]
        return sorted({*found, *names()} - UNLISTED)

    def about(self, ctx: click.Context, name: str) -> str:
        try:
            return ABOUT.get(name) or super().about(ctx, name)
        except SettingsError as error:  # of another distribution
            return str(error)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and cmd_name not in DECIDERS and cmd_name not in (known := self.list_commands(ctx)):
            if cmd_name.startswith("-"):
                return None  # an option: click says what is wrong with it
            raise click.NoSuchCommand(cmd_name, possibilities=known, ctx=ctx)
        entry = COMMANDS.get(cmd_name) or decider_named(cmd_name).command
        if not entry:
            from mqops.cli.decider import command_of  # noqa: PLC0415

            return command_of(decider_named(cmd_name))
        module, _, name = entry.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


FIRST = """\
First: `mqops doctor QMGR` says what the queue manager and this machine lack.

Then: `mqops estate status` says what needs a person; `mqops dlq anatomy QUEUE QMGR` says what is on a dead-letter
queue; `mqops dlq run QUEUE QMGR --dry-run < TABLE` shows what a rules table would do, and moves nothing.
"""


def show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the version, with the commit that it was made of, and end."""
    if wanted and not ctx.resilient_parsing:
        from mqops.cli.outcome import show_line  # noqa: PLC0415
        from mqops.version import version_text  # noqa: PLC0415

        show_line(version_text())
        ctx.exit()


@click.group(cls=LazyGroup, epilog=FIRST, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Operations of IBM MQ queue managers: rules, plans, ledger."""
    ctx.with_resource(progress_shown())
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal's character set has not stops nothing
        sys.stdout.reconfigure(errors="backslashreplace")
