"""Queues that no message may choose for itself. Pure.

A message on a dead-letter queue names its own destination (MQDLH.DestQName, MQMD.ReplyToQ, its JMS destination), and
whoever may put on that queue writes these names. mqops puts with its own authority, unless a rule has PUTAUT(CTX). So:

1. A name that comes from a message and begins with `SYSTEM.` or `MQOPS.` is protected: the message is left, action
   PROTECTED. SYSTEM.ADMIN.COMMAND.QUEUE would execute it as a command, MQOPS.LEDGER would take it for a record.
2. A rule that names such a queue itself, `FWDQ(SYSTEM.X)`, puts there: an administrator has written it.
3. What a name leads to is looked at once more before the first put (`mqops.act.mover_port`): an alias or a remote
   queue definition of a protected queue is refused, whoever named it. So is every name that the queue manager resolves
   to a transmission queue itself and not to a queue of another queue manager: nobody would make its MQXQH.
4. A message that begins with a transmission header (MQXQH) is not put anywhere: its put fails with MQRC_FORMAT_ERROR.
   Only queue managers make these headers. On a transmission queue of the next queue manager, which cannot be seen from
   here, a channel would believe the user and the destination in it.
"""

from __future__ import annotations

from mqops.observe.core.columns import NAME_COLUMNS
from mqops.rules import Table

PROTECTED = "PROTECTED"
PREFIXES = ("SYSTEM.", "MQOPS.")


def is_protected(queue: str) -> bool:
    """Whether no message may choose this queue (rule 1)."""
    return queue.startswith(PREFIXES)


def rules_that_ask_messages(table: Table) -> frozenset[str]:
    """The keys of the rules whose destination the message names: RETRY, and FWD with an &-name as FWDQ."""
    return frozenset(
        rule.key
        for rule in table.rules
        if rule.action == "RETRY" or (rule.action == "FWD" and rule.fwdq in NAME_COLUMNS)
    )
