"""Tables as data: every valid file gives what its .json says, every invalid one exactly the errors of its .errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mqops.cli.tables import check_document
from mqops.rules import parse

DATA = Path(__file__).parents[2] / "data" / "rules"
VALID = sorted(DATA.glob("valid/*.rules"))
INVALID = sorted(DATA.glob("invalid/*.rules"))
SHIPPED = sorted((Path(__file__).parents[3] / "include" / "rules").glob("*.rules"))


REMEDY = re.compile(r": (add|begin|did you mean|move|put|remove|save|shorten|use|write)\b")
"""Every error text is what is wrong, a colon, and what to do."""


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def test_there_are_tables():
    assert len(VALID) > 12
    assert len(INVALID) > 15
    assert SHIPPED


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid(path):
    document = check_document(parse(text_of(path)))
    assert document == json.loads(path.with_suffix(".json").read_text())
    assert document["ok"]


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_D07_D09_invalid(path):
    parsed = parse(text_of(path))
    assert parsed.table is None
    assert parsed.warnings == ()
    found = [f"{error.line}:{error.column}: {error.message}" for error in parsed.errors]
    assert found == path.with_suffix(".errors").read_text().splitlines()
    for error in parsed.errors:
        assert REMEDY.search(error.message), f"this does not say what to do: {error.message}"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_D14_shipped_tables_have_no_warnings_but_of_what_is_meant(path):
    """Rates and reports are discarded whatever the reason, and what cannot be put back is left for a person: that is
    what the comments above those rules say."""
    parsed = parse(text_of(path), origins=True)
    assert parsed.table is not None
    assert [(warning.line, warning.message.split(":")[0]) for warning in parsed.warnings] == {
        "qm1_dlq": [(15, "DISCARD before RETRY"), (20, "DISCARD before RETRY")],
        "qm1_backout": [(16, "the catch-all is a RETRY")],
    }.get(path.stem, [])


def test_a_problem_shows_line_and_caret():
    error = parse("* c\nDESTQ(A)   ACTION(RETRAY)\n").errors[0]
    assert error.render() == (
        "2:19: 'RETRAY' is not a value of ACTION: write DISCARD, IGNORE, RETRY or FWD\n"
        "    DESTQ(A)   ACTION(RETRAY)\n"
        "                      ^"
    )


def test_keys_survive_line_moves_respelling_and_another_RETRY():
    before = parse("DESTQ('A') REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(D)\n").table
    after = parse(
        "* new\nDESTQ(B) ACTION(DISCARD)\n\naction(fwd) fwdq(d) header(yes)\n"
        "reason(2053), msgtype(*) +\n destq(a) action(retry) retry(5)\n"
    ).table
    assert [rule.key for rule in before.rules] == [after.rules[2].key, after.rules[1].key]


def test_keys_tell_equal_rules_apart():
    table = parse("DESTQ(A) ACTION(RETRY)\nDESTQ(A) ACTION(RETRY)\nDESTQ(A) ACTION(DISCARD)\n").table
    assert len({rule.key for rule in table.rules}) == 3


def test_the_digest_is_the_texts():
    one, two = parse("ACTION(DISCARD)\n"), parse("ACTION(DISCARD) \n")
    assert one.table.rules == two.table.rules
    assert one.table.digest != two.table.digest
