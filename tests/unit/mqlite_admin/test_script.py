"""Lines of a script → commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqlite.mqsc.script import commands

if TYPE_CHECKING:
    from .conftest import Mqlite


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


@pytest.mark.parametrize(
    ("script", "made", "said"),
    [
        # A comment may be in any code.
        (b"* f\xfcr\nDEFINE QLOCAL(A)\n", ["A"], ""),
        # Commands before and behind one in another code are done.
        (
            b"DEFINE QLOCAL(A)\nDEFINE QLOCAL(B) +\n  DESCR('f\xfcr')\nDEFINE QLOCAL(C)\n",
            ["A", "C"],
            "DEFINE QLOCAL(B) DESCR('f\nThe byte X'FC' behind it is not text in UTF-8: save the script as UTF-8.",
        ),
        ("DEFINE QLOCAL(A)\n".encode("utf-16"), [], "The byte X'FF'"),
        ("DEFINE QLOCAL(A)\n".encode("utf-16-be"), [], "The byte X'00'"),
        # A byte order mark before a command, and before a comment, as dmpmqcfg's output begins with one.
        ("DEFINE QLOCAL(A)\n".encode("utf-8-sig"), ["A"], ""),
        ("*****\nDEFINE QLOCAL(A)\n".encode("utf-8-sig"), ["A"], ""),
        ("DEFINE QLOCAL(A) DESCR('für')\r\nDEFINE QLOCAL(B)".encode(), ["A", "B"], ""),
    ],
)
def test_code_of_a_script(mqlite: Mqlite, tmp_path: Path, script: bytes, made: list[str], said: str) -> None:
    mqlite("create", "QM1")
    (tmp_path / "script.mqsc").write_bytes(script)
    found = mqlite("mqsc", "QM1", "-f", str(tmp_path / "script.mqsc"), code=10 if said else 0).output
    assert said in found
    assert ("AMQ8405I" in found) == bool(said)
    shown = mqlite("mqsc", "QM1", stdin="DISPLAY QLOCAL(*) WHERE(QUEUE LT D)\n", code=0 if made else 10).output
    assert [name for name in "ABC" if f"QUEUE({name})" in shown] == made


def test_an_asterisk_behind_blanks_is_no_comment_inside_a_command() -> None:
    """IBM MQ, "MQSC input file syntax": in the first position."""
    script = "DEFINE QLOCAL(A) DESCR('a -\n * b') +\n* comment\n  REPLACE\n   * comment\n"
    assert texts(script) == ["DEFINE QLOCAL(A) DESCR('a  * b') REPLACE", None]
