"""The command `mqops`. A subcommand's module is imported only when it is called, so that start-up costs nothing.

Exit codes: 0 done, 1 the answer is no (invalid table, unbalanced run, a known error), 2 usage.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from io import TextIOWrapper
from typing import NamedTuple

import click

from mqops.cli.group import Group
from mqops.cli.progress import progress_shown
from mqops.deciders.registry import DECIDERS, decider_named, names
from mqops.errors import SettingsError


class Command(NamedTuple):
    """A command of the help.

    Parameters: `entry` `module:name` of its click command, "" for that of the decider of this name; `about` the first
    sentence of its help: `mqops --help` imports no command.
    """

    entry: str
    about: str


COMMANDS: dict[str, Command] = {
    "rules": Command("mqops.cli.rules:rules", "Check, explain, compare and test rules tables."),
    "dlq": Command("mqops.cli.dlq:dlq", "Process dead-letter queues by a rules table."),
    "backout": Command("mqops.cli.backout:backout", "Process backout queues."),
    "expiry": Command("mqops.cli.expiry:expiry", "Expired messages, and messages that will expire."),
    "snapshot": Command("mqops.cli.snapshot:snapshot", "Copy the messages of queues to the lake."),
    "ledger": Command("mqops.cli.ledger:ledger", "The record of everything that was moved or discarded."),
    "lake": Command("mqops.cli.lake:lake", "The folder of snapshots, plans and ledgers."),
    "estate": Command("mqops.cli.estate:estate", "The estate file: queue managers and workflows."),
    "doctor": Command(
        "mqops.cli.doctor:doctor",
        "Say whether the queue manager and this machine have what mqops needs, and what to do where they do not.",
    ),
    "init": Command("mqops.cli.init:init", "Print the MQSC commands that give a queue manager what mqops needs."),
    "quality": Command("mqops.cli.quality:quality", "Check messages by suites of expectations."),
    "trigger": Command("mqops.cli.trigger:trigger", "Say why a queue triggers or not."),
    "message": Command("mqops.cli.message:message", "Messages on queues and in snapshots."),
    "runs": Command(
        "mqops.cli.runs:runs",
        "List the runs of the lake, newest first: when, state, queue, and what became of the messages.",
    ),
    "run": Command("mqops.cli.runs:run", "One run of the lake."),
    "stop": Command("mqops.cli.stop:stop", "Stop a run, or all runs of a queue manager."),
    "resume": Command("mqops.cli.stop:resume", "Remove the stop of `mqops stop`."),
    "undo": Command("", "Put back what a run moved and discarded."),
}
"""Subcommand → what it is. Each decider has a subcommand of its name besides: it stands here, too, or in `UNLISTED`."""
UNLISTED = frozenset({"age_out", "backout_reprocess", "dlq_rules", "message_load", "poison_guard", "recover"})
"""Deciders that a noun and a verb name as well (`expiry age-out`, `message move`). Plans, the ledger and DAGs have
these names: they are commands, and the help leaves them out."""


class LazyGroup(Group):
    """A group whose commands are named in `COMMANDS`, or are those of the deciders, also of other distributions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        own = ((name, one.entry.partition(":")[0]) for name, one in COMMANDS.items() if one.entry)
        found = [name for name, module in own if find_spec(module) is not None]
        return sorted({*found, *names()} - UNLISTED)

    def about(self, ctx: click.Context, name: str) -> str:
        try:
            return COMMANDS[name].about if name in COMMANDS else super().about(ctx, name)
        except SettingsError as error:  # of another distribution
            return str(error)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and cmd_name not in DECIDERS and cmd_name not in (known := self.list_commands(ctx)):
            if cmd_name.startswith("-"):
                return None  # an option: click says what is wrong with it
            raise click.NoSuchCommand(cmd_name, possibilities=known, ctx=ctx)
        entry = (COMMANDS[cmd_name].entry if cmd_name in COMMANDS else "") or decider_named(cmd_name).command
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
