"""A plan's lane tokens are issued once (rule 2 of `mqops.act`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqops.act.core.port import Port
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About, LaneToken, Marker, MarkerKind


def issue_tokens(
    port: Port, plan: PlanIdentity, lengths: Sequence[int], *, about: About, now: Callable[[], str]
) -> None:
    """Put one lane token for each lane that has rows, and the marker that they were issued, in one unit of work.

    The caller holds the run's lock and knows of no earlier issue; an issue that was committed and not noted is found
    by its marker here: no process drains the marker before RUN/issued.json is written.

    Parameters: `lengths` rows of each lane; `about` goes into the marker (who asked, who approved, which table).

    Raises:
        OutcomeUnknown: the commit may have been made: call again.
    """
    if port.has_marker(plan.issued_id()):
        return
    for lane, length in enumerate(lengths):
        if length:
            port.put_lane_token(
                plan.lane_token_id(lane), LaneToken(run=plan.run, plan=plan.digest, lane=lane, next=0).pack()
            )
    marker = Marker(
        unit=plan.issued_id().hex(),
        run=plan.run,
        plan=plan.digest,
        kind=MarkerKind.ISSUED,
        at=now(),
        lanes=tuple(lengths),
        about=about,
    )
    port.put_marker(plan.issued_id(), plan.markers(), marker.pack())
    port.commit()
