"""Which messages an expectation is about: conditions on columns, all of which must hold. Knows no Spark.

where:
  msg_type: MQMT_REQUEST             equal
  format: [MQSTR, MQHRF2]            one of
  queue: {like: "PAYMENTS.*"}        * any text, ? one character
  expiry: {not: -1}                  different, and not null
  payload_length: {at_least: 1, at_most: 1000}
  dlh_reason: {is_set: true}         not null
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING

from mqops.quality.columns import ColumnKind
from mqops.rules.pattern import glob_regex, text_match

if TYPE_CHECKING:
    import pyarrow as pa

Value = str | int | float | bool

OPERATORS: Mapping[str, frozenset[ColumnKind]] = MappingProxyType(
    {
        "equals": frozenset({ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.FLAG}),
        "one_of": frozenset({ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.FLAG}),
        "not": frozenset({ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.FLAG}),
        "like": frozenset({ColumnKind.TEXT}),
        "at_least": frozenset({ColumnKind.NUMBER}),
        "at_most": frozenset({ColumnKind.NUMBER}),
        "is_set": frozenset(ColumnKind),
    }
)
"""Operator → kinds of column it can be about."""

_ESCAPE = "!"
_ARROW = {"equals": "equal", "not": "not_equal", "at_least": "greater_equal", "at_most": "less_equal"}
_COMPARISON = {"equals": "=", "not": "<>", "at_least": ">=", "at_most": "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition. `value` is a tuple for `one_of` only; `shown` what people call the column, if not so."""

    column: str
    operator: str
    value: Value | tuple[Value, ...]
    shown: str = ""

    def sql(self) -> str:
        """The condition as a Spark SQL expression."""
        if isinstance(self.value, tuple):
            return f"{self.column} IN ({', '.join(literal(value) for value in self.value)})"
        if self.operator == "is_set":
            return f"{self.column} IS {'NOT ' if self.value else ''}NULL"
        if self.operator == "like" and str(self.value).count("*") > 1:  # Spark's LIKE goes back and forth between them
            return f"{self.column} RLIKE {literal(glob_regex(str(self.value)))}"
        if self.operator == "like":
            return f"{self.column} LIKE {literal(like(str(self.value)))} ESCAPE '{_ESCAPE}'"
        return f"{self.column} {_COMPARISON[self.operator]} {literal(self.value)}"

    def mask(self, table: pa.Table) -> pa.ChunkedArray:
        """Whether it holds for each row of an Arrow table, as `sql` has it; false where that is null."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        values = table[self.column]
        if self.operator == "is_set":
            return pc.is_valid(values) if self.value else pc.is_null(values)
        if isinstance(self.value, tuple):
            found = reduce(pc.or_kleene, [pc.equal(values, pa.scalar(one)) for one in self.value])
        elif self.operator == "like":
            found = pc.match_substring_regex(values, _re2(str(self.value)))
        else:
            found = getattr(pc, _ARROW[self.operator])(values, pa.scalar(self.value))
        return pc.fill_null(found, False)

    def holds_for(self, text: str) -> bool:
        """Whether it holds for a text that is not null."""
        if isinstance(self.value, tuple):
            return text in self.value
        if self.operator == "is_set":
            return bool(self.value)
        if self.operator == "like":
            return text_match(str(self.value), text)
        return (text == self.value) is (self.operator == "equals")

    def __str__(self) -> str:
        name = self.shown or self.column
        if isinstance(self.value, tuple):
            return f"{name} is one of {', '.join(map(str, self.value))}"
        if self.operator == "is_set":
            return f"{name} is {'' if self.value else 'not '}set"
        return f"{name} {self.operator.replace('_', ' ')} {self.value}"


def sql_of(conditions: tuple[Condition, ...]) -> str | None:
    """All conditions as one Spark SQL expression; None for no condition."""
    return " AND ".join(condition.sql() for condition in conditions) or None


def queues_sql(patterns: tuple[str, ...]) -> str | None:
    """The messages of the queues that fit one of the patterns; None if every queue does."""
    if not patterns or "*" in patterns:
        return None
    return " OR ".join(Condition(column="queue", operator="like", value=pattern).sql() for pattern in patterns)


def chosen(table: pa.Table, conditions: Sequence[Condition], queues: Sequence[str] = ()) -> pa.Array:
    """The places of the rows of an Arrow table for which all conditions hold.

    Parameters: `queues` patterns of which the queue fits one, as in `queues_sql`.
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    masks = [one.mask(table) for one in conditions]
    if queues and "*" not in queues:
        named = [Condition(column="queue", operator="like", value=one).mask(table) for one in queues]
        masks.append(reduce(pc.or_, named))
    every = pa.chunked_array([pa.array(np.arange(table.num_rows))])
    return (every.filter(reduce(pc.and_, masks)) if masks else every).combine_chunks()


def _re2(pattern: str) -> str:
    """A pattern with `*` and `?` as a regular expression of RE2, whose time is linear."""
    special = {"*": ".*", "?": "."}
    return rf"(?s)\A{''.join(special.get(one) or re.escape(one) for one in pattern)}\z"


def like(pattern: str) -> str:
    """An SQL LIKE pattern (escape `!`) for one with `*` and `?`."""
    special = {"*": "%", "?": "_", "%": f"{_ESCAPE}%", "_": f"{_ESCAPE}_", _ESCAPE: _ESCAPE * 2}
    return "".join(special.get(character, character) for character in pattern)


def literal(value: Value) -> str:
    """A Spark SQL literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)
