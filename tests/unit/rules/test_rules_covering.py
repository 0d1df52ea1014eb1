"""Proof that a pattern covers another: against a table, and against every field there is over a small alphabet."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.rules import parse
from mqops.rules.covering import covers, pattern_covers
from mqops.rules.pattern import wild_match

COVERED = [
    ("*", "A", True),
    ("A*", "AB", True),
    ("A*", "AB*", True),
    ("AB*", "A*", False),
    ("A?", "A*", False),
    ("A*", "A", True),
    ("?*", "A*", True),
    ("?*", "*A", True),
    ("?*", "*", False),
    ("*A*", "*A", True),
    ("*A*B*", "*B*A*", False),
    ("A*B", "A*C*B", True),
    ("????????*", "????????", True),
    ("????????", "????????*", True),  # the field has 8 characters and no more
    ("???????", "????????", False),
    ("A *", "A", True),  # the padding gives the blank
    ("A", "A *", False),  # "A B" is a field, too
    ("", " *", False),
    ("* *", "A?", True),
]


@pytest.mark.parametrize(("wider", "narrower", "expected"), COVERED)
def test_pattern_covers(wider, narrower, expected):
    assert pattern_covers(wider, narrower, 8) is expected


# A and B may stand in a pattern, C stands for everything else.
FIELDS = list(map("".join, product(" ABC", repeat=3)))
patterns = st.text("AB ?*", max_size=5).filter(lambda p: len(p) - p.count("*") <= 3).map(lambda p: p.rstrip(" "))


@given(patterns, patterns)
@settings(max_examples=600)
def test_a_proof_is_what_trying_every_field_gives(wider, narrower):
    tried = all(wild_match(wider, field, 3) for field in FIELDS if wild_match(narrower, field, 3))
    assert pattern_covers(wider, narrower, 3) is tried


def test_a_proof_that_grows_too_large_is_given_up():
    assert not pattern_covers("*A" + "?" * 30 + "*", "*A" + "?" * 31 + "*", 48)


RULES = [
    ("ACTION(DISCARD)", "DESTQ(A) ACTION(RETRY)", True),
    ("DESTQ(*) ACTION(DISCARD)", "REASON(1) ACTION(RETRY)", True),
    ("DESTQ(A) ACTION(DISCARD)", "ACTION(RETRY)", False),
    ("REASON(1) ACTION(DISCARD)", "REASON(1) DESTQ(A) ACTION(RETRY)", True),
    ("REASON(1) ACTION(DISCARD)", "REASON(2) DESTQ(A) ACTION(RETRY)", False),
    ("REASON(1) ACTION(DISCARD)", "REASON(*) ACTION(RETRY)", False),
    ("REASON(1) DESTQ(A*) ACTION(DISCARD)", "DESTQ(AB) REASON(1) USERID(x) ACTION(RETRY)", True),
    ("USERID('************????????????') ACTION(DISCARD)", "USERID('????????????') ACTION(RETRY)", True),
]


@pytest.mark.parametrize(("first", "second", "expected"), RULES)
def test_covers(first, second, expected):
    table = parse(f"{first}\n{second}\n").table
    assert table is not None
    assert covers(*table.rules) is expected
