"""Generic names and WHERE filters: one set of comparisons for MQSC's operators and PCF's."""

from __future__ import annotations

from dataclasses import dataclass

from mqlite.attributes import Attribute, Names, Value, Words
from mqwire import constants as c

OPERATORS = {
    "LT": c.MQCFOP_LESS, "EQ": c.MQCFOP_EQUAL, "GT": c.MQCFOP_GREATER, "GE": c.MQCFOP_NOT_LESS,
    "NE": c.MQCFOP_NOT_EQUAL, "LE": c.MQCFOP_NOT_GREATER, "LK": c.MQCFOP_LIKE, "NL": c.MQCFOP_NOT_LIKE,
    "CT": c.MQCFOP_CONTAINS, "EX": c.MQCFOP_EXCLUDES, "CTG": c.MQCFOP_CONTAINS_GEN, "EXG": c.MQCFOP_EXCLUDES_GEN,
}  # fmt: skip
ORDERED = {
    c.MQCFOP_LESS: (-1,), c.MQCFOP_EQUAL: (0,), c.MQCFOP_GREATER: (1,), c.MQCFOP_NOT_LESS: (0, 1),
    c.MQCFOP_NOT_EQUAL: (-1, 1), c.MQCFOP_NOT_GREATER: (-1, 0),
}  # fmt: skip
GENERIC = {c.MQCFOP_LIKE: True, c.MQCFOP_NOT_LIKE: False}
LISTED = {c.MQCFOP_CONTAINS: (True, False), c.MQCFOP_EXCLUDES: (False, False),
          c.MQCFOP_CONTAINS_GEN: (True, True), c.MQCFOP_EXCLUDES_GEN: (False, True)}  # fmt: skip


def generic_match(pattern: str, name: str) -> bool:
    """True if `name` is `pattern`, or begins with what stands before the `*` at its end."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """keyword compared with value by a PCF operator (MQCFOP_*)."""

    keyword: str
    operator: int
    value: Value

    def holds(self, found: Value | None) -> bool:
        """True if an object whose attribute is `found` passes; one without the attribute (None) never does."""
        if found is None:
            return False
        if self.operator in LISTED:
            inside, generic = LISTED[self.operator]
            names = found if isinstance(found, list) else [str(found)]
            pattern = str(self.value)
            return any(generic_match(pattern, name) if generic else name == pattern for name in names) is inside
        if self.operator in GENERIC:
            return generic_match(str(self.value), str(found)) is GENERIC[self.operator]
        return _compared(found, self.value) in ORDERED[self.operator]


def _compared(found: Value, value: Value) -> int:
    if isinstance(found, int) and isinstance(value, int):
        return (found > value) - (found < value)
    left, right = str(found), str(value)
    return (left > right) - (left < right)


def operator_fits(row: Attribute, operator: int) -> bool:
    """True if the operator makes sense for the attribute: LIKE for texts only, CONTAINS for lists only."""
    if operator in ORDERED:
        return True
    if operator in GENERIC:
        return row.is_text
    return operator in LISTED and isinstance(row.type, Names | Words)
