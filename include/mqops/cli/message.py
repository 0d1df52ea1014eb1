"""`mqops message`: one message, or those that fit, on a live queue or in a snapshot. Nothing is moved by looking."""

from __future__ import annotations

import click

from mqops.cli.group import Group
from mqops.cli.message_file import export, load


@click.group(cls=Group)
def message() -> None:
    """Messages on queues and in snapshots."""


message.add_command(export)
message.add_command(load)
