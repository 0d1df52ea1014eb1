"""How far a long reading of a ledger is, as lines of the log `mqops.ledger.progress`, which a command shows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from mqops.printable import printable

EVERY = 2.0
"""Seconds between two lines."""
_log = logging.getLogger(__name__)


def told(what: str, queue_manager: str) -> Callable[[int, int], None]:
    """Tells how many bytes of how many are read, every few seconds; nothing of what is done sooner.

    Parameters: `what` is being done, for example "Index of the ledger".
    """
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            so_far = f"{done >> 20:,} of {total >> 20:,} MB"
            _log.info("%s of %s: %s", printable(what), printable(queue_manager), printable(so_far))

    return tell
