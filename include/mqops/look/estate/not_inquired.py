"""Queues of which nothing is known: the connection's user may not inquire them."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Problem
from mqops.queue_names import not_seen


def not_inquired(known: Known) -> Iterator[Problem]:
    """That they were not looked at: one may be full, or broken."""
    if known.not_inquired:
        yield Problem(what=not_seen(known.not_inquired))
