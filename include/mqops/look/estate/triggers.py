"""Queues that cannot trigger, and those on which triggering is switched off."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import MOST_LINES, Place, Problem, Urgency
from mqops.mqsc import mqsc_name


def broken(known: Known) -> Iterator[Problem]:
    """Each queue that cannot trigger, and why."""
    for queue, verdict in known.broken_triggers.items():
        what = f"{queue} cannot trigger: {verdict}"
        yield Problem(what=what, urgency=Urgency.NOW, place=Place.TRIGGERS, about=queue)


def switched_off(known: Known) -> Iterator[Problem]:
    """That triggering is off, perhaps on purpose."""
    queues = known.switched_off
    for queue in queues[:MOST_LINES]:
        mend = f"Where it is not on purpose: ALTER QLOCAL({mqsc_name(queue)}) TRIGGER"
        yield Problem(what=f"{OFF} on {queue}, {NONE}", remedy=mend, place=Place.TRIGGERS, about=queue)
    if more := queues[MOST_LINES:]:
        what = f"{OFF} on {counted(len(more), 'more queue')}, {NONE}: {', '.join(more)}"
        yield Problem(what=what, remedy="Where it is not on purpose, for each: ALTER QLOCAL(queue) TRIGGER")


OFF, NONE = "Triggering is switched off (NOTRIGGER)", "and no message waits there"
