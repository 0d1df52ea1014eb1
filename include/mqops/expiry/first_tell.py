"""Before a look at queues: what it lets the queue manager discard is told, and such queues are left (`--first-tell`).

Commands, deciders and tasks of Airflow that browse have this from here.

1. What is at stake stands in `mqops.expiry.core.first_tell`. Nothing is browsed to know it.
2. A command tells it to a person and asks; a task of Airflow tells it, and its answer is no, since it can ask nobody.
3. Where the answer is no, queues at stake are left. Where a run has nothing to do without them, it is not made.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mqops.errors import NotLookedAt
from mqops.expiry.core.first_tell import FirstTell
from mqops.expiry.scan import candidates
from mqops.mq.inquire import queue_definitions
from mqops.mq.session import Session


def left_by(first_tell: FirstTell | None, session: Session, lake: Path, queues: Iterable[str]) -> dict[str, str]:
    """The queues among these that are left → what a look at them lets the queue manager discard.

    Parameters: `first_tell` None where nobody wants to be told: none is left; `lake` the folder of runs; `queues` by
    the names that were given, which may be those of aliases. What leads to
    no local queue that can be seen has nothing at stake.

    Raises:
        MQError: the queue manager cannot be inquired.
        LakeError: what earlier scans taught cannot be read.
    """
    if first_tell is None:
        return {}
    known = {one.name: one for one in queue_definitions(session)}
    local = {name for name, one in known.items() if one.kind == "local"}
    wanted = tuple(one for one in queues if one in known and (known[one].base or one) in local)
    if not wanted:
        return {}
    chosen = candidates(session, lake, wanted, all_filled=True)
    told = chosen.refused(first_tell)
    return {name: told[base] for name in wanted if (base := chosen.aliases.get(name, name)) in told}


def refuse_at_stake(first_tell: FirstTell | None, session: Session, lake: Path, queues: Iterable[str]) -> None:
    """Refuse a look at these queues all together, if one of them is to be left. Parameters: as of `left_by`.

    Raises:
        NotLookedAt: the answer is no.
        MqopsError: as `left_by`.
    """
    if left := left_by(first_tell, session, lake, queues):
        raise NotLookedAt(*left.values())
