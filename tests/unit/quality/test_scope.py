"""What a suite looks at: the queues that fit it, those that cannot be read, and what is told of a pattern."""

from __future__ import annotations

import pytest

from mqops.quality.no_message import check_no_message
from mqops.quality.scope import QueuesSeen, checked_sql, nothing_seen, told
from mqops.quality.suite import Suite
from mqops.quality.suite_file import parse
from mqops.quality.where import Condition


def suite(*checks: str, queues: str = "[]") -> Suite:
    lines = "".join(f"- {{id: i{number}, {check}}}\n" for number, check in enumerate(checks))
    found, wrong = parse(f"suite: s\nqueues: {queues}\nexpectations:\n{lines}", source="s.yaml")
    assert found is not None, wrong
    return found


ROWS = "expect: column_values_to_not_be_null, column: format"
COUNT = "expect: table_row_count_to_be_between, max_value: 9"


@pytest.mark.parametrize(
    ("queues", "check", "seen", "why"),
    [
        ("[]", ROWS, QueuesSeen(looked_at=("A",)), ""),
        ("['A*']", ROWS, QueuesSeen(looked_at=("AB",)), ""),
        ("['B', 'C?']", ROWS, QueuesSeen(looked_at=("A", "CC")), ""),
        ("['B', 'C?']", ROWS, QueuesSeen(looked_at=("A", "C")), "no queue that was looked at fits B or C?"),
        ("['B']", COUNT, QueuesSeen(looked_at=("A",)), "no queue that was looked at fits B"),
        ("[]", ROWS, QueuesSeen(looked_at=()), "no queue was looked at"),
        ("['A']", ROWS, QueuesSeen(looked_at=("B",), unread=("A",)), "A could not be read (GET(DISABLED))"),
        ("[]", f"{ROWS}, where: {{queue: A}}", QueuesSeen(looked_at=("A",)), ""),
        (
            "[]",
            f"{ROWS}, where: {{queue: [B, C]}}",
            QueuesSeen(looked_at=("A",)),
            "no queue that was looked at fits its condition queue is one of B, C",
        ),
        ("[]", f"{ROWS}, where: {{queue: {{not: A}}}}", QueuesSeen(looked_at=("A", "B")), ""),
        (
            "['A*']",
            f"{ROWS}, where: {{queue: {{not: A}}}}",
            QueuesSeen(looked_at=("A", "B")),
            "no queue that was looked at fits its condition queue not A",
        ),
        ("[]", f"{COUNT}, where: {{queue: B}}", QueuesSeen(looked_at=("A",)), ""),  # 0 is an answer
        ("[]", f"{ROWS}, where: {{priority: 3}}", QueuesSeen(looked_at=("A",)), ""),
    ],
)
def test_why_a_check_has_looked_at_nothing(queues: str, check: str, seen: QueuesSeen, why: str) -> None:
    one = suite(check, queues=queues)
    assert nothing_seen(one, one.checks[0], seen) == (f"looked at no message: {why}" if why else "")
    (result,) = check_no_message("QM1", (one,), seen, now="").checks
    assert result.met is not bool(why)
    assert result.failed is None or not why  # no message of it: nothing that could have been taken from the queue


def test_patterns_and_closed_queues_are_told() -> None:
    one = suite(ROWS, queues="['A*', 'B', 'C*']")
    assert told((one,), QueuesSeen(looked_at=("AB",), unread=("CLOSED",))) == (
        "suite s: no queue fits B",
        "CLOSED is not checked: it could not be read (GET(DISABLED))",
    )
    assert told((suite(ROWS),), QueuesSeen(looked_at=())) == ()


def test_the_messages_that_a_check_is_about_as_sql() -> None:
    """A column without a value is passed over, but by what is about such columns."""
    of_nulls = "expect: column_values_to_be_null, column: dlh_reason"
    of_values = "expect: column_values_to_be_in_set, column: dlh_reason, value_set: [1]"
    pair = "expect: column_pair_values_to_be_equal, column_A: dlh_ccsid, column_B: ccsid, where: {priority: 1}"
    assert checked_sql([suite(of_nulls)]) is None
    assert checked_sql([suite(of_values)]) == "((dlh_reason IS NOT NULL))"
    assert checked_sql([suite(of_values, pair, queues="['A', 'B']")]) == (
        "((queue LIKE 'A' ESCAPE '!' OR queue LIKE 'B' ESCAPE '!') AND (dlh_reason IS NOT NULL)) OR "
        "((queue LIKE 'A' ESCAPE '!' OR queue LIKE 'B' ESCAPE '!') AND (priority = 1) "
        "AND (dlh_ccsid IS NOT NULL OR ccsid IS NOT NULL))"
    )
    assert checked_sql([suite(of_values), suite(COUNT)]) is None


@pytest.mark.parametrize(
    ("operator", "value", "holds"),
    [
        ("equals", "A", ["A"]),
        ("not", "A", ["AB", "C"]),
        ("one_of", ("A", "C"), ["A", "C"]),
        ("like", "A*", ["A", "AB"]),
        ("is_set", True, ["A", "AB", "C"]),
        ("is_set", False, []),
    ],
)
def test_a_condition_on_a_queue_without_spark(
    operator: str, value: str | bool | tuple[str, ...], holds: list[str]
) -> None:
    one = Condition(column="queue", operator=operator, value=value)
    assert [name for name in ("A", "AB", "C") if one.holds_for(name)] == holds
