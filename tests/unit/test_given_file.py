"""Files that a person names in a folder of others: none makes a command wait for ever, or take all memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mqops import given_file
from mqops.cli import main
from mqops.cli.tables import GivenFile

FILE = "FILE"
"""In a command: the file that stands there."""
COMMANDS = (
    ("estate", "check", FILE),
    ("quality", "suite", FILE),
    ("rules", "check", FILE),
    ("rules", "explain", FILE, "--messages", os.devnull),
    ("dlq", "run", "Q", "QM", "--rules", FILE),
    ("backout", "run", "Q", "-m", "QM", "--rules", FILE),
    ("message", "show", "Q", "-m", "QM", "--rules", FILE),
)
"""None of them comes to speak to a queue manager: the file is wrong."""


def done_with(command: tuple[str, ...], file: Path | str) -> Any:
    return CliRunner().invoke(main, [str(file) if word == FILE else word for word in command])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_pipe_that_nobody_writes_to_is_an_empty_file(command: tuple[str, ...], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = done_with(command, pipe)
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_an_end_is_not_read_to_it(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_file, "MOST", 1 << 20)
    done = done_with(command, "/dev/zero")
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception
    assert "It has more than 1,048,576 bytes" in done.output


def test_a_line_of_messages_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_file, "MOST", 1 << 20)
    table = tmp_path / "some.rules"
    table.write_text("ACTION(IGNORE)\n")
    done = done_with(("rules", "explain", str(table), "--messages", FILE), "/dev/zero")
    assert (done.exit_code, "a line of more than 1,048,576 bytes" in done.output) == (2, True), done.output


def test_no_command_opens_a_file_in_another_way() -> None:
    """`click.File` waits for whoever may write to a named pipe."""

    def kinds(command: click.Command) -> Iterator[click.ParamType]:
        yield from (one.type for one in command.params)
        context = click.Context(command)
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            if below := command.get_command(context, name):
                yield from kinds(below)

    files = [type(kind) for kind in kinds(main) if isinstance(kind, click.File)]
    assert len(files) > 5
    assert set(files) == {GivenFile}


def test_what_a_shell_writes_into_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    inherited = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # as of the shell's `<(...)`: what is written stays
    begun = os.open(pipe, os.O_WRONLY)
    writer = threading.Thread(target=lambda: (os.write(begun, b"lake: x\n" * 4000), os.close(begun)))
    writer.start()
    assert given_file.text_of(pipe) == "lake: x\n" * 4000
    writer.join()
    os.close(inherited)
