"""Why a message on a backout queue came from a queue, or why that is ambiguous, in words."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.backout.core.origin import By, Origin, Setting, jms_target
from mqops.backout.core.origin_table import SECTION, OriginRow, suggested, why_not
from mqops.observe.core.columns import SnapshotRow

NO_QUEUE = "QUEUE"
"""Stands in a suggested row where nothing says which queues it could be."""


def why(message: SnapshotRow, found: Origin, where: Setting) -> str:
    """What decided, and by what (`mqops.backout.core.origin`).

    Parameters: `message` column of the snapshot → value; `found` its origin.
    """
    queue = message["queue"]
    jms = jms_target(message["jms_destination"], where)
    if found.by is By.TABLE:
        assert found.row is not None
        other = f", though its MQRFH2 names {jms} (jms/Dst)" if jms not in ("", found.queue) else ""
        return f"{SECTION}.{found.row} decides: {where.origins[found.row].when}{other}"
    if found.by is By.DEAD_LETTER:
        return "its MQDLH names it: this is the dead-letter queue"
    if found.by is By.BOQNAME:
        return f"no other queue names {queue} as BOQNAME"
    if found.by is By.JMS:
        named = f"names {queue} as BOQNAME" if where.named_by.get(queue) else "is a local queue"
        return f"its MQRFH2 names it (jms/Dst), and it {named}"
    return f"ambiguous: {'; '.join(_doubts(message, where))}"


def _doubts(message: SnapshotRow, where: Setting) -> Iterator[str]:
    queue = message["queue"]
    if message["dlh_error"] is None:
        yield "it has an MQDLH, which anybody can have written who puts on this queue, and RETRY would take that off"
        return
    named = where.named_by.get(queue, ())
    yield f"{' and '.join(named)} name {queue} as BOQNAME" if named else f"no queue names {queue} as BOQNAME"
    jms = jms_target(message["jms_destination"], where)
    yield f"its MQRFH2 names {jms} (jms/Dst), which is none of these" if jms else "no MQRFH2 names a queue (jms/Dst)"
    yield from why_not(where.origins, where.counting.get(queue, ()), message)


def row_for(message: SnapshotRow, where: Setting) -> tuple[OriginRow, tuple[str, ...]] | None:
    """A row of the table that would decide, and the queues that may stand in it; None where no row can.

    Parameters: `message` whose origin is ambiguous.
    """
    if message["dlh_error"] is None:
        return None
    queue = message["queue"]
    named = where.named_by.get(queue, ())
    return suggested(message, named[0] if named else NO_QUEUE, "" if named else queue), named
