"""Values of a suite's arguments: the right kind for their column, MQ's constants by name; errors say what is wanted."""

from __future__ import annotations

import difflib
import math

from mqops.quality.columns import Column, ColumnKind
from mqops.quality.regex import problem_of
from mqops.quality.suite import Argument
from mqops.quality.vocabulary import Takes
from mqops.quality.where import Value
from mqops.settings_file import found
from mqwire.names import values

GROUPS = ("MQAT", "MQCCSI", "MQEI", "MQENC", "MQFB", "MQMF", "MQMT", "MQOL", "MQPER", "MQPRI", "MQRC", "MQRCCF", "MQRO")
"""The groups of MQ's constants that fields of a message have values of."""


def numbers_by_name() -> dict[str, int]:
    """The numeric constants of the fields of a message."""
    return values(*GROUPS)


def argument_value(value: object, takes: Takes, column: Column | None) -> Argument:
    """The value of an argument.

    Args:
        value: what the file says.
        takes: what the argument is for.
        column: the column that the expectation is about, for values of its kind.

    Raises:
        ValueError: the value is of another kind; the text says what it must be.
    """
    if takes is Takes.VALUES:
        if not isinstance(value, list) or not value:
            raise ValueError(f"must be a list of at least one value (found {found(value)})")
        return tuple(column_value(one, column) for one in value)
    if takes is Takes.VALUE:
        return column_value(value, column)
    if takes is Takes.FLAG:
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false (found {found(value)})")
        return value
    if takes is Takes.REGEX:
        return _regex(value)
    return _number(value, takes)


def column_value(value: object, column: Column | None) -> Value:
    """A value as the column has them. A number's column takes the name of a constant too, such as MQMT_REQUEST.

    Raises:
        ValueError: it is of another kind.
    """
    kind = column.kind if column else None
    if kind is ColumnKind.NUMBER:
        return _number(value, Takes.NUMBER)
    if kind is ColumnKind.FLAG and isinstance(value, bool):
        return value
    if kind is ColumnKind.TEXT and isinstance(value, str):
        return value
    if kind is None and isinstance(value, (str, int, float)):
        return value
    wanted = kind.value if kind else "a value"
    raise ValueError(
        f"must be {wanted} (found {found(value)}){'; put it in quotes' if kind is ColumnKind.TEXT else ''}"
    )


def _number(value: object, takes: Takes) -> int | float:
    if takes is Takes.NUMBER and isinstance(value, str) and value.startswith("MQ"):
        return _constant(value)
    right = isinstance(value, (int, float)) and not isinstance(value, bool)
    if right and takes is Takes.COUNT:
        right = isinstance(value, int) and value >= 0
    elif right and takes is Takes.SHARE:
        right = isinstance(value, (int, float)) and 0 <= value <= 1
    if not right or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"must be {takes.value} (found {found(value)})")
    assert isinstance(value, (int, float))
    return value


def _constant(name: str) -> int:
    known = numbers_by_name()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise ValueError(f"there is no constant {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return known[name]


def _regex(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a regular expression in quotes (found {found(value)})")
    problem = problem_of(value)
    if problem:
        raise ValueError(problem)
    return value
