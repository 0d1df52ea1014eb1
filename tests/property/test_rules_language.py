"""The rules language against generated tables: what is meant is what is read, and the plain matcher keeps the law."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqops.rules import choose, parse
from mqops.rules.pattern import Shape, shape_of, wild_match

sys.path.insert(0, str(Path(__file__).parent))
import extension_grammar
import naive_rules
import rule_grammar as grammar
from examples import TIMES

FOLD_TO_OTHERS = "\N{LATIN SMALL LETTER DOTLESS I}\N{LATIN SMALL LETTER LONG S}"
"""Their upper case is I and S."""
PAIRS = int(os.environ.get("MQOPS_RULES_PAIRS", "1000"))
"""Pairs of table and message for the comparison with the naive interpreter."""
MESSAGES = 10
"""Messages made near to each table."""


@given(st.data())
@settings(max_examples=max(1, PAIRS // MESSAGES), deadline=None, suppress_health_check=list(HealthCheck))
def test_D01_D02_D03_D04_a_naive_interpreter_agrees(data):
    meant = data.draw(grammar.tables)
    text = data.draw(grammar.written(meant))
    table, naive_table = parse(text).table, naive_rules.read(text)
    assert [rule.line for rule in table.rules] == [rule.line for rule in naive_table]
    for _ in range(MESSAGES):
        message = data.draw(grammar.messages(meant))
        failed = data.draw(st.dictionaries(st.integers(0, len(naive_table) - 1), st.integers(0, 3)))
        rule = choose(table, message, {table.rules[index].key: tries for index, tries in failed.items()})
        wanted = naive_rules.choose(naive_table, message, failed)
        assert (rule and rule.line) == (wanted and wanted.line)
        if rule is not None:
            assert (rule.action, rule.fwdq, rule.fwdqm, rule.header, rule.putaut) == wanted.action
            assert rule.retry == wanted.retry


@given(st.data())
@settings(max_examples=120 * TIMES, deadline=None)
def test_a_table_means_the_same_however_it_is_written(data):
    meant = data.draw(grammar.tables)
    parsed = parse(data.draw(grammar.written(meant)))
    assert [error.render() for error in parsed.errors] == []
    assert [dict(rule.patterns) for rule in parsed.table.rules] == [
        {name: value.rstrip(" ") if isinstance(value, str) else value for name, value in rule.patterns.items()}
        for rule in meant
    ]
    for rule, wanted in zip(parsed.table.rules, (rule.action for rule in meant), strict=True):
        forward = wanted["ACTION"] == "FWD"
        assert rule.action == wanted["ACTION"]
        assert rule.retry == wanted.get("RETRY", 1)
        assert rule.fwdq == wanted.get("FWDQ", "")
        assert rule.fwdqm == wanted.get("FWDQM", "").rstrip(" ")
        assert rule.header is (forward and wanted.get("HEADER", "YES") == "YES")


@given(st.data())
@settings(max_examples=120 * TIMES, deadline=None)
def test_D07_D09_a_damaged_table_is_an_error_with_a_place_or_another_table(data):
    text, table = hold_damaged(data, data.draw(grammar.written(data.draw(grammar.tables))))
    if table is not None:
        hold_read(table, naive_rules.read(text))


@given(st.data())
@settings(max_examples=60 * TIMES, deadline=None)
def test_D07_a_letter_that_folds_to_another_needs_quotes(data):
    """Facts 1.3: of what may stand without quotes only a to z fold."""
    text = data.draw(grammar.written(data.draw(grammar.tables)))
    alike = [at for at, letter in enumerate(text) if letter.upper() in {one.upper() for one in FOLD_TO_OTHERS}]
    at = data.draw(st.sampled_from(alike))
    other = next(one for one in FOLD_TO_OTHERS if one.upper() == text[at].upper())
    text = text[:at] + other + text[at + 1 :]
    parsed = parse(text)
    if parsed.table is not None:  # it was in quotes, or in a comment
        hold_read(parsed.table, naive_rules.read(text))
    else:
        assert any(other in error.message or other in error.text for error in parsed.errors)


def hold_read(table, naive_table):
    assert [(rule.line, rule.retry) for rule in table.rules] == [(rule.line, rule.retry) for rule in naive_table]
    for rule, wanted in zip(table.rules, naive_table, strict=True):
        assert (rule.action, rule.fwdq, rule.fwdqm, rule.header, rule.putaut) == wanted.action


@given(st.data())
@settings(max_examples=120 * TIMES, deadline=None)
def test_D07_D09_a_damaged_extended_table_is_an_error_with_a_place_or_another_table(data):
    hold_damaged(data, data.draw(extension_grammar.tables()))


def hold_damaged(data, text):
    at = data.draw(st.integers(0, len(text)))
    text = (
        text[:at] + data.draw(st.sampled_from([*"()',*?&+-A0<=>\t\n\0é\udcff", *FOLD_TO_OTHERS, ""])) + text[at + 1 :]
    )
    parsed = parse(text)
    lines = text.split("\n")
    assert (parsed.table is None) == bool(parsed.errors)
    for problem in (*parsed.errors, *parsed.warnings):
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message
    return text, parsed.table


@given(extension_grammar.tables())
@settings(max_examples=100 * TIMES, deadline=None)
def test_a_condition_reads_as_it_is_shown(text):
    rules = parse(text).table.rules
    shown = [" ".join(f"{one.question.keyword}({one})" for one in rule.extensions) for rule in rules]
    again = parse(extension_grammar.HEADER + "".join(f"{conditions} ACTION(RETRY)\n" for conditions in shown)).table
    assert [rule.extensions for rule in again.rules] == [rule.extensions for rule in rules]
    assert parse(text.removeprefix(extension_grammar.HEADER)).table is None


def naive(pattern, field):
    """The law of `mqops.rules.pattern`, word for word, by recursion over a padded field."""
    if pattern == "":
        return field.strip(" ") == ""
    first, rest = pattern[0], pattern[1:]
    if first == "*":
        return any(naive(rest, field[at:]) for at in range(len(field) + 1))
    if field == "":
        return False
    if first == "?":
        return field.strip(" ") != "" and naive(rest, field[1:])
    return field[0] == first and naive(rest, field[1:])


fields = st.text("AB \0é", max_size=8)
globs = st.text("AB ?*\0é", max_size=8).map(lambda pattern: pattern.rstrip(" "))


@given(globs, fields)
@settings(max_examples=800 * TIMES, deadline=None)
def test_wild_match_keeps_the_law(pattern, field):
    assert wild_match(pattern, field, 8) == naive(pattern, field.ljust(8))


@given(globs, fields)
@settings(max_examples=800 * TIMES, deadline=None)
def test_a_shape_asks_the_same_question(pattern, field):
    shaped, stripped = shape_of(pattern), field.rstrip(" ")
    answers = {
        Shape.ANY: lambda: True,
        Shape.NOT_BLANK: lambda: stripped != "",
        Shape.EQUALS: lambda: stripped == shaped.text,
        Shape.STARTS: lambda: stripped.startswith(shaped.text),
        Shape.ENDS: lambda: stripped.endswith(shaped.text),
        Shape.CONTAINS: lambda: shaped.text in stripped,
    }
    answer = answers.get(shaped.shape)
    if answer is not None:
        assert answer() == naive(pattern, field.ljust(8))
