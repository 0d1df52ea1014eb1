"""A row of a plan while the plan is made, with values that later steps of planning need."""

from __future__ import annotations

from typing import NamedTuple

from mqops.plan_row import PlanRow
from mqops.rules import Rule


class DecidedRow(NamedTuple):
    """A row and why it may change.

    Parameters: `waits` the ORDER rule whose tries the message may have used up, and the `unit_group` it puts to;
    `used_up` the line of the first rule that matches, where all that match have used up their tries.
    """

    row: PlanRow
    waits: tuple[Rule, str] | None = None
    used_up: int | None = None

    def changed_to(self, row: PlanRow) -> DecidedRow:
        """The same with another row."""
        return self._replace(row=row)
