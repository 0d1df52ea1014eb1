"""Queues of which nothing is known: the connection's user may not inquire them."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Problem
from mqops.mqsc import mqsc_name
from mqops.queue_names import not_seen


def not_inquired(known: Known) -> Iterator[Problem]:
    """That they were not looked at: one may be full, or broken."""
    if known.not_inquired:
        queues = known.not_inquired
        profile = mqsc_name(queues[0]) if len(queues) == 1 else "queue"
        each = "" if len(queues) == 1 else ", for each"
        grant = f"SET AUTHREC PROFILE({profile}) OBJTYPE(QUEUE) PRINCIPAL(user) AUTHADD(DSP,INQ,BROWSE)"
        yield Problem(what=not_seen(queues), remedy=f"To mend it{each}: {grant}")
