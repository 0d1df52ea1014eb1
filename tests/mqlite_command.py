"""The `mqlite` command in this process, which spares the start of another one where only its work is wanted."""

from __future__ import annotations

import gc

from click.testing import CliRunner, Result

from mqlite.cli import main


def mqlite_here(*arguments: str, stdin: str = "", **environment: str) -> Result:
    """Run one command; `environment` is this process's while it runs. What the command does not expect is raised.

    The collector must not close pymqi's queues in the middle of it, in this same thread.
    """
    gc.disable()
    try:
        return CliRunner().invoke(main, list(arguments), input=stdin, env=environment, catch_exceptions=False)
    finally:
        gc.enable()
