"""How the commands print: one line at a time, of which nothing steers the terminal."""

from __future__ import annotations

import click

from mqwire.printable import printable


def show_line(line: str, *, err: bool = False) -> None:
    """Print one line; tabs become blanks, and what cannot be seen becomes U+FFFD."""
    click.echo(printable(line.expandtabs()), err=err)
