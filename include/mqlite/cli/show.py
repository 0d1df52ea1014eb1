"""How the commands print: one line at a time, of which nothing steers the terminal."""

from __future__ import annotations

import click

from mqlite.failure import Failure
from mqwire.names import reason_name
from mqwire.printable import printable


def show_line(line: str, *, err: bool = False) -> None:
    """Print one line; tabs become blanks, and what cannot be seen becomes U+FFFD."""
    click.echo(printable(line.expandtabs()), err=err)


def failure_line(failure: Failure) -> str:
    """A refusal of the engine: the reason code's name and number, and what the engine says of it."""
    text = f": {failure.text}" if failure.text else ""
    return f"{reason_name(failure.reason)} ({failure.reason}){text}"
