"""How each execution of act begins, with Spark and without: lane tokens are issued once, a resume is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mqops.act.approved_plan import ApprovedPlan, about_plan
from mqops.act.lane_tokens import issue_tokens_once, reached_in_ledger
from mqops.act.led_elsewhere import refuse_led_elsewhere
from mqops.act.resume_record import record_resume
from mqops.ledger import stop_message
from mqops.ledger.core.marker import About
from mqops.ledger.keys import KeyRing
from mqops.mq.connection import MqConnection, connect


class Begun(NamedTuple):
    """What an execution knows when it begins: the rows of each lane; what the ledger says about the plan; lane → its
    position in the ledger."""

    lengths: list[int]
    about: About
    reached: Mapping[int, int]


def begin(
    connection: MqConnection,
    approved_plan: ApprovedPlan,
    lengths: Callable[[], Sequence[int]],
    about: About | None,
    *,
    needs: Sequence[str] | None = None,
) -> Begun:
    """Begin, or go on with a plan that was begun; the run's lock is held. Nothing is moved.

    Parameters: as of `issue_tokens_once`; `about` besides what the plan says.

    Raises:
        Stopped: all acting on the queue manager is stopped, for every lake.
        MqopsError: as `issue_tokens_once`, `record_resume` and `refuse_led_elsewhere`.
    """
    refuse_if_stopped_for_all(connection, approved_plan)
    if not approved_plan.folder.issued_json.exists():
        with connect(connection) as session:
            refuse_led_elsewhere(session, approved_plan)
    about_run = about_plan(approved_plan, about or {})
    issued = issue_tokens_once(connection, approved_plan.folder, approved_plan, lengths, about_run, needs=needs)
    record_resume(connection, approved_plan, str(about_run.get("finished_by") or ""))
    return Begun(issued, about_run, reached_in_ledger(approved_plan))


def refuse_if_stopped_for_all(connection: MqConnection, approved_plan: ApprovedPlan) -> None:
    """Raise `Stopped` where a stop for every lake is on the ledger queue. Raises `MQError`."""
    with connect(connection) as session:
        stop_message.refuse_if_stopped_for_all(
            session, KeyRing(approved_plan.folder.lake_folder), approved_plan.queue_manager
        )
