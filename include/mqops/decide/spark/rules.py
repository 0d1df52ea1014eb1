"""A rules table as one native column expression: no Python runs per row.

The plain matcher (`mqops.rules.choose`) and this module must agree on every message; a property test holds them equal.
A pattern becomes the cheapest expression of its shape, a rule a conjunction with its cheapest tests first, the table a
CASE WHEN, which stops at the first rule that holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import and_
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

from mqops.actions import Action
from mqops.decide.spark.conditions import holds
from mqops.observe.spark.schema import SNAPSHOT
from mqops.rules import Rule, Table
from mqops.rules.conditions import Condition
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.pattern import Shape, glob_regex, shape_of

SHARED = 3
"""So many neighbouring rules with the same first test share it; fewer gain nothing."""

Test: TypeAlias = tuple[str, str | int] | Condition
"""A keyword and what it must match, or a condition of an extended rule."""
RuleTests: TypeAlias = tuple[Rule, tuple[Test, ...]]
"""A rule and those of its tests that are not yet answered."""


def compared(table: Table) -> list[str]:
    """The pattern keywords that any rule of the table looks at."""
    return sorted({name for rule in table.rules for name in rule.conditions()})


def or_empty(column: str) -> Column:
    """A column of the snapshot, never null, so that the code of each test is half as long; messages without an MQDLH
    are not matched anyway."""
    kind = SNAPSHOT[column].dataType.typeName()
    return F.coalesce(F.col(column), F.lit("") if kind == "string" else F.lit(0))


def chosen_rule(table: Table, columns: Mapping[str, Column], tries: Column | None = None) -> Column:
    """The index of the rule whose action is taken now, or null (D01-D04).

    Parameters: `columns` maps pattern keywords to columns without trailing blanks, never null, and keys of extensions'
    questions to their answers; `tries` is a map column from a rule's key to its failed tries, null or without the key
    meaning none; None if no message has any.
    """
    return _first([(rule, _tests(rule)) for rule in table.rules], columns, tries)


def _first(rules: Sequence[RuleTests], columns: Mapping[str, Column], tries: Column | None) -> Column:
    """The first of these rules whose open tests hold, or null.

    Neighbours that begin with the same test share it: a failed test skips them all. If no rule of such a group holds,
    the search goes on: hence the coalesce, which stops at its first value as CASE WHEN does.
    """
    steps: list[Column] = []
    singles: list[RuleTests] = []
    for test, group in groupby(rules, key=lambda one: one[1][:1]):
        members = list(group)
        if not test or len(members) < SHARED:
            singles += members
            continue
        steps += _case(singles, columns, tries)
        singles = []
        inner = _first([(rule, tests[1:]) for rule, tests in members], columns, tries)
        steps.append(F.when(_test(test[0], columns), inner))
    steps += _case(singles, columns, tries)
    return steps[0] if len(steps) == 1 else F.coalesce(*steps)


def _case(rules: Sequence[RuleTests], columns: Mapping[str, Column], tries: Column | None) -> list[Column]:
    """One CASE WHEN over these rules; an empty list for no rules."""
    case: Column | None = None
    for rule, tests in rules:
        condition = reduce(and_, [_test(test, columns) for test in tests] + _left(rule, tries), F.lit(True))
        case = (F if case is None else case).when(condition, F.lit(rule.index))
    return [] if case is None else [case]


def _left(rule: Rule, tries: Column | None) -> list[Column]:
    """That the rule has tries left for the message; IGNORE always has."""
    if tries is None or rule.action == Action.IGNORE:
        return []
    failed = F.coalesce(F.element_at(tries, F.lit(rule.key)), F.lit(0))
    return [tries.isNull() | (failed < rule.retry)]


def _tests(rule: Rule) -> tuple[Test, ...]:
    """A rule's conditions, the cheapest first, those of extensions last."""
    tests = sorted(rule.conditions().items(), key=lambda test: (_cost(*test), test[0]))
    return (*tests, *sorted(rule.extensions, key=lambda one: (_text_cost(one.value), one.question)))


_COST = {shape: cost for cost, shape in enumerate(Shape)}


def _cost(name: str, value: str | int) -> int:
    """Numbers first, then texts from equality to regular expressions."""
    return -1 if KEYWORDS[name].kind is ValueKind.NUMBER else _text_cost(value)


def _text_cost(value: str | int) -> int:
    return -1 if isinstance(value, int) else _COST[shape_of(value).shape]


_TESTS: dict[Shape, Callable[[Column, str, int], Column]] = {
    Shape.ANY: lambda column, text, width: F.lit(True),
    Shape.NOT_BLANK: lambda column, text, width: column != F.lit(""),
    Shape.EQUALS: lambda column, text, width: column == F.lit(text),
    Shape.STARTS: lambda column, text, width: column.startswith(F.lit(text)),
    Shape.ENDS: lambda column, text, width: column.endswith(F.lit(text)),
    Shape.CONTAINS: lambda column, text, width: column.contains(F.lit(text)),
    Shape.GLOB: lambda column, text, width: _glob(column, text),
    Shape.PADDED: lambda column, text, width: F.rpad(column, width, " ").rlike(
        glob_regex(text, one=r"(?! *\z).", end=r" *\z")
    ),
}


def _test(test: Test, columns: Mapping[str, Column]) -> Column:
    if isinstance(test, Condition):
        return holds(test, columns[test.question.key], like)
    name, value = test
    keyword, column = KEYWORDS[name], columns[name]
    if keyword.kind is ValueKind.NUMBER:
        return column == F.lit(value)
    shaped = shape_of(str(value))
    return _TESTS[shaped.shape](column, shaped.text, keyword.length)


def like(column: Column, pattern: str) -> Column:
    """Whether a text of any length, without trailing blanks, matches a pattern; there is no padding."""
    shaped = shape_of(pattern)
    return _glob(column, pattern) if shaped.shape is Shape.PADDED else _TESTS[shaped.shape](column, shaped.text, 0)


def _glob(column: Column, pattern: str) -> Column:
    """Pieces of text in order: by length where all wildcards stand at the end, else by a regular expression behind a
    cheap test that most fields fail, the text the pattern begins or ends with."""
    first, *_, last = re.split(r"[*?]", pattern)
    wildcards = pattern[len(first) :]
    if set(wildcards) <= set("*?"):
        least = len(first) + wildcards.count("?")
        length = F.length(column)
        return column.startswith(F.lit(first)) & (length >= least if "*" in wildcards else length == least)
    regex = column.rlike(glob_regex(pattern))
    if first:
        return column.startswith(F.lit(first)) & regex
    if last:
        return column.endswith(F.lit(last)) & regex
    longest = max(re.split(r"[*?]+", pattern), key=len)
    return column.contains(F.lit(longest)) & regex if longest else regex
