"""What a suite looks at, and what it finds where there is nothing to look at. Knows no Spark and no queue manager.

1. The scope of a check is the queues that its suite names and that its conditions on `queue` choose.
2. A check whose scope has no queue that was looked at has looked at no message: it is not met, and says so. Otherwise a
   name that is written wrong would pass for ever.
3. A queue that was looked at and is empty was looked at: about its messages nothing can be wrong. What counts messages
   finds none, and so it can be not met.
4. A pattern that fits no queue is told, whether or not a check depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mqops.message_checks import CheckResult
from mqops.misnamed import is_alias
from mqops.quality.suite import OF_NULLS, Check, Suite
from mqops.quality.summary import result_of
from mqops.quality.where import queues_sql, sql_of
from mqops.queue_names import not_seen
from mqops.rules.pattern import text_match

GET_DISABLED = "GET(DISABLED)"
NO_MESSAGE = "no message to look at"
_COUNTS = (
    *("table_row_count_to_be_between", "table_row_count_to_equal"),
    "column_unique_value_count_to_be_between",
)
_WANTS_VALUES = ("column_distinct_values_to_contain_set", "column_distinct_values_to_equal_set")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesSeen:
    """The queues that a snapshot is of.

    Attributes: `looked_at` those that were read, the empty ones included; `unread` those that could not be read
    (GET(DISABLED)); `unseen` those that are meant, and that the connection's user may not inquire; `aliases` alias that
    was named → its queue.
    """

    looked_at: tuple[str, ...]
    unread: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


def queues_of(suite: Suite, names: Iterable[str]) -> list[str]:
    """Those of the queues that a suite looks at."""
    return [name for name in names if not suite.queues or any(text_match(one, name) for one in suite.queues)]


def with_bases(suites: Iterable[Suite], aliases: Mapping[str, str]) -> tuple[Suite, ...]:
    """Suites that name the queue where they named an alias of it: messages are on the queue. Parameters: `aliases` as
    of `QueuesSeen`."""
    return tuple(replace(suite, queues=tuple(aliases.get(name, name) for name in suite.queues)) for suite in suites)


def scope_of(suite: Suite, check: Check, names: Iterable[str]) -> list[str]:
    """Those of the queues that a check looks at (rule 1)."""
    asked = [one for one in check.where if one.column == "queue"]
    return [name for name in queues_of(suite, names) if all(one.holds_for(name) for one in asked)]


def nothing_seen(suite: Suite, check: Check, seen: QueuesSeen) -> str:
    """Why a check has looked at no message (rule 2); "" where it has looked at a queue.

    A count of messages is an answer, also of a queue that the snapshot does not have: there its suite alone decides.
    """
    if check.expectation.name in _COUNTS and queues_of(suite, seen.looked_at):
        return ""
    if scope_of(suite, check, seen.looked_at):
        return ""
    if closed := scope_of(suite, check, seen.unread):
        return f"looked at no message: {', '.join(closed)} could not be read ({GET_DISABLED})"
    if not seen.looked_at:
        return "looked at no message: no queue was looked at"
    if suite.queues and not queues_of(suite, seen.looked_at):
        return f"looked at no message: no queue that was looked at fits {' or '.join(suite.queues)}"
    asked = " and ".join(str(one) for one in check.where if one.column == "queue")
    return f"looked at no message: no queue that was looked at fits its condition {asked}"


def on_nothing(suite: Suite, check: Check, seen: QueuesSeen) -> CheckResult:
    """The result of a check where its suite has no message."""
    if why := nothing_seen(suite, check, seen):
        return result_of(suite, check, met=False, skipped=why)
    if check.expectation.name in _COUNTS:
        return result_of(suite, check, met=_within(0, check), observed="0")
    if check.expectation.name in _WANTS_VALUES:
        return result_of(suite, check, met=False, observed="[]")
    return result_of(suite, check, met=True, failed=0 if check.expectation.of_rows else None, skipped=NO_MESSAGE)


def _within(number: int, check: Check) -> bool:
    exact = check.arguments.get("value")
    low, high = (check.arguments.get(name, exact) for name in ("min_value", "max_value"))
    strict = [bool(check.arguments.get(name)) for name in ("strict_min", "strict_max")]
    above = not isinstance(low, int | float) or number > low or (number == low and not strict[0])
    below = not isinstance(high, int | float) or number < high or (number == high and not strict[1])
    return above and below


def told(suites: Iterable[Suite], seen: QueuesSeen) -> tuple[str, ...]:
    """What people are told of queues and patterns (rule 4), a sentence each."""
    known = (*seen.looked_at, *seen.unread)
    unfit = [
        f"suite {suite.name}: no queue fits {pattern}"
        for suite in suites
        for pattern in suite.queues
        if not any(text_match(pattern, name) for name in known)
    ]
    hidden = filter(None, [not_seen(seen.unseen)])
    unread = (f"{name} is not checked: it could not be read ({GET_DISABLED})" for name in seen.unread)
    return (*hidden, *unfit, *unread, *(is_alias(alias, base) for alias, base in seen.aliases.items()))


def checked_sql(suites: Iterable[Suite]) -> str | None:
    """The messages that at least one check is about, as a Spark SQL expression; None where that is every message."""
    parts: dict[str, None] = {}
    for suite in suites:
        queues = queues_sql(suite.queues)
        for check in suite.checks:
            wanted = [f"({one})" for one in (queues, sql_of(check.where), has_value_sql(check)) if one]
            if not wanted:
                return None
            parts[" AND ".join(wanted)] = None
    return " OR ".join(f"({one})" for one in parts)


def has_value_sql(check: Check) -> str | None:
    """An expectation passes over a message without a value in its columns; None where it is about such ones, too."""
    if not check.columns or check.computed().expectation.name in OF_NULLS:
        return None
    return " OR ".join(f"{name} IS NOT NULL" for name in check.columns)
