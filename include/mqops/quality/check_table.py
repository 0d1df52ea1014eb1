"""What a check finds in a table of messages (`mqops.quality.evaluate`), as a result of a quality run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.message_checks import CheckResult
from mqops.quality.evaluate import answer, compared, values_there
from mqops.quality.history import History
from mqops.quality.scope import QueuesSeen, nothing_seen
from mqops.quality.suite import Check, Suite, looked_at
from mqops.quality.summary import NO_VALUE, result_of
from mqops.quality.where import chosen


def result_here(
    table: pa.Table, suite: Suite, check: Check, seen: QueuesSeen, history: History
) -> tuple[CheckResult, pa.Array | None]:
    """The result of a check, and the places of the rows of the table that fail it; None where it names none."""
    if why := nothing_seen(suite, check, seen):
        return result_of(suite, check, met=False, skipped=why), None
    if check.expectation.between:
        return compared(table, suite, check, seen.looked_at, history)
    rows = chosen(table, check.where, suite.queues)
    if check.expectation.needs_values and not values_there(table, check, rows):
        return result_of(suite, check, met=True, skipped=NO_VALUE), None
    found = answer(table, check, rows)
    if found.rows is None:
        return result_of(suite, check, met=found.met, checked=found.checked, observed=found.observed), None
    return result_of_rows(suite, check, checked=found.checked, failed=len(found.rows)), found.rows


def result_of_rows(suite: Suite, check: Check, *, checked: int, failed: int) -> CheckResult:
    """The result of a check by rows. Parameters: `checked` messages that it looked at, `failed` those that fail it."""
    met = not failed or (checked - failed) / checked >= check.mostly
    return result_of(suite, check, met=met, checked=checked, failed=failed, skipped="" if checked else NO_VALUE)


def by_queue(table: pa.Table, observed: Iterable[str]) -> dict[str, int]:
    """Messages by queue, the observed queues that were empty included."""
    there = {one["values"]: one["counts"] for one in pc.value_counts(table["queue"]).to_pylist()}
    return dict(sorted({**dict.fromkeys(observed, 0), **there}.items()))


def not_checked_in(table: pa.Table, suites: Iterable[Suite]) -> dict[str, int]:
    """Messages by queue that no check is about."""
    seen = np.zeros(table.num_rows, bool)
    for suite in suites:
        for check in suite.checks:
            seen[looked_at(table, suite, check).to_numpy()] = True
            if seen.all():
                return {}
    return by_queue(table.select(["queue"]).filter(pa.array(~seen)), ())
