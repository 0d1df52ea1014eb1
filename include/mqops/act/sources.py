"""Which queues the workflows may take messages from. Every workflow asks here first, and the mover once more."""

from __future__ import annotations

from mqops.errors import MQError, SettingsError
from mqops.ledger.queue import NAME as LEDGER
from mqops.mq.inquire import base_queue, deadq, queue_attribute
from mqops.mq.session import Session
from mqwire import constants as c

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
PROTECTION_ERRORS = "SYSTEM.PROTECTION.ERROR.QUEUE"
"""Where Advanced Message Security puts, behind an MQDLH, what it cannot open (IBM MQ, "Error handling for AMS"): a
second dead-letter queue."""


def check_source(session: Session, queue: str) -> None:
    """See that messages may be taken from a queue, under whatever name.

    The ledger queue holds the records and the lane tokens of runs. The messages of a transmission queue are its
    channel's. Queues `SYSTEM.*` are the queue manager's, but for its dead-letter queue and that of Advanced Message
    Security.

    Raises:
        SettingsError: nothing may be taken from it.
        MQError: the queue manager cannot be inquired.
    """
    base = base_queue(session, queue)
    name = queue if base == queue else f"{queue} (an alias of {base})"
    if base == LEDGER:
        raise SettingsError(f"{name} holds the records of mqops: no workflow takes messages from it")
    if base.startswith("SYSTEM.") and base not in {DEAD_LETTERS, PROTECTION_ERRORS, deadq(session)}:
        raise SettingsError(f"{name} is a queue of the queue manager: no workflow takes messages from it")
    if _usage(session, base) == c.MQUS_TRANSMISSION:
        raise SettingsError(f"{name} is a transmission queue: no workflow takes the messages of a channel")


def _usage(session: Session, queue: str) -> int:
    """MQUS_*; MQUS_NORMAL for the queue behind an alias that mqops may use and not inquire."""
    try:
        return int(queue_attribute(session, queue, c.MQIA_USAGE))
    except MQError as error:
        if error.reason == c.MQRC_NOT_AUTHORIZED:
            return c.MQUS_NORMAL
        raise
