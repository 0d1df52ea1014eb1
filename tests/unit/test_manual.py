"""What the wheel lays into share/: manual pages that a reader of troff takes, and completion that a shell takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from manual import FOLDER, files

WORDS = 'COMP_WORDS=(mqops led); COMP_CWORD=1; _mqops_completion mqops; printf "%s\\n" "${COMPREPLY[@]}"'


def test_they_are_of_this_version() -> None:
    there = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*") if path.is_file()}
    assert there == files(), "run `make docs`"


@pytest.mark.parametrize("name", ["mqops", "mqlite"])
def test_a_page_has_lines_that_troff_takes(name: str) -> None:
    lines = files()[f"man/man1/{name}.1"].splitlines()
    assert lines[0].startswith(f".TH {name.upper()} 1 ")
    assert {".SH NAME", ".SH SYNOPSIS", ".SH COMMANDS"} <= set(lines)
    known = (".TH", ".SH", ".TP", ".B ", ".BR ")
    assert all(line.startswith(known) for line in lines if line.startswith((".", "'")))
    assert f".B {name} " in "\n".join(lines)


def test_bash_completes_a_command() -> None:
    script = FOLDER / "bash-completion" / "completions" / "mqops"
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"complete() {{ :; }}; source {script}; {WORDS}"],
        env={**os.environ, "PATH": place},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["ledger"]
