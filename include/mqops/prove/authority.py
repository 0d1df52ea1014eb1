"""Who lacks which authority, where puts failed with MQRC_NOT_AUTHORIZED."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.arrow import read_plan
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.model import Destination
from mqwire.constants import MQRC_NOT_AUTHORIZED

MOST_NAMED = 10
"""Users and queues that are named."""


class PutRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that say by whose authority a row is put where."""

    row: int
    action: Action
    dest_q: str
    dest_q_mgr: str
    alternate_user: str


def without_authority(run: RunFolder, sums: Account) -> tuple[str, ...]:
    """A sentence for each user and queue that a put by PUTAUT(CTX) was refused for. The user of a message with
    PUTAUT(DEF) is that of the connection, and is not named. Raises `LakeError`.

    IBM MQ, "Rules table actions": PUTAUT(CTX) puts by the authority of the user of the message's context. That user
    needs PUT and PASSALL on the destination; that of the connection needs ALTUSR on the queue manager.
    """
    failed = {row for row, reason in sums.failed.items() if reason == MQRC_NOT_AUTHORIZED}
    if not failed:
        return ()
    lacking = Counter(
        (row.alternate_user.strip() or "(blank)", str(Destination(row.dest_q, row.dest_q_mgr)))
        for row in read_plan(run.plan, PutRow)
        if row.row in failed and row.alternate_user
    )
    sentences = [
        f"user {user} needs PUT and PASSALL on {queue} for {counted(messages, 'message')} (PUTAUT(CTX)), and the user "
        "of the connection needs ALTUSR on the queue manager"
        for (user, queue), messages in lacking.most_common(MOST_NAMED)
    ]
    more = len(lacking) - MOST_NAMED
    return (
        (*sentences, f"and {counted(more, 'more user and queue', 'more users and queues')}")
        if more > 0
        else tuple(sentences)
    )
