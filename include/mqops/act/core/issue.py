"""Issuing a plan's tickets, once (rule 2 of `mqops.act`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mqops.act.core.port import Port
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, Ticket


def issue(
    port: Port, plan: PlanIdentity, lengths: Sequence[int], *, about: Mapping[str, Any], now: Callable[[], str]
) -> None:
    """Put one ticket for each lane that has rows, and the marker that they were issued, in one unit of work.

    The caller holds the run's lock and knows of no earlier issue; an issue that was committed and not noted is found
    by its marker here, which nobody drains before it is noted.

    Parameters: `lengths` rows of each lane; `about` goes into the marker (who asked, who approved, which table).

    Raises:
        OutcomeUnknown: the commit may have been made: call again.
    """
    if port.has_marker(plan.issued_id()):
        return
    for lane, length in enumerate(lengths):
        if length:
            port.put_ticket(plan.ticket(lane), Ticket(run=plan.run, plan=plan.digest, lane=lane, next=0).pack())
    marker = Marker(
        unit=plan.issued_id().hex(),
        run=plan.run,
        plan=plan.digest,
        kind="issued",
        at=now(),
        lanes=tuple(lengths),
        about=about,
    )
    port.put_marker(plan.issued_id(), plan.markers(), marker.pack())
    port.commit()
