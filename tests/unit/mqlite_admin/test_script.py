"""Lines of a script → commands."""

from __future__ import annotations

import pytest

from mqlite.mqsc.script import commands


def texts(script: str) -> list[str | None]:
    return [command.text for command in commands(script.splitlines())]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("DIS QMGR", ["DIS QMGR"]),
        ("  DIS QMGR  ", ["DIS QMGR"]),
        ("DEF QL(A) +\n   REPLACE", ["DEF QL(A) REPLACE"]),  # + goes on with the first non-blank
        ("DEF QL(A) DESCR('AB-\n C')", ["DEF QL(A) DESCR('AB C')"]),  # - goes on with column 1
        ("DEF QL(A) DESCR('AB+\n C')", ["DEF QL(A) DESCR('ABC')"]),  # inside a word
        ("DEF QL(A) +\n* why\n\n REPLACE", ["DEF QL(A) REPLACE"]),  # a comment within a command
        ("* only a comment\n\n  * another", [None, None, None]),
        ("DIS QMGR; DIS Q(*) ;", ["DIS QMGR", "DIS Q(*)"]),
        ("DEF QL(A) DESCR('a;b')", ["DEF QL(A) DESCR('a;b')"]),  # ; within quotes
        ("DEF QL(A) +", ["DEF QL(A)"]),  # the script ends in the middle
        ("DEF QL(A) DESCR('a+b') REPLACE", ["DEF QL(A) DESCR('a+b') REPLACE"]),
    ],
)
def test_lines_become_commands(script: str, expected: list[str | None]) -> None:
    assert texts(script) == expected


def test_every_line_is_kept_for_the_echo() -> None:
    script = "* c\nDEF QL(A) +\n  REPLACE\n"
    assert [command.lines for command in commands(script.splitlines())] == [("* c",), ("DEF QL(A) +", "  REPLACE")]
