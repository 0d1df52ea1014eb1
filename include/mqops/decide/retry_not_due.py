"""Messages that a plan leaves because their next try is not due yet, or because they get no further try.

1. Such a message is left, action LATER, and uses up no try. So are the others of its MQ group.
2. Messages with the same identity (`msg_key`) share their tries, so they wait, too, whatever queue they came from.
3. The message keeps its place in the order of the ORDER rule that it waits for: later messages are BEHIND (rule 5 of
   `mqops.decide.core.message_groups`). A message that a rule put back on its queue holds back no other message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mqops.actions import Action
from mqops.decide.core.decided import DecidedRow
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import BOUND
from mqops.plan_row import left

NEVER = ""
"""The time of the next try of a message that gets none."""
_COLUMNS = ("msg_key", "queue", "group_id", "msg_flags")


def leave_not_due(run: RunFolder, rows: Iterable[DecidedRow], not_due: Mapping[str, str]) -> Iterator[DecidedRow]:
    """The rows of a plan, those that are not due changed.

    Parameters: `rows` one a message of the run's snapshot; `not_due` msg_key → when it is, or NEVER.
    Raises `LakeError`.
    """
    keys = _with_their_groups(run, not_due) if not_due else set()
    for decided in rows:
        row = decided.row
        if row.msg_key not in keys:
            yield decided
            continue
        waits = None if not_due.get(row.msg_key) == NEVER else decided.waits
        changed = row._replace(**left(Action.LATER), rule_line=None, rule_key=None)
        yield decided._replace(row=changed, waits=waits)


def remarks(not_due: Mapping[str, str]) -> tuple[str, ...]:
    """What a summary says of them."""
    times = [at for at in not_due.values() if at != NEVER]
    found = []
    if times:
        found.append(
            f"messages that wait for their next try are left ({Action.LATER}): the first such try is at {min(times)}"
        )
    if len(times) < len(not_due):
        found.append("messages that a rule put back on this queue as they were are left (LATER)")
    return tuple(found)


def _with_their_groups(run: RunFolder, keys: Iterable[str]) -> set[str]:
    found = set(keys)
    groups: dict[tuple[str, bytes], set[str]] = {}
    for batch in read_parquet(run.snapshot, _COLUMNS):
        for key, queue, group_id, flags in zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True):
            if flags & BOUND:
                groups.setdefault((queue, group_id), set()).add(key)
    return found.union(*(members for members in groups.values() if members & found))
