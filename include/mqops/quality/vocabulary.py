"""The expectations a suite can use, as data. Names and arguments are Great Expectations' own; GX is not imported.

A row expectation is about each message and says which messages fail it. An aggregate expectation is about all messages
together, and nothing can be said of a single one. Other distributions bring expectations of their own
(`mqops.outside`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType

from mqops import outside
from mqops.message_checks import NOTHING
from mqops.quality.columns import ColumnKind


class Takes(Enum):
    """What an argument's value must be."""

    VALUE = "a value of the column's kind"
    VALUES = "a list of values of the column's kind"
    NUMBER = "a number"
    COUNT = "a whole number, 0 or more"
    SHARE = "a number from 0 to 1"
    FLAG = "true or false"
    REGEX = "a regular expression"


ANY = frozenset(ColumnKind)
NUMBERS = frozenset({ColumnKind.NUMBER})
TEXTS = frozenset({ColumnKind.TEXT})
SETS = frozenset({ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.FLAG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation.

    Attributes:
        name: GX's name without `expect_`.
        domain: arguments that name columns; `column_list` takes two or more.
        kinds: kinds of column it can be about.
        required: arguments that must be there.
        optional: those that may.
        one_of: of these arguments at least one must be there.
        of_rows: whether it says which messages fail.
        needs_values: whether there is no answer where the column has no value at all.
        gx: `module:class` of the expectation of another distribution, for GX's Spark engine; "" for GX's own.
    """

    name: str
    domain: tuple[str, ...] = ("column",)
    kinds: frozenset[ColumnKind] = ANY
    required: Mapping[str, Takes] = field(default_factory=dict)
    optional: Mapping[str, Takes] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    of_rows: bool = False
    needs_values: bool = False
    gx: str = ""

    @property
    def gx_class(self) -> str:
        """The class of `great_expectations.expectations`, where it is GX's own."""
        return "Expect" + "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def arguments(self) -> Mapping[str, Takes]:
        """All arguments but those of the domain."""
        return {**self.required, **self.optional}


def _range(takes: Takes) -> dict[str, Takes]:
    return {"min_value": takes, "max_value": takes, "strict_min": Takes.FLAG, "strict_max": Takes.FLAG}


LIMITS = ("min_value", "max_value")
PAIR = ("column_A", "column_B")


def _of_rows(name: str, kinds: frozenset[ColumnKind] = ANY, **required: Takes) -> Expectation:
    return Expectation(name=f"column_values_to_{name}", kinds=kinds, required=required, of_rows=True)


def _between(name: str, takes: Takes, kinds: frozenset[ColumnKind] = ANY, *, of_rows: bool = False) -> Expectation:
    return Expectation(
        name=f"column_{name}_to_be_between",
        kinds=kinds,
        optional=_range(takes),
        one_of=LIMITS,
        of_rows=of_rows,
        needs_values=name in ("max", "min", "mean", "median", "sum") or takes is Takes.SHARE,
    )


_ALL = (
    _of_rows("be_null"),
    _of_rows("not_be_null"),
    _of_rows("be_unique"),
    _of_rows("be_in_set", SETS, value_set=Takes.VALUES),
    _of_rows("not_be_in_set", SETS, value_set=Takes.VALUES),
    _of_rows("match_regex", TEXTS, regex=Takes.REGEX),
    _of_rows("not_match_regex", TEXTS, regex=Takes.REGEX),
    _between("values", Takes.NUMBER, NUMBERS, of_rows=True),
    _between("value_lengths", Takes.COUNT, TEXTS, of_rows=True),
    Expectation(name="compound_columns_to_be_unique", domain=("column_list",), of_rows=True),
    Expectation(name="column_pair_values_to_be_equal", domain=PAIR, of_rows=True),
    Expectation(
        name="column_pair_values_a_to_be_greater_than_b",
        domain=PAIR,
        kinds=frozenset({ColumnKind.NUMBER, ColumnKind.TIME}),
        optional={"or_equal": Takes.FLAG},
        of_rows=True,
    ),
    Expectation(name="table_row_count_to_be_between", domain=(), optional=_range(Takes.COUNT), one_of=LIMITS),
    *(_between(what, Takes.NUMBER, NUMBERS) for what in ("max", "min", "mean", "median", "sum")),
    _between("unique_value_count", Takes.COUNT),
    _between("proportion_of_unique_values", Takes.SHARE),
    _between("proportion_of_non_null_values", Takes.SHARE),
    *(
        Expectation(name=f"column_distinct_values_to_{verb}_set", kinds=SETS, required={"value_set": Takes.VALUES})
        for verb in ("be_in", "contain", "equal")
    ),
)

EXPECTATIONS: Mapping[str, Expectation] = MappingProxyType({item.name: item for item in _ALL})
"""Every expectation of mqops, by name."""


@cache
def expectation_named(name: str) -> Expectation | None:
    """The expectation of a name, also one of another distribution; None where there is none.

    Raises:
        SettingsError: another distribution brings it, and it cannot be used.
    """
    one = outside.not_taken(outside.Group.CHECKS, EXPECTATIONS).get(name) if name not in EXPECTATIONS else None
    if one is None:
        return EXPECTATIONS.get(name)
    found = one.load(Expectation)
    if ":" not in found.gx:
        raise one.refused("has no class: gx must be 'module:class'")
    return found


def names() -> tuple[str, ...]:
    """The names of all expectations, those of other distributions behind mqops' own."""
    return (*EXPECTATIONS, *outside.not_taken(outside.Group.CHECKS, EXPECTATIONS))


SEVERITIES = tuple(NOTHING)
"""What a failed expectation means: the run fails, somebody should look, or it is only noted."""
