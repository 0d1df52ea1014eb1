"""Fetches the answer that Airflow has recorded, for a task `approve` that Airflow failed in spite of it.

Airflow 3.3 can fail a task whose question is answered at once. Its scheduler looks whether the task's process has ended
now and then. If a person answers before that look, the answer has queued the task again, and the scheduler takes the
end of the process for a fault of the queued task (https://github.com/apache/airflow/issues/67287, 71580). The answer
stays recorded. The task's next try cannot read it: a worker serves no such request, and to put the question once more
erases it. The triggerer can read it. So that try waits for this trigger.

The trigger waits itself before it reads: it ends a wait as an answer does, and the same would happen again if the
scheduler had not noted by then that the process of this try has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from airflow.providers.standard.triggers.hitl import HITLTriggerEventSuccessPayload

    from mqops_airflow.airflow_private.task import HITLDetailResponse


class RecordedAnswer(BaseTrigger):
    """Its event is the answer, as Airflow resumes a task with one, or None where nobody has answered.

    :param asked: UUID of the task instance whose question it is.
    :param at: when it is read, ISO 8601 UTC.
    """

    def __init__(self, *, asked: str, at: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.asked = asked
        self.at = at

    def serialize(self) -> tuple[str, dict[str, object]]:
        return f"{type(self).__module__}.{type(self).__qualname__}", {"asked": self.asked, "at": self.at}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from asgiref.sync import sync_to_async  # noqa: PLC0415

        from mqops_airflow.airflow_private.task import get_hitl_detail_content_detail  # noqa: PLC0415

        await asyncio.sleep(max(0.0, (datetime.fromisoformat(self.at) - datetime.now(UTC)).total_seconds()))
        found = await sync_to_async(get_hitl_detail_content_detail)(ti_id=UUID(self.asked))
        yield TriggerEvent(_event(found))  # type: ignore[no-untyped-call]


def _event(found: HITLDetailResponse) -> HITLTriggerEventSuccessPayload | None:
    if not found.response_received or found.responded_at is None:
        return None
    who = found.responded_by_user
    return {
        "chosen_options": list(found.chosen_options or []),
        "params_input": dict(found.params_input or {}),
        "responded_at": found.responded_at,
        "responded_by_user": {"id": who.id, "name": who.name} if who else None,
    }
