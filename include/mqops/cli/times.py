"""Times on the command line, UTC, and the options that take them."""

from __future__ import annotations

import click

TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]
"""How a time is written."""
since_option = click.option(
    "--since", type=click.DateTime(TIMES), help="Only from this time on (UTC), to the second or the day."
)
until_option = click.option("--until", type=click.DateTime(TIMES), help="Only before this time (UTC).")
