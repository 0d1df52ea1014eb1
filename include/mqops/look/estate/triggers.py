"""Queues that cannot trigger, and those on which triggering is switched off."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency


def broken(known: Known) -> Iterator[Problem]:
    """Each queue that cannot trigger, and why."""
    for queue, verdict in known.broken_triggers.items():
        what = f"{queue} cannot trigger: {verdict}"
        yield Problem(what=what, urgency=Urgency.NOW, place=Place.TRIGGERS, about=queue)


def switched_off(known: Known) -> Iterator[Problem]:
    """That triggering is off, perhaps on purpose."""
    if queues := known.switched_off:
        what = f"Triggering is switched off (NOTRIGGER) on {', '.join(queues)}, and no message waits there"
        yield Problem(what=what, place=Place.TRIGGERS, about=queues[0])
