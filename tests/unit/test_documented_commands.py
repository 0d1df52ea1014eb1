"""Every command that README and pages write has the words and the options that they write.

`test_readme.py` runs what can be run as it stands; here are the others, with their QUEUE, RUN and `...`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mqlite.cli import main as mqlite
from mqops.cli import main as mqops

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "include").glob("*/README.md"))]
PROGRAMS: dict[str, click.Command] = {"mqops": mqops, "mqlite": mqlite}
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^(?:\$ )?((?:mqops|mqlite) .+)$", re.MULTILINE)
SPAN = re.compile(r"`((?:mqops|mqlite) [^`]+)`")
TOY = "mqops park_large "
"""The decider of adding_a_decider.md, whose own test runs it."""


def written() -> Iterator[str]:
    """The commands of all pages, each once. A span of code may be broken into two lines."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in (*SPAN.findall(BLOCK.sub("", text)), *LINE.findall("".join(BLOCK.findall(text)))):
            yield " ".join(found.split())


COMMANDS = sorted({command for command in written() if not command.startswith(TOY)})


def test_there_are_commands_on_the_pages() -> None:
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_words_and_the_options_that_a_page_writes(command: str) -> None:
    program, *words = shlex.split(command.split(" < ", maxsplit=1)[0].split(" > ", maxsplit=1)[0], comments=True)
    found, options = PROGRAMS[program], {"--help"}
    context = click.Context(found)
    while isinstance(found, click.Group):
        options |= {name for one in found.params for name in one.opts}
        if not words or words[0].startswith("-"):
            break
        deeper = found.get_command(context, words.pop(0))
        assert deeper is not None
        found, context = deeper, click.Context(deeper, parent=context)
    options |= {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    asked = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)}
    assert asked <= options
