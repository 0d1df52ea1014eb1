"""What the commands share that make a plan, ask about it, and carry it out: their options, as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqops.cli.first_tell import Asks, asking, first_tell_option
from mqops.cli.outcome import json_option, known_errors, lake_option
from mqops.cli.passes import dry_run_option, refuse_to_ask, unit_size_option, yes_option

Options = Callable[[Callable[..., None]], Callable[..., None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The options. Parameters: `asks` what --first-tell does, None without it."""

    asks: Asks | None
    dry_run: bool
    yes: bool
    unit_size: int
    lake: Path
    as_json: bool


def acting_options(command: Callable[..., None], dry_run_option: Options = dry_run_option) -> Callable[..., None]:
    """The options; the command gets them as `how`. A known error is one line, as by `known_errors`.

    Parameters: `dry_run_option` of this command. The command raises `click.UsageError` where it would have to ask, and
    cannot.
    """

    @known_errors
    @functools.wraps(command)
    def wrapped(
        *, tells_first: bool, dry_run: bool, yes: bool, unit_size: int, lake: Path, as_json: bool, **given: Any
    ) -> None:
        refuse_to_ask(as_json=as_json, answered=dry_run or yes)
        asks = asking(tells_first=tells_first, yes=yes, quiet=as_json)
        how = How(asks=asks, dry_run=dry_run, yes=yes, unit_size=unit_size, lake=lake, as_json=as_json)
        command(how=how, **given)

    found: Callable[..., None] = wrapped
    for option in (json_option, lake_option, unit_size_option, yes_option, dry_run_option, first_tell_option):
        found = option(found)
    return found
