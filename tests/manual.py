"""Writes what the wheel lays into share/: the manual pages of `mqops` and `mqlite`, and their completion in shells.

Run `make docs` when a command is new or its first sentence changes: `tests/unit/test_manual.py` compares. Options are
not in the pages: `COMMAND --help` has them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from mqlite.cli import main as mqlite
from mqops.cli import main as mqops

FOLDER = Path(__file__).resolve().parents[1] / "include" / "setup" / "share"
PROGRAMS: dict[str, click.Command] = {"mqops": mqops, "mqlite": mqlite}
COMPLETION: dict[str, type[ShellComplete]] = {
    "bash-completion/completions/{}": BashComplete,
    "zsh/site-functions/_{}": ZshComplete,
    "fish/vendor_completions.d/{}.fish": FishComplete,
}
BEHIND = {
    "mqops": (
        ".SH EXIT STATUS\n"
        "0 done; 1 the answer is no (an invalid table, an unbalanced run, an error that is told); 2 wrong usage.\n"
        ".SH ENVIRONMENT\n"
        ".TP\nMQOPS_ESTATE\nThe estate file.\n"
        ".TP\nMQOPS_LAKE\nThe folder of snapshots, plans and ledgers.\n"
        ".TP\nMQOPS_CONNECTION\nHow the queue manager is reached, JSON.\n.SH SEE ALSO\n.BR mqlite (1)\n"
    ),
    "mqlite": (
        ".SH ENVIRONMENT\n.TP\nMQLITE_HOME\nThe folder of embedded queue managers.\n.SH SEE ALSO\n.BR mqops (1)\n"
    ),
}


def page(name: str) -> str:
    """The manual page of a program."""
    command = PROGRAMS[name]
    about = _sentence(command)
    rows = "".join(f".TP\n.B {_text(usage)}\n{_text(about)}\n" for usage, about in commands(name, command))
    return (
        f'.TH {name.upper()} 1 "" "mqops"\n.SH NAME\n{name} \\- {_text(about.rstrip("."))}\n'
        f".SH SYNOPSIS\n.B {name}\nCOMMAND [OPTIONS] [ARGUMENTS]\n.SH COMMANDS\n"
        f"{_text(f'`{name} COMMAND --help` has the options.')}\n{rows}{BEHIND[name]}"
    )


def commands(path: str, command: click.Command) -> Iterator[tuple[str, str]]:
    """How each command is called, and the first sentence of its help."""
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from commands(f"{path} {name}", found)
    if not isinstance(command, click.Group) or command.invoke_without_command:
        pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
        yield " ".join([path, *pieces]), _sentence(command)


def completion(name: str, kind: type[ShellComplete]) -> str:
    """click's script for a shell."""
    made = kind(PROGRAMS[name], {}, name, f"_{name.upper()}_COMPLETE")
    return made.source_template % made.source_vars()


def files() -> dict[str, str]:
    """Each file's place below share/ → its text."""
    found = {f"man/man1/{name}.1": page(name) for name in PROGRAMS}
    for place, kind in COMPLETION.items():
        found |= {place.format(name): completion(name, kind) for name in PROGRAMS}
    return found


def _sentence(command: click.Command) -> str:
    return re.sub(r"\s+", " ", command.get_short_help_str(1000))


def _text(words: str) -> str:
    """Words that troff takes as they are."""
    return words.replace("\\", "\\e").replace("-", "\\-").replace("`", "")


def main() -> None:
    for place, text in files().items():
        path = FOLDER / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
