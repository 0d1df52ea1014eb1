"""Names that lead elsewhere than when the plan was made: an alias or a remote queue whose definition was changed since.

Who approves a plan approves names, and has seen where they lead (RUN/preflight.json). Before anything is begun the
names are followed again. Where one leads to another queue now, nothing is moved.
"""

from __future__ import annotations

from mqops.act.approved_plan import ApprovedPlan
from mqops.decide.core.preflight import Inquired
from mqops.decide.destination import DestinationInquiry
from mqops.decide.preflight_record import read_preflight
from mqops.errors import PlanChanged
from mqops.mq.session import Session
from mqops.printable import printable


def refuse_led_elsewhere(session: Session, approved_plan: ApprovedPlan) -> None:
    """Refuse a plan of which a destination leads elsewhere by now. What was not known when the plan was made, and what
    is not known now, is not compared: the mover finds out.

    Raises:
        PlanChanged: the text names the destination, where it led and where it leads.
        MQError: the connection is lost.
    """
    found = read_preflight(approved_plan.folder)
    if found is None or found.plan != approved_plan.identity.digest:
        return
    inquiry = DestinationInquiry(session)
    for one in found.looked:
        before = _place(one.there)
        now = _place(inquiry.inquired(one.demand)) if before else ""
        if before and now and before != now:
            raise PlanChanged(
                f"{printable(one.demand.name)} led to {printable(before)} when the plan was made, and leads to "
                f"{printable(now)} now: its definition was changed. Nothing was moved. Look at it, and make a new run, "
                "or change the definition back"
            )


def _place(there: Inquired) -> str:
    """The queue that messages come to lie on, and where they go on to; "" where it is not known."""
    if there.queue is None:
        return ""
    return f"{there.queue.name} for {there.remote}" if there.remote else there.queue.name
