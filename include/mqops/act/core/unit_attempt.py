"""The rows of one unit of work that is about to be tried, and what becomes of them when a try does not come off.

| what happened            | next try                                                                        |
|--------------------------|---------------------------------------------------------------------------------|
| put failed, or get, the  | the rows up to the offender, which is recorded as failed and not touched; where |
| queue being to blame     | it is of an MQ group, up to the group's end, and all of it: it is the group     |
|                          | that was tried, so that its messages have had the same tries in the next pass   |
| one of an MQ group gone  | the same rows; all of that group are left                                       |
| another message came     | the same rows; that one is looked for by browsing (same MsgId and CorrelId);    |
|                          | where it was, it is left, and all of its MQ group                               |
| handle out of date       | the same rows with a new handle; the second time it counts as a failed put      |

(A unit of work that is too large is the mover's business: it takes fewer rows from then on.) Each line
shortens the rows or adds to what is known of them, so the tries come to an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from mqops.act.core.blocked import TargetOrQueue
from mqops.act.core.lanes import Row
from mqops.act.core.scope import Scope

GROUP_GONE = "a message of its group is gone"
DIFFERS = "MQGET returns it otherwise than MQGET with browse did: see whether an API exit changes messages"
GROUP_TOO_LARGE = "its group is larger than a unit of work may be (MAXUMSGS)"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitAttempt:
    """Parameters: `rows` in consecutive positions; `failed` position → reason code; `left` position → why it is not
    tried; `careful` positions whose message is looked for by browsing; `reopened` positions for which the target's
    handle was renewed; `blocked` places that are blocked once these rows are done, with the reason code.
    """

    rows: tuple[Row, ...]
    failed: dict[int, int] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    careful: frozenset[int] = frozenset()
    reopened: frozenset[int] = frozenset()
    blocked: dict[TargetOrQueue, int] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Position of the first row."""
        return self.rows[0].position

    @property
    def next(self) -> int:
        """Position after the last row."""
        return self.rows[-1].position + 1

    def bundles(self) -> Iterator[list[Row]]:
        """The rows, those together that go together."""
        for _number, rows in groupby(self.rows, key=lambda row: row.bundle):
            yield list(rows)

    def after_failure(self, row: Row, reason: int, scope: Scope) -> UnitAttempt:
        """The next try after a put or get failed with a reason code of this scope (not `Scope.EVERYTHING`)."""
        if scope is Scope.STALE_HANDLE and row.position not in self.reopened:
            return replace(self, reopened=self.reopened | {row.position})
        bundle = [other for other in self.rows if other.bundle == row.bundle]
        kept = self.rows[: bundle[-1].position - self.first + 1]
        places: dict[Scope, TargetOrQueue] = {Scope.DESTINATION: row.target, Scope.SOURCE: row.queue}
        blocked = {places[scope]: reason} if scope in places else {}
        failed = {position: why for position, why in self.failed.items() if position < bundle[0].position}
        failed |= {other.position: reason for other in bundle}
        left = {position: why for position, why in self.left.items() if position < bundle[0].position}
        return replace(self, rows=kept, failed=failed, left=left, blocked={**self.blocked, **blocked})

    def without(self, row: Row, why: str) -> UnitAttempt:
        """The next try: the row is left, and all that go with it."""
        left = {other.position: why for other in self.rows if other.bundle == row.bundle}
        return replace(self, left={**self.left, **left})

    def after_other_message(self, row: Row, *, careful: bool) -> UnitAttempt:
        """The next try after a get gave another message than the plan's.

        Parameters: `careful` whether the message had been found by browsing: then it is not got again.
        """
        if careful:
            return self.without(row, DIFFERS)
        return replace(self, careful=self.careful | {row.position})
