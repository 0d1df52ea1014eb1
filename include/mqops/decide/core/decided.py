"""A row of a plan while the plan is made, with values that later steps of planning need."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from mqops.plan_row import PlanRow
from mqops.rules import Rule


class OrderWait(NamedTuple):
    """The ORDER rule whose tries a message may have used up, and the `unit_group` that it puts to."""

    rule: Rule
    unit_group: str


class DecidedRow(NamedTuple):
    """A row and why it may change.

    Parameters: `waits` the place in an order that the message may keep; `used_up` the line of the first rule that
    matches, where all that match have used up their tries; `due` when a message that was put before may be put again.
    """

    row: PlanRow
    waits: OrderWait | None = None
    used_up: int | None = None
    due: datetime | None = None

    def changed_to(self, row: PlanRow) -> DecidedRow:
        """The same with another row."""
        return self._replace(row=row)
