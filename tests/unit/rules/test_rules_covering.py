"""Proofs about patterns and rules: against tables, and against every field there is over a small alphabet."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.rules import parse
from mqops.rules.covering import covers, overlap
from mqops.rules.pattern import text_match, wild_match
from mqops.rules.pattern_proofs import Proofs, TooMuch

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
    ("*A" + "?" * 6, "*A" + "?" * 6, True),
    ("*?A", "?*A", True),
]


@pytest.mark.parametrize(("wider", "narrower", "expected"), COVERED)
def test_pattern_covers(wider, narrower, expected):
    assert Proofs().covers(wider, narrower, 8) is expected


# A and B may stand in a pattern, C stands for everything else.
FIELDS = list(map("".join, product(" ABC", repeat=3)))
patterns = st.text("AB ?*", max_size=5).filter(lambda p: len(p) - p.count("*") <= 3).map(lambda p: p.rstrip(" "))


@given(patterns, patterns)
@settings(max_examples=600, deadline=None)
def test_a_proof_is_what_trying_every_field_gives(wider, narrower):
    tried = all(wild_match(wider, field, 3) for field in FIELDS if wild_match(narrower, field, 3))
    assert Proofs().covers(wider, narrower, 3) is tried


@given(patterns, patterns)
@settings(max_examples=600, deadline=None)
def test_patterns_meet_where_a_field_matches_both(one, two):
    tried = any(wild_match(one, field, 3) and wild_match(two, field, 3) for field in FIELDS)
    assert Proofs().meet(one, two, 3) is tried


# Without a width a text that shows a difference is as long as the letters and ? of both patterns at most.
TEXTS = ["".join(text) for length in range(7) for text in product("AB C", repeat=length) if text[-1:] != (" ",)]
short = st.text("AB ?*", max_size=4).map(lambda p: p.rstrip(" ")).filter(lambda p: len(p) - p.count("*") <= 3)


@given(short, short)
@settings(max_examples=200, deadline=None)
def test_a_text_has_no_width(one, two):
    matched = [(text_match(one, text), text_match(two, text)) for text in TEXTS]
    assert Proofs().covers(one, two, None) is all(wide for wide, narrow in matched if narrow)
    assert Proofs().meet(one, two, None) is any(wide and narrow for wide, narrow in matched)


def test_a_text_has_no_padding():
    assert not Proofs().covers("A *", "A", None)
    assert Proofs().covers("A*", "A *", None)
    assert not Proofs().meet("A *", "A", None)


def test_patterns_of_many_wildcards_are_compared():
    assert Proofs().covers("*A" + "?" * 30 + "*", "*A" + "?" * 31 + "*", 48)
    assert not Proofs().covers("*A" + "?" * 31 + "*", "*A" + "?" * 30 + "*", 48)


def test_proofs_end_where_there_are_no_more_steps():
    proofs = Proofs(most_steps=50)
    with pytest.raises(TooMuch):
        proofs.covers("*A" + "?" * 30, "*A" + "?" * 30, 48)
    with pytest.raises(TooMuch):
        proofs.meet("A", "A", 48)


def test_a_comparison_of_numbers_is_a_step():
    one, two = parse("REASON(2053) ACTION(DISCARD)\nREASON(2085) ACTION(RETRY)\n").table.rules
    proofs = Proofs(most_steps=2)
    assert not covers(one, two, proofs)
    assert not overlap(one, two, proofs)
    with pytest.raises(TooMuch):
        covers(one, two, proofs)
    with pytest.raises(TooMuch):
        overlap(one, two, proofs)


APART = [
    ("A" * 20 + "B*", "A" * 20 + "C*"),
    ("*B" + "A" * 20, "*C" + "A" * 20),
    ("A" * 20, "A" * 21 + "*"),
    ("A*" + "?A" * 10 + "B", "A*" + "?A" * 10 + "C"),
]


@pytest.mark.parametrize(("one", "two"), APART)
def test_letters_before_and_behind_wildcards_take_one_step(one, two):
    for width in (48, None):
        assert not Proofs(most_steps=1).meet(one, two, width)
        assert not Proofs(most_steps=1).covers(one, two, width)


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
    assert covers(*table.rules, Proofs()) is expected


EXTENDED = [
    ("AGE(>1h)", "AGE(>2h)", True, True),
    ("AGE(>2h)", "AGE(>1h)", False, True),
    ("AGE(<1h)", "AGE(>=1h)", False, False),
    ("AGE(>=1h)", "AGE(>3599s)", True, True),
    ("AGE(>=0s)", "", False, True),  # an AGE not every message has, and it may be less
    ("PRIORITY(>=0)", "", True, True),
    ("PRIORITY(<=8)", "", False, True),
    ("PRIORITY(>8)", "PRIORITY(=9)", True, True),
    ("PRIORITY(=3)", "PRIORITY(=4)", False, False),
    ("SIZE(>=0) BACKOUT(>=0)", "REASON(2053)", True, True),
    ("SIZE(>5) SIZE(<9)", "SIZE(>6) SIZE(<8)", True, True),
    ("SIZE(>5)", "BACKOUT(>6)", False, True),
    ("PROP('usr.a'='X*')", "PROP('usr.a'='XY')", True, True),
    ("PROP('usr.a'='X')", "PROP('usr.a'='Y')", False, False),
    ("PROP('usr.a'='*')", "", False, True),
    ("PROP('usr.a'='*')", "PROP('usr.b'='X')", False, True),
    ("PROP('usr.a'='X*')", "PROP('usr.a'='*Y') PROP('usr.a'='X?*')", True, True),
    ("BODY('*test*')", "BODY('a test')", True, True),
    ("BODY('*')", "BODY(JSON '$.a'='*')", False, True),
    ("BODY(JSON '$.a'='X*')", "BODY(XPATH '/a'='Y')", False, True),
]


@pytest.mark.parametrize(("first", "second", "covered", "met"), EXTENDED)
def test_covers_and_overlap_with_extensions(first, second, covered, met):
    table = parse(f"* MQOPS EXTENSIONS\n{first} ACTION(RETRY)\n{second} ACTION(RETRY)\n").table
    assert covers(*table.rules, Proofs()) is covered
    assert overlap(*table.rules, Proofs()) is met
    assert overlap(*reversed(table.rules), Proofs()) is met
