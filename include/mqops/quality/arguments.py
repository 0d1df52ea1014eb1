"""Values of a suite's arguments: the right kind for their column, MQ's constants by name; errors say what is wanted."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from mqops.counted import counted
from mqops.quality.columns import Column, ColumnKind
from mqops.quality.regex import problem_of
from mqops.quality.suite import Argument, QuantileRanges
from mqops.quality.vocabulary import Takes
from mqops.quality.where import Value
from mqops.settings_file import found
from mqwire.names import values

GROUPS = ("MQAT", "MQCCSI", "MQEI", "MQENC", "MQFB", "MQMF", "MQMT", "MQOL", "MQPER", "MQPRI", "MQRC", "MQRCCF", "MQRO")
"""The groups of MQ's constants that fields of a message have values of."""
_Number = (
    Annotated[int, Strict(), Field(ge=-(2**63), lt=2**63)]
    | Annotated[float, Strict(), AllowInfNan(allow_inf_nan=False)]
)
_TYPES: Mapping[Takes | ColumnKind, TypeAdapter[Value]] = {
    **{kind: TypeAdapter(_Number) for kind in (Takes.NUMBER, ColumnKind.NUMBER)},
    Takes.COUNT: TypeAdapter(Annotated[int, Strict(), Field(ge=0)]),
    Takes.NOT_NEGATIVE: TypeAdapter(Annotated[_Number, Field(ge=0)]),
    Takes.SHARE: TypeAdapter(Annotated[_Number, Field(ge=0, le=1)]),
    **{kind: TypeAdapter(Annotated[bool, Strict()]) for kind in (Takes.FLAG, ColumnKind.FLAG)},
    ColumnKind.TEXT: TypeAdapter(Annotated[str, Strict()]),
}


def numbers_by_name() -> dict[str, int]:
    """The numeric constants of the fields of a message."""
    return values(*GROUPS)


def argument_value(value: object, takes: Takes, column: Column | None = None, other: Column | None = None) -> Argument:
    """The value of an argument.

    Args:
        value: what the file says.
        takes: what the argument is for.
        column: the column that the expectation is about, for values of its kind.
        other: the second one of a pair.

    Raises:
        ValueError: the value is of another kind; the text says what it must be.
    """
    if takes is Takes.VALUES:
        if not isinstance(value, list) or not value:
            raise ValueError(f"must be a list of at least one value (found {found(value)})")
        return tuple(column_value(one, column) for one in value)
    if takes is Takes.PAIRS:
        return _pairs(value, column, other)
    if takes is Takes.VALUE:
        return column_value(value, column)
    if takes is Takes.NUMBER and column is not None and column.kind is ColumnKind.TIME:
        return _instant(value)
    return _READ[takes](value) if takes in _READ else value_of(value, takes)


def column_value(value: object, column: Column | None) -> Value:
    """A value as the column has them; any value where there is no column. Raises ValueError: it is of another kind."""
    if column is not None:
        return value_of(value, column.kind)
    if isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"must be a value (found {found(value)})")


def _pairs(value: object, column: Column | None, other: Column | None) -> tuple[tuple[Value, ...], ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"must be {Takes.PAIRS.value} (found {found(value)})")
    pairs = []
    for one in value:
        if not isinstance(one, list) or len(one) != 2:
            raise ValueError(f"must be {Takes.PAIRS.value} (found {found(one)} in it)")
        pairs.append((column_value(one[0], column), column_value(one[1], other)))
    return tuple(pairs)


class _Quantiles(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    quantiles: Annotated[list[Annotated[_Number, Field(ge=0, le=1)]], Field(min_length=1)]
    value_ranges: list[Annotated[list[_Number | None], Field(min_length=2, max_length=2)]]


def _quantiles(value: object) -> QuantileRanges:
    try:
        read = _Quantiles.model_validate(value)
    except ValidationError as error:
        raise ValueError(f"must be {Takes.QUANTILES.value} (found {found(value)})") from error
    if len(read.quantiles) != len(read.value_ranges):
        numbers = f"{counted(len(read.quantiles), 'quantile')} and {counted(len(read.value_ranges), 'range')}"
        raise ValueError(f"must have as many value_ranges as quantiles (found {numbers})")
    for low, high in read.value_ranges:
        if low is not None and high is not None and low > high:
            raise ValueError(f"must have the lower bound of a range first (found {low} and {high})")
    ranges = tuple((low, high) for low, high in read.value_ranges)
    return QuantileRanges(quantiles=tuple(map(float, read.quantiles)), value_ranges=ranges)


def _one_of(*words: str) -> Callable[[object], Value]:
    def checked(value: object) -> Value:
        if value not in words or not isinstance(value, str):
            raise ValueError(f"must be {' or '.join(words)} (found {found(value)})")
        return value

    return checked


def value_of(value: object, kind: Takes | ColumnKind) -> Value:
    """A value of a kind. A number may be the name of a constant, such as MQMT_REQUEST.

    Raises:
        ValueError: it is of another kind.
    """
    if kind in (Takes.NUMBER, ColumnKind.NUMBER) and isinstance(value, str) and value.startswith("MQ"):
        return _constant(value)
    try:
        if kind in _TYPES:
            return _TYPES[kind].validate_python(value)
    except ValidationError:
        pass
    quotes = "; put it in quotes" if kind is ColumnKind.TEXT else ""
    raise ValueError(f"must be {kind.value} (found {found(value)}){quotes}")


def _constant(name: str) -> int:
    known = numbers_by_name()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise ValueError(f"there is no constant {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return known[name]


def _instant(value: object) -> datetime:
    """A date or time in UTC; YAML reads one without quotes as a date."""
    try:
        given = datetime.fromisoformat(str(value)) if isinstance(value, str | date) else None
    except ValueError:
        given = None
    if given is None:
        raise ValueError(f"must be a date, such as 2026-11-26 (found {found(value)})")
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def _form(value: object) -> str:
    sample = datetime(2026, 11, 26, tzinfo=UTC)
    try:
        if isinstance(value, str) and "%" in value and datetime.strptime(sample.strftime(value), value):
            return value
    except ValueError:
        pass
    raise ValueError(f"must be {Takes.FORM.value} (found {found(value)})")


def _regex(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a regular expression in quotes (found {found(value)})")
    if problem := problem_of(value):
        raise ValueError(problem)
    return value


def _regexes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"must be {Takes.REGEXES.value} (found {found(value)})")
    return tuple(_regex(one) for one in value)


def _file(value: object) -> Value:
    return value_of(value, ColumnKind.TEXT)


_READ: Mapping[Takes, Callable[[object], Argument]] = {
    Takes.REGEX: _regex,
    Takes.REGEXES: _regexes,
    Takes.QUANTILES: _quantiles,
    Takes.FORM: _form,
    Takes.MATCH_ON: _one_of("any", "all"),
    Takes.METHOD: _one_of("iqr", "std"),
    Takes.JSON_SCHEMA: _file,
    Takes.XML_SCHEMA: _file,
    **dict.fromkeys((Takes.QUEUE, Takes.FILE, Takes.FILE_COLUMN, Takes.OTHER_COLUMN), _file),
}
