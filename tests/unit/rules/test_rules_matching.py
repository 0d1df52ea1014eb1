"""Patterns against fields, and every pattern keyword. The order of the search is in tests/spec."""

from __future__ import annotations

import pytest

from mqops.rules import matches, parse
from mqops.rules.pattern import wild_match

PATTERNS = [
    ("ABC", "ABC", True),
    ("ABC", "ABC     ", True),  # padding does not matter
    ("ABC", "ABCD", False),
    ("ABC", "AB", False),
    ("ABC", "abc", False),  # no folding of the message
    ("ABC", "ABC\0\0\0\0\0", False),  # a NUL is no blank
    ("ABC*", "ABC\0\0\0\0\0", True),
    ("ABC\0", "ABC\0", True),
    ("", "", True),  # FORMAT(' ') is for blank fields
    ("", "A", False),
    ("", "\0", False),
    ("*", "", True),
    ("**", "A", True),
    ("?", "A", True),
    ("?", "", False),  # ? does not take a trailing blank
    ("?", "AB", False),
    ("?*", "A", True),
    ("?*", "", False),
    ("*?", "", False),
    ("*?*?*", "A", False),
    ("A?C", "ABC", True),
    ("A?C", "A C", True),  # an embedded blank is a character
    ("A?", "A", False),
    ("A?*", "A", False),
    ("?????????", "12345678", False),
    ("A*C", "AC", True),
    ("A*C", "ABBC  ", True),
    ("A*C", "ACB", False),
    ("A*C*", "ACBCD", True),
    ("*B", "AB      ", True),
    ("*B", "ABA", False),
    ("*A*B*", "xxAxxBxx", True),
    ("*AB*AB", "ABAB", True),
    ("*AB*AB", "AB", False),
    ("*AAB", "AAAB", True),
    ("A B", "A B", True),
    ("A B", "AB", False),
    (" A", " A", True),
    (" A", "A", False),
    ("A *", "A", True),  # a blank in a pattern takes a blank of the padding
    ("A *", "AB", False),
    ("A *", "12345678", False),
    ("* *", "1234567", True),
    ("* *", "12345678", False),  # no padding left
    ("A  *  *", "A", True),
    ("?* *", "", False),  # ? takes no blank of the padding, though a blank in the pattern does
    ("A ?* *", "A", False),
    ("A ?* *", "A B", True),
    ("?      *", "A", True),
    ("?       *", "AB", False),
    ("*\N{EURO SIGN}", "1\N{EURO SIGN}", True),
    ("*A*A*A*A*A*A*B", "A" * 48, False),
]


@pytest.mark.parametrize(("pattern", "value", "expected"), PATTERNS)
def test_wild_match(pattern, value, expected):
    assert wild_match(pattern, value, 8) is expected


def table_of(text):
    table = parse(text).table
    assert table is not None
    return table


NUMBERS = ["APPLTYPE", "FEEDBACK", "MSGTYPE", "PERSIST", "REASON"]
TEXTS = ["APPLIDAT", "APPLNAME", "DESTQ", "DESTQM", "FORMAT", "REPLYQ", "REPLYQM", "USERID"]


@pytest.mark.parametrize("keyword", NUMBERS + TEXTS)
def test_every_pattern_keyword_is_compared(keyword):
    rule = table_of(f"{keyword}(7) ACTION(DISCARD)\n").rules[0]
    seven, eight = (7, 8) if keyword in NUMBERS else ("7", "8")
    assert matches(rule, {keyword: seven})
    assert not matches(rule, {keyword: eight})
    assert not matches(rule, {})  # a missing field is blank or 0


def test_all_patterns_of_a_rule_must_match():
    rule = table_of("DESTQ(A*) REASON(1) MSGTYPE(*) ACTION(DISCARD)\n").rules[0]
    assert matches(rule, {"DESTQ": "AB", "REASON": 1, "MSGTYPE": 8})
    assert not matches(rule, {"DESTQ": "AB", "REASON": 2})
    assert not matches(rule, {"DESTQ": "B", "REASON": 1})
