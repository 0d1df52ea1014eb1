"""`mqops message`: one message, or those that fit, on a live queue or in a snapshot. Nothing is moved by looking."""

from __future__ import annotations

import click

from mqops.cli.group import Group


@click.group(cls=Group)
def message() -> None:
    """Messages on queues and in snapshots."""
