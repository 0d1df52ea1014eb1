"""Queues that a message may not name as its own destination. Pure.

A message on a dead-letter queue names its own destination (MQDLH.DestQName, MQMD.ReplyToQ, its JMS destination), and
every program that may put on that queue can write these names. mqops puts with its own authority, unless a rule has
PUTAUT(CTX). So:

1. A name that comes from a message and begins with `SYSTEM.` or `MQOPS.` is protected: the message is left, action
   PROTECTED. SYSTEM.ADMIN.COMMAND.QUEUE would execute it as a command, on MQOPS.LEDGER it would stand among the
   records of runs.
2. A rule that names such a queue itself, `FWDQ(SYSTEM.X)`, puts there: an administrator wrote the rule.
3. Each name is resolved before the first put (`mqops.act.mover_port`). An alias or a remote queue definition of a
   protected queue is refused, also if a rule names it. A name that resolves to a transmission queue itself, and not to
   a queue of another queue manager, is refused, too: the message would have no MQXQH.
4. A message that begins with a transmission header (MQXQH) is not put anywhere: its put fails with MQRC_FORMAT_ERROR.
   Only queue managers make these headers. On a transmission queue of the next queue manager, which mqops
   cannot see, a channel would trust the user and the destination in the header.
"""

from __future__ import annotations

from mqops.actions import Action
from mqops.observe.core.columns import NAME_COLUMNS
from mqops.rules import Table

PREFIXES = ("SYSTEM.", "MQOPS.")


def is_protected(queue: str) -> bool:
    """Whether no message may choose this queue (rule 1)."""
    return queue.startswith(PREFIXES)


def rules_that_ask_messages(table: Table) -> frozenset[str]:
    """The keys of the rules whose destination the message names: RETRY, and FWD with an &-name as FWDQ."""
    return frozenset(
        rule.key
        for rule in table.rules
        if rule.action is Action.RETRY or (rule.action is Action.FWD and rule.fwdq in NAME_COLUMNS)
    )
