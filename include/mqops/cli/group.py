"""How `mqops` ends: every error is a line on standard error, with --json an object on standard output besides, and an
exit code: 1 the answer is no, 2 usage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from mqops.errors import MqopsError
from mqops.pandas_later import WithoutPandas
from mqops.parts import missing_part
from mqops.short_process import collect_seldom, without_plugins

LONGEST = 1000
"""Characters of the longest first sentence."""


DEAD_LETTERS = "dlq"


class Group(click.Group):
    """A group of commands that ends so. Only the outermost one's `main` is called. `--help` folds what it says of a
    command; click cuts it off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands, with the whole first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.about(ctx, name)) for name in self.list_commands(ctx)])

    def about(self, ctx: click.Context, name: str) -> str:
        """The first sentence of a command's help, whole."""
        found = self.get_command(ctx, name)
        return found.get_short_help_str(LONGEST) if found else ""

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
        if args is None:  # a process of its own
            collect_seldom()
            without_plugins()
            if sys.argv[1:2] == [DEAD_LETTERS]:
                sys.meta_path.insert(0, WithoutPandas)  # `mqops dlq` uses neither it nor Spark
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words
        try:
            code = super().main(words, prog_name, complete_var, standalone_mode=False, **more)
        except (MqopsError, ModuleNotFoundError) as error:
            told = error if isinstance(error, MqopsError) else missing_part(error)
            if told is None:
                raise
            from mqops.cli.outcome import tell_error  # noqa: PLC0415 - `mqops --help` needs nothing of it

            tell_error(told, as_json=as_json)
            code = 1
        except click.Abort:
            from mqops.cli.outcome import show_line  # noqa: PLC0415

            show_line("Aborted!", err=True)
            code = 1
        except click.ClickException as error:
            error.show()
            if as_json:
                from mqops.cli.outcome import show_json  # noqa: PLC0415

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
