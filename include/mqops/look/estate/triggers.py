"""Queues that cannot trigger, and those on which triggering is switched off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency, each_or_rest
from mqops.mqsc import mqsc_name


def broken(known: Known) -> Iterator[Problem]:
    """Each queue that cannot trigger, and why."""
    for queue, verdict in known.broken_triggers.items():
        what = f"{queue} cannot trigger: {verdict}"
        yield Problem(what=what, urgency=Urgency.NOW, place=Place.TRIGGERS, about=queue)


def switched_off(known: Known) -> Iterator[Problem]:
    """That triggering is off, perhaps on purpose."""
    yield from each_or_rest(known.switched_off, _off, _others_off)


def _off(queue: str) -> Problem:
    mend = f"Where it is not on purpose: ALTER QLOCAL({mqsc_name(queue)}) TRIGGER"
    return Problem(what=f"{OFF} on {queue}, {NONE}", remedy=mend, place=Place.TRIGGERS, about=queue)


def _others_off(more: Sequence[str]) -> Problem:
    what = f"{OFF} on {counted(len(more), 'more queue')}, {NONE}: {', '.join(more)}"
    return Problem(what=what, remedy="Where it is not on purpose, for each: ALTER QLOCAL(queue) TRIGGER")


OFF, NONE = "Triggering is switched off (NOTRIGGER)", "and no message waits there"
