"""One MQSC command → statement."""

from __future__ import annotations

import pytest

from mqlite.mqsc.parser import SyntaxProblem, parse


def parameters(text: str) -> list[tuple[str, tuple[str, ...] | None]]:
    return [(parameter.keyword, parameter.values) for parameter in parse(text).parameters]


@pytest.mark.parametrize(
    ("text", "verb", "noun", "name"),
    [
        ("define qlocal(a.b)", "DEFINE", "QLOCAL", "A.B"),  # unquoted: upper case
        ("DEF QL('a.b')", "DEFINE", "QLOCAL", "a.b"),  # quoted: as written
        ('def ql("a.b")', "DEFINE", "QLOCAL", "a.b"),
        ("ALTER QLOCAL ('Account' )      TRIGDPTH ( 1)", "ALTER", "QLOCAL", "Account"),
        ("ALT QMGR", "ALTER", "QMGR", None),
        ("DIS CHS(*)", "DISPLAY", "CHSTATUS", "*"),
        ("DISP QUEUE(SYSTEM.*)", "DISPLAY", "QUEUE", "SYSTEM.*"),
        ("STA CHL(A)", "START", "CHANNEL", "A"),
        ("REFRESH SECURITY(*)", "REFRESH", "SECURITY", "*"),
    ],
)
def test_verb_noun_and_name(text: str, verb: str, noun: str, name: str | None) -> None:
    statement = parse(text)
    assert (statement.verb, statement.noun, statement.name) == (verb, noun, name)


def test_parameters_with_and_without_values() -> None:
    text = "DEF QL(A) REPLACE, DESCR('it''s') ,MAXDEPTH( 5 ) TRIGGER"
    expected = [("REPLACE", None), ("DESCR", ("it's",)), ("MAXDEPTH", ("5",)), ("TRIGGER", None)]
    assert parameters(text) == expected


def test_lists_and_filters() -> None:
    assert parameters("DEF NL(A) NAMES(X, Y Z)") == [("NAMES", ("X", "Y", "Z"))]
    assert parameters("DEF NL(A) NAMES()") == [("NAMES", ())]
    assert parameters("DIS Q(*) WHERE(DESCR LK 'ab*')") == [("WHERE", ("DESCR", "LK", "ab*"))]
    assert parameters("DIS NL(*) WHERE(NAMES CT ('x'))") == [("WHERE", ("NAMES", "CT", "x"))]


@pytest.mark.parametrize(
    ("text", "segment"),
    [
        ("MAKE QL(A)", "MAKE "),
        ("DEFINE THING(A)", "DEFINE THING"),
        ("DEF QL(A", "DEF QL(A"),
        ("DEF QL(A) DESCR('x", "DEF QL(A) DESCR('x"),
        ("DEF QL(A) )", "DEF QL(A) )"),
        ("DEF CHL(A) CONNAME(host(1414))", "DEF CHL(A) CONNAME(host("),  # parentheses in a value need quotes
        ("DEF QL(A B)", "DEF QL(A B)"),
    ],
)
def test_an_error_names_the_segment_up_to_it(text: str, segment: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(text)
    assert caught.value.segment == segment


@pytest.mark.parametrize("twice", ["MAXDEPTH(1) MAXDEPTH(1)", "REPLACE NOREPLACE", "NOTRIGGER TRIGGER"])
def test_a_keyword_given_twice_is_an_error(twice: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(f"DEF QL(A) {twice}")
    assert caught.value.message == "AMQ8411E"
