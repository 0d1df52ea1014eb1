"""`--first-tell`: a person hears what a look lets the queue manager discard, and is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import click

from mqops.cli.columns import show_folded
from mqops.cli.ending import ended_by_signals
from mqops.cli.exit_code import ExitCode
from mqops.cli.outcome import show_line
from mqops.cli.passes import warn
from mqops.errors import NotLookedAt
from mqops.expiry.core.first_tell import AtStake

first_tell_option = click.option(
    "--first-tell",
    "tells_first",
    is_flag=True,
    help="Before a queue is browsed, say what the queue manager must discard because of it, where expiration reports, "
    "persistent messages or messages that wait for a person are among it, and ask. Who says no leaves these queues.",
)
STANDARD_INPUT = "<stdin>"
yes_to_look_option = click.option("--yes", "-y", is_flag=True, help="With --first-tell: say it, and do not ask.")


class Asks:
    """Tells what is at stake and asks, once for a queue. `refused` are the queues that are left because of the answer.

    Parameters: `yes` it is told, and not asked; `quiet` it is told on standard error.
    """

    def __init__(self, *, yes: bool, quiet: bool) -> None:
        self._yes, self._quiet = yes, quiet
        self._agreed: set[str] = set()
        self.refused: tuple[str, ...] = ()

    def __call__(self, told: Sequence[AtStake]) -> bool:
        """Whether these queues are to be looked at."""
        news = [one for one in told if one.queue not in self._agreed]
        for one in news:
            show_line(one.sentence(), err=True) if self._quiet else show_folded(one.sentence())
        if not news or self._yes or _agreed():
            self._agreed |= {one.queue for one in news}
            return True
        self.refused = tuple(one.queue for one in told)
        warn(NotLookedAt.default_message())
        return False


def _agreed() -> bool:
    with ended_by_signals():
        return click.confirm("Look at these queues?")


def asking(*, tells_first: bool, yes: bool = False, quiet: bool) -> Asks | None:
    """What `--first-tell` does, None without it. Parameters: `yes` as of `Asks`; `quiet` standard output is for a
    program: nothing is asked there. Raises `click.UsageError`: it would have to ask, and cannot."""
    if not tells_first:
        return None
    if quiet and not yes:
        raise click.UsageError(
            "--first-tell cannot ask where a program reads the output: give --yes with it, where the command has that"
        )
    return Asks(yes=yes, quiet=quiet)


def refuse_table_where_asked(asks: Asks | None, table: IO[bytes]) -> None:
    """Raises `click.UsageError`: the rules table is on standard input, where the question would be answered."""
    if asks and getattr(table, "name", STANDARD_INPUT) == STANDARD_INPUT:
        raise click.UsageError("--first-tell asks on standard input: name the rules table by --rules FILE")


def refused_or_done(asks: Asks | None, code: ExitCode) -> ExitCode:
    """The exit code, and a line about the queues that were left. Parameters: `code` what it is without them."""
    if not (asks and asks.refused):
        return code
    warn(f"not looked at: {', '.join(asks.refused)}")
    return ExitCode.NO
