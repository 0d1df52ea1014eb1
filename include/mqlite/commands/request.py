"""A command as both languages mean it, and its answer. MQSC and PCF are translated to and from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqlite.attributes import Attribute, Value
from mqlite.commands.filters import Where
from mqlite.conditions import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """verb: DEFINE, ALTER ... noun: QLOCAL, CHANNEL, QSTATUS ... name: object name, generic for DISPLAY.

    attributes: canonical values by keyword. options: what belongs to the command and not to the object (REPLACE, LIKE,
    FORCE, PURGE, TYPE, STATUS ...). wanted: attributes to show, None for all. where: the filter. selected: further
    conditions, of parameters that select by a value. names_only: PCF's Inquire Queue Names and the like.
    """

    verb: str
    noun: str
    name: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    wanted: frozenset[str] | None = None
    where: Where | None = None
    selected: tuple[Where, ...] = ()
    names_only: bool = False

    def admits(self, row: Row) -> bool:
        """True if a row of the answer meets the filter and every other condition."""
        conditions = self.selected if self.where is None else (*self.selected, self.where)
        return all(condition.holds(row.value(condition.keyword)) for condition in conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One object, or one status, of an answer.

    identity: what is always shown, in this order. values: attributes by keyword. rows: their rows in the table.
    """

    shown: Condition
    identity: tuple[tuple[Attribute, Value], ...]
    values: Mapping[str, Value]
    rows: Mapping[str, Attribute]

    def value(self, keyword: str) -> Value | None:
        """The value of an attribute or of a part of the identity."""
        for row, value in self.identity:
            if row.keyword == keyword:
                return value
        return self.values.get(keyword)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """done: what the command says when it has been done. rows: what an inquiry found. notes: what MQSC says besides."""

    done: Condition | None = None
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
