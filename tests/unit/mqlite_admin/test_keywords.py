"""Every keyword that IBM MQ 9.4 has for a command of mqlite is answered, or refused with AMQ8101S: AMQ8405I is for
words that IBM MQ does not have. The lists are those of IBM's pages, in tests/data/mqsc_keywords.txt.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mqlite_support import application, home, make

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.attributes import TABLE, Kind
from mqlite.commands import COMMANDS
from mqlite.mqsc import keywords
from mqlite.mqsc.runner import run_script
from mqlite.objects.manager import load

__all__ = ["application", "home"]
LINES = (Path(__file__).resolve().parents[2] / "data" / "mqsc_keywords.txt").read_text(encoding="utf-8").splitlines()
LISTS = [tuple(line.split(": ", 1)) for line in LINES if not line.startswith("#")]
KEYWORD = re.compile(r"[A-Z0-9]+(?:\([^)]*\))?")
WITHOUT_NAME = {"QMGR", "QMSTATUS", "AUTHREC", "SECURITY"}
NEEDED = {
    "SUB": "TOPICSTR(t) DEST(Q1)", "TOPIC": "TOPICSTR(t)", "AUTHINFO": "AUTHTYPE(IDPWOS)", "LISTENER": "TRPTYPE(TCP)",
    "CHANNEL": "CHLTYPE(SDR) CONNAME(x) XMITQ(x)",
}  # fmt: skip


def command(start: str, keyword: str) -> str:
    """A command with the keyword, and with what else it needs."""
    verb, noun, *more = start.split()
    name = "" if noun in WITHOUT_NAME else "(*)" if verb == "DISPLAY" or noun == "CHLAUTH" else "(X)"
    need = NEEDED.get(noun, "") if verb == "DEFINE" and not more else " ".join(more)
    said = re.sub(r"\(\)$", "(1)", keyword)
    own = said.split("(", maxsplit=1)[0]
    need = " ".join(part for part in need.split() if part.split("(", maxsplit=1)[0] != own)
    return f"{verb} {noun}{name} {need} {said}"


def outputs(commands: list[str], name: str = "QM1") -> list[str]:
    """What each command printed."""
    found: list[str] = []
    admin = EngineAdministration(load(name))
    try:
        for each in commands:
            lines: list[str] = []
            run_script(admin, [each], lines.append)
            found.append("\n".join(lines))
    finally:
        admin.close()
    return found


@pytest.mark.parametrize("platform", ["unix", "zos"])
def test_every_keyword_of_IBM_MQ_is_answered_or_refused_as_not_there(home: Path, platform: str) -> None:
    make(platform=platform)
    commands = [command(start, word) for start, words in LISTS for word in KEYWORD.findall(words)]
    assert len(commands) > 1000
    wrong = [each for each, output in zip(commands, outputs(commands), strict=True) if "AMQ8405I" in output]
    assert not wrong


def test_a_word_that_IBM_MQ_does_not_have_is_a_syntax_error(home: Path) -> None:
    make(platform="zos")
    for word in ("NOWORD", "NOWORD(1)"):
        commands = [command(start, word) for start, _ in LISTS]
        for each, output in zip(commands, outputs(commands), strict=True):
            assert "AMQ8405I" in output, each


def test_the_lists_have_every_command_with_keywords() -> None:
    listed = {tuple(start.split()[:2]) for start, _ in LISTS}
    alike = {(verb, noun) for verb, noun in COMMANDS if verb == "ALTER" and ("DEFINE", noun) in listed}
    alike |= {
        (verb, noun) for verb, noun in COMMANDS if verb in {"DELETE", "DISPLAY", "ALTER"} and noun.startswith("Q")
    }
    alike |= {("DELETE", noun) for noun in ("NAMELIST", "TOPIC", "SUB", "AUTHINFO", "LISTENER")} | {("PING", "QMGR")}
    assert set(COMMANDS) - listed - alike == set()


def test_no_keyword_is_both_there_and_not_there() -> None:
    for kind in Kind:
        there = set(TABLE[kind]) | {alias for row in TABLE[kind].values() for alias in row.aliases}
        assert not there & keywords.ATTRIBUTES.get(str(kind), frozenset()), kind
