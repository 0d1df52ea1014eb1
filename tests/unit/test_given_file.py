"""Files that a person names in a folder of others: none makes a command wait for ever, or take all memory."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mqops import given_file
from mqops.cli import main

COMMANDS = (("estate", "check"), ("quality", "suite"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_pipe_that_nobody_writes_to_is_an_empty_file(command: tuple[str, ...], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done: Any = CliRunner().invoke(main, [*command, str(pipe)])
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception


@pytest.mark.parametrize("command", [*COMMANDS, ("rules", "check")])
def test_a_file_without_an_end_is_not_read_to_it(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_file, "MOST", 1 << 20)
    done: Any = CliRunner().invoke(main, [*command, "/dev/zero"])
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit), done.exception
    assert "It has more than 1,048,576 bytes" in done.output


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
