"""Messages whose next try is not due yet, or never comes, in a plan that is made for the sake of others.

1. Such a message is left, action LATER, and uses up no try. So are the others of its MQ group.
2. One with the same identity (`msg_key`) shares its tries, and waits, too, wherever it came from.
3. It keeps its place in the order of the ORDER rule that it waits for: what it holds back is BEHIND (rule 5 of
   `mqops.decide.core.message_groups`). One that a rule put back where it was has had its turn, and holds back nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mqops.decide.core.message_groups import left
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import BOUND

LATER = "LATER"
NEVER = ""
"""When the next try is of a message that is left for good."""
_COLUMNS = ("msg_key", "queue", "group_id", "msg_flags")


def left_for_later(
    run: RunFolder, rows: Iterable[dict[str, Any]], not_due: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows of a plan, those that are not due changed.

    Parameters: `rows` one a message of the run's snapshot; `not_due` msg_key → when it is, or NEVER.
    Raises `LakeError`.
    """
    keys = _with_their_groups(run, not_due) if not_due else set()
    for row in rows:
        if row["msg_key"] not in keys:
            yield row
            continue
        freed = {"waits": None} if not_due.get(row["msg_key"]) == NEVER else {}
        yield {**row, **left(LATER), **freed, "rule_line": None, "rule_key": None}


def remarks(not_due: Mapping[str, str]) -> tuple[str, ...]:
    """What a summary says of them."""
    times = [at for at in not_due.values() if at != NEVER]
    found = []
    if times:
        found.append(f"messages that wait for their next try are left ({LATER}): the first such try is at {min(times)}")
    if len(times) < len(not_due):
        found.append(f"messages that a rule put back on this queue as they were are left ({LATER})")
    return tuple(found)


def _with_their_groups(run: RunFolder, keys: Iterable[str]) -> set[str]:
    found = set(keys)
    groups: dict[tuple[str, bytes], set[str]] = {}
    for batch in read_parquet(run.snapshot, _COLUMNS):
        for key, queue, group_id, flags in zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True):
            if flags & BOUND:
                groups.setdefault((queue, group_id), set()).add(key)
    return found.union(*(members for members in groups.values() if members & found))
