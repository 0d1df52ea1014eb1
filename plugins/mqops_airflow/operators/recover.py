"""The first task of `mq_recover`: the plan for chosen messages, or of an undo, made in the task itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.errors import SettingsError
from mqops.model import Account
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.undo import UndoPlanOperator
from mqops_airflow.runs.requester import requester
from mqops_airflow.runs.run_folder import XCom
from mqops_airflow.runs.workplace import estate_file, lake

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.deciders.recover import RecoverRequest
    from mqops.estate import EstateFile

RESTORE = "restore"
"""The action of the form that is an undo."""


class RecoverPlanOperator(UndoPlanOperator):
    """Plans what the form asks for: an undo, or `mqops.deciders.recover`.

    What Airflow cannot check before the run is queued, because it concerns two fields, is checked here first: nothing
    is looked at then, and the text names the field.
    """

    def execute(self, context: Context) -> XCom:
        form = given.Recover.of(context)
        refuse_contradictions(form)
        if form.action == RESTORE:
            return super().execute(context)
        from mqops.deciders.recover import RECOVER  # noqa: PLC0415

        request = request_of(form, estate_file(), requested_by=requester(context))
        return self.plan_by(context, RECOVER, request, form)


def refuse_contradictions(form: given.Recover) -> None:
    """Refuse fields that do not go together. Raises `SettingsError`, whose text begins with the title of a field."""
    if form.action == RESTORE and not form.run:
        raise SettingsError("Run: restore needs the run whose messages are put back")
    if form.action != RESTORE and form.run:
        raise SettingsError(f"Run: {form.action} takes no run; only restore does")
    if form.action != RESTORE and not form.queue:
        raise SettingsError(f"Queue: {form.action} needs the queue that has the messages")


def request_of(form: given.Recover, estate: EstateFile, *, requested_by: str) -> RecoverRequest:
    """What a form asks for. Raises `SettingsError`, `RulesError`."""
    from mqops.deciders.recover import Do, RecoverRequest, refuse_unclear  # noqa: PLC0415
    from mqops.look.core.criteria import criteria  # noqa: PLC0415
    from mqops.quality.failed_keys import with_failed  # noqa: PLC0415

    wanted = criteria(form.where or "", since=form.since, until=form.until)
    if form.failed:
        wanted = with_failed(wanted, form.failed, lake(estate), form.queue_manager)
    request = RecoverRequest(
        connection=connection_for(form.queue_manager, estate),
        lake=lake(estate),
        do=Do(form.action),
        queue=form.queue or "",
        msg_ids=form.message_ids or (),
        wanted=wanted,
        everything=form.all_messages,
        to=form.destination or "",
        to_queue_manager=form.destination_queue_manager or "",
        strip=form.header == "strip",
        unit_size=form.unit_of_work,
        pacing=form.pacing(),
        requested_by=requested_by,
        account=Account.AIRFLOW,
    )
    refuse_unclear(request)
    return request
