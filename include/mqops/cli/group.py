"""How `mqops` ends: every error is a line on standard error, with --json an object on standard output besides, and an
exit code: 1 the answer is no, 2 usage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from mqops.cli.outcome import show_json, show_line, tell_error
from mqops.errors import MqopsError
from mqops.pandas_later import WithoutPandas

LONGEST = 1000
"""Characters of the longest first sentence."""


DEAD_LETTERS = "dlq"


class Group(click.Group):
    """A group of commands that ends so. Only the outermost one's `main` is called. `--help` folds what it says of a
    command; click cuts it off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands, with the whole first sentence of each."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(LONGEST)) for name, one in found if one is not None])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **more: Any,
    ) -> Any:
        """Run a command and end the process. Parameters as click has them."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **more)
        if args is None and sys.argv[1:2] == [DEAD_LETTERS]:  # a process of its own
            sys.meta_path.insert(0, WithoutPandas)  # `mqops dlq` uses neither it nor Spark
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words
        try:
            code = super().main(words, prog_name, complete_var, standalone_mode=False, **more)
        except MqopsError as error:
            tell_error(error, as_json=as_json)
            code = 1
        except click.Abort:
            show_line("Aborted!", err=True)
            code = 1
        except click.ClickException as error:
            error.show()
            if as_json:
                show_json({"error": _usage(error)})
            code = error.exit_code
        sys.exit(code if isinstance(code, int) else 0)


def _usage(error: click.ClickException) -> dict[str, str]:
    """A usage error for scripts, as `mqops.cli.outcome.error_document` has the others."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "mqops"
    return {
        "code": type(error).__name__,
        "message": error.format_message(),
        "what_to_do": f"`{path} --help` shows how the command is used",
    }
