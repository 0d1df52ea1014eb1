"""A suite as a value: what is expected of the messages of some queues. `suite_file` reads one from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from mqops.message_checks import OnFailure
from mqops.quality.columns import COLUMNS, PROBLEM, problem_columns
from mqops.quality.payload import Asked
from mqops.quality.units import about_values, with_unit
from mqops.quality.vocabulary import EXPECTATIONS, Expectation
from mqops.quality.where import Condition, Value, chosen

if TYPE_CHECKING:
    import pyarrow as pa

OF_NULLS = (
    "column_values_to_be_null",
    "column_values_to_not_be_null",
    "column_proportion_of_non_null_values_to_be_between",
)
"""Expectations that are about a message without a value, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileRanges:
    """Quantiles of a column (0 to 1), and for each the bounds of its value, None for no bound."""

    quantiles: tuple[float, ...]
    value_ranges: tuple[tuple[float | None, float | None], ...]

    def as_gx(self) -> dict[str, object]:
        """As the argument of GX's expectation."""
        return {"quantiles": [*self.quantiles], "value_ranges": [[*one] for one in self.value_ranges]}

    def __str__(self) -> str:
        pairs = zip(self.quantiles, self.value_ranges, strict=True)
        return ", ".join(f"{quantile:g} from {_bound(low)} to {_bound(high)}" for quantile, (low, high) in pairs)


def _bound(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


Argument = Value | datetime | QuantileRanges | tuple[Value | tuple[Value, ...], ...]
Arguments: TypeAlias = Mapping[str, Any]
"""GX's arguments by name, for who computes an expectation: it knows the kind of each, an `Argument`."""


def as_gx(value: Argument) -> object:
    """An argument as Great Expectations has it."""
    if isinstance(value, QuantileRanges):
        return value.as_gx()
    return [as_gx(one) for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One expectation of a suite.

    Attributes:
        id: its name in tables and reports, unique in the suite.
        columns: what it is about: one for most, two for a pair, none for the whole table.
        arguments: GX's arguments but the columns.
        mostly: share of messages, 0 to 1, that must satisfy it.
        on_failure: what a gate does where it fails (`mqops.quality.gate`); nothing else looks at it.
        where: which messages it is about; all where empty.
        why: what a failure means, for the person who reads the report.
        line: where it stands in its file.
        also: columns that it needs besides.
    """

    id: str
    expectation: Expectation
    columns: tuple[str, ...] = ()
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    mostly: float = 1.0
    severity: str = "critical"
    on_failure: OnFailure = OnFailure.STOP
    where: tuple[Condition, ...] = ()
    why: str = ""
    line: int = 0
    also: tuple[str, ...] = ()

    def computed(self) -> Check:
        """The check by which it is computed: itself, unless its expectation says another one."""
        if not self.expectation.by:
            return self
        arguments = dict(self.expectation.by_arguments)
        return replace(self, expectation=EXPECTATIONS[self.expectation.by], arguments=arguments)

    def domain(self) -> dict[str, str | list[str]]:
        """The columns as GX's arguments."""
        names = self.expectation.domain
        if names == ("column_list",):
            return {"column_list": list(self.columns)}
        return dict(zip(names, self.columns, strict=True))

    def sentence(self) -> str:
        """The check in words, for the pages: name, severity, what is expected of which messages, and why."""
        given = ", ".join(f"{name} {_shown(value)}" for name, value in self.arguments.items())
        share = "" if self.mostly == 1 else f" of {self.mostly:.4g} of the messages"
        about = f" where {' and '.join(map(str, self.where))}" if self.where else ""
        expected = f"{self.expectation.name.replace('_', ' ')} {given}".strip() + share + about
        return f"{self.id} ({self.severity}): {expected}{f' – {self.why}' if self.why else ''}"

    def limits(self) -> str:
        """What the arguments ask for, in words: "at least 1, at most 9", the values of a set, a regular expression."""
        strict = {name for name in ("strict_min", "strict_max") if self.arguments.get(name)}
        words = {
            "min_value": "more than" if "strict_min" in strict else "at least",
            "max_value": "less than" if "strict_max" in strict else "at most",
            **dict.fromkeys(("value_set", "regex", "regex_list", "schema_file", "value", "quantile_ranges"), ""),
        }
        columns = self.columns if about_values(self.expectation.name) else ()
        given = [
            f"{words.get(name, name.replace('_', ' '))} {_shown(value, columns)}".strip()
            for name, value in self.arguments.items()
            if not name.startswith("strict_")
        ]
        share = [] if self.mostly == 1 else [f"in {100 * self.mostly:.4g} % of the messages"]
        return ", ".join([*given, *share])


def _shown(value: Argument, columns: tuple[str, ...] = ()) -> str:
    values = value if isinstance(value, tuple) else (value,)
    texts = (
        f"({_shown(one)})"
        if isinstance(one, tuple)
        else str(one).lower()
        if isinstance(one, bool)
        else str(one) or "''"
        for one in values
    )
    return ", ".join(with_unit(columns, text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Expectations under one name. `queues` are names with `*` and `?`; empty for every queue."""

    name: str
    source: str
    checks: tuple[Check, ...]
    description: str = ""
    queues: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()

    def named(self, column: str) -> str:
        """A column as its people write it."""
        name = column.removesuffix(PROBLEM)
        return next((one.name for one in self.asked if one.column.name == name), column)


def looked_at(table: pa.Table, suite: Suite, check: Check) -> pa.Array:
    """The places of the rows of an Arrow table that a check is about and that have a value (`scope.checked_sql`)."""
    import pyarrow.compute as pc  # noqa: PLC0415

    rows = chosen(table, check.where, suite.queues)
    if not check.columns or check.computed().expectation.name in OF_NULLS:
        return rows
    there = reduce(pc.or_, [pc.is_valid(table[name].take(rows)) for name in check.columns])
    return rows.filter(there.combine_chunks())


def by_gx_only(suites: Iterable[Suite]) -> bool:
    """Whether one of the expectations is another distribution's, which GX computes on Spark."""
    return any(check.expectation.gx for suite in suites for check in suite.checks)


def asked_by(suites: Iterable[Suite]) -> tuple[Asked, ...]:
    """What suites ask of payloads, each once."""
    return tuple(dict.fromkeys(one for suite in suites for one in suite.asked))


def columns_of(suites: Sequence[Suite]) -> set[str]:
    """Every column of `COLUMNS` that the suites need, with those that explain a failure."""
    named: set[str] = set()
    for suite in suites:
        for check in suite.checks:
            named.update(check.columns, check.also, (condition.column for condition in check.where))
    named &= COLUMNS.keys()
    if any(check.expectation.between for suite in suites for check in suite.checks):
        named.add("observed_at")
    return named | problem_columns(named)
