"""When a message that was put before, and came again, may be put once more: BACKOFF of a rule, `backoff` of the estate.

1. The time counts from the last run that put a message with its MsgId, by the ledger: nothing has to run meanwhile.
   After the first put the first time of the list counts, after the second the second, and so on; the last one holds
   for all further puts. Puts are counted as for MAXREPLAY (rule 1 of `mqops.decide.core.message_groups`).
2. The list of the rule that is chosen counts. A rule without one has that of the estate, for backout queues only.
3. A message that is not due when the snapshot is taken is left, action LATER. It keeps its place in an order. What a
   rule discards or ignores, and what goes to quarantine, does not wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from mqops.actions import Action
from mqops.counted import counted
from mqops.ledger.core.replays import PutBefore


def due_at(backoff: Sequence[int], before: PutBefore | None) -> datetime | None:
    """When a message may be put again (rule 1); None where it need not wait.

    Parameters: `backoff` seconds; `before` its earlier puts.
    """
    if not backoff or before is None or not before.last:
        return None
    wait = backoff[min(before.runs, len(backoff)) - 1]
    return datetime.fromisoformat(before.last) + timedelta(seconds=wait)


def remarks(due: Iterable[datetime]) -> tuple[str, ...]:
    """What a plan says of messages that wait. Parameters: `due` when each may be put again."""
    times = sorted(due)
    if not times:
        return ()
    first, last = (at.isoformat(timespec="seconds").replace("+00:00", "Z") for at in (times[0], times[-1]))
    until = f"until {first}" if first == last else f"the first until {first}, the last until {last}"
    what = counted(len(times), "message that was put before waits", "messages that were put before wait")
    return (f"{what} ({Action.LATER}), {until}: the next run after that time goes on",)
