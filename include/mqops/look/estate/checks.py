"""All checks of a queue manager. One more thing that can be wrong is one more module here, and a line in a tuple.

What such a check must ask the queue manager for is a field of `Figures` first (`look/figures.py`).

The page Estate and `mqops estate status` run them all. What is wrong on a queue manager and is no matter of this room
comes from above, as the last quality run does (`mqops.quality.not_in_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from mqops.look.estate.backout import backout_queues, misconfigured
from mqops.look.estate.channels import not_sent
from mqops.look.estate.connection import asked, connection
from mqops.look.estate.dead_letters import by_kind, dead_letter_queue, dead_letters
from mqops.look.estate.expiry import expiry
from mqops.look.estate.known import Known
from mqops.look.estate.ledger import ledger
from mqops.look.estate.loops import loops, seen_to_loop
from mqops.look.estate.nearly_full import nearly_full
from mqops.look.estate.never_read import never_read
from mqops.look.estate.not_inquired import not_inquired
from mqops.look.estate.problem import Problem, tried
from mqops.look.estate.storage import in_storage
from mqops.look.estate.triggers import broken, switched_off
from mqops.look.estate.uncommitted import uncommitted
from mqops.look.estate.unfinished import unfinished


class Check(NamedTuple):
    """Parameters: `failed` what is said, before the error, where it fails."""

    look: Callable[[Known], Iterable[Problem]]
    failed: str


PROBLEMS = (
    Check(connection, "Whether the queue manager answers cannot be told"),
    Check(dead_letter_queue, "Whether there is a dead-letter queue cannot be told"),
    Check(expiry, "What expires cannot be told"),
    Check(nearly_full, "Which queues are full cannot be told"),
    Check(not_sent, "What channels do cannot be told"),
    Check(dead_letters, "The dead letters cannot be told"),
    Check(backout_queues, "What is on backout queues cannot be told"),
    Check(broken, "What triggers cannot be told"),
    Check(seen_to_loop, "What loops cannot be told"),
    Check(loops, "The snapshots cannot be read"),
    Check(ledger, "Whether the ledger verifies cannot be told"),
    Check(unfinished, "Which runs are not finished cannot be told"),
)
"""What is wrong, in the order in which it is shown."""
NOTES = (
    Check(asked, "Whether the queue manager is being asked cannot be told"),
    Check(never_read, "Where runs put messages cannot be read"),
    Check(misconfigured, "Which queues have no usable backout queue cannot be told"),
    Check(by_kind, "What the dead letters are cannot be read"),
    Check(in_storage, "What lies in storage cannot be told"),
    Check(uncommitted, "Which units of work are open cannot be told"),
    Check(switched_off, "Where triggering is switched off cannot be told"),
    Check(not_inquired, "Which queues cannot be seen cannot be told"),
)
"""What a person should know besides."""


def found_by(checks: Iterable[Check], known: Known) -> Iterator[tuple[tuple[Problem, ...], tuple[Problem, ...]]]:
    """The problems that each check has found; a check that fails is a problem itself."""
    return (tried(check.failed, partial(_all, check, known), ()) for check in checks)


def _all(check: Check, known: Known) -> tuple[Problem, ...]:
    return tuple(check.look(known))
