"""The first task of the poison guard: it watches input queues, and plans, in the task itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mqops.errors import NotLookedAt, SettingsError
from mqops.printable import printable
from mqops.queue_names import not_seen
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.begin import begun, end_here
from mqops_airflow.operators.check import CheckOperator, drain_and_log, told
from mqops_airflow.operators.first_tell import not_looked_at, tells, told_of
from mqops_airflow.runs.requester import requester
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import md

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.deciders.guard import GuardRequest
    from mqops.mq.connection import OneSession
    from mqops_airflow.runs.run_folder import XCom


class GuardPlanOperator(CheckOperator):
    """Looks for messages that loop; copies them, and makes the plan. Without such messages the run ends here.

    The log says who reads each queue, how fast BackoutCount rises, since when, and what waits behind.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.mq.connection import one_session  # noqa: PLC0415 - loads the MQ library

        if self.four_eyes:
            must_tell_people_apart(context)
        request = self._request(context)
        with one_session(request.connection) as step:
            return self._planned(context, step, request)

    def _planned(self, context: Context, step: OneSession, request: GuardRequest) -> XCom:
        from mqops.deciders.gate import gate_of  # noqa: PLC0415
        from mqops.deciders.guard import GUARD, select  # noqa: PLC0415
        from mqops.deciders.run import plan_selected  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        with connect(step) as session:
            drain_and_log(session, request.lake, self.queue_manager, self.log)
            try:
                loops = select(session, request)
            except NotLookedAt as refused:
                return end_here(self, context, {"queue": "", **told_of(refused.args)}, not_looked_at(refused.args))
            gate = gate_of(estate_file(), self.queue_manager, GUARD, session, loops)
        for remark in loops.guarded.remarks():
            self.log.warning("%s", printable(remark))
        found = {"queue": ",".join(loops.queues), **told_of(loops.left)}
        if unseen := loops.guarded.unseen:
            self.log.error("%s", printable(not_seen(unseen)))
        if not loops.queues:
            if unseen:
                raise SettingsError(not_seen(unseen))
            nothing = md("Nothing to do: no message is at or over its BOTHRESH")
            left = not_looked_at(loops.left)
            return end_here(self, context, found, md("{} {}.", left, nothing) if left else nothing)
        with begun(self, context, request.lake, self.queue_manager, found) as run:
            if run is None:
                return found
            plan = plan_selected(GUARD, replace(request, connection=step), run.folder, loops, gate)
            return {**run.handed, **told(self.log, plan, run.folder)}

    def _request(self, context: Context) -> GuardRequest:
        from mqops.deciders.guard import GuardRequest  # noqa: PLC0415

        form, estate = given.Guard.of(context), estate_file()
        section = estate.estate.queue_managers[self.queue_manager].poison_guard
        assert section is not None
        return GuardRequest(
            connection=connection_for(self.queue_manager, estate),
            lake=lake(estate),
            queues=form.queues or (),
            limit=form.limit or 0,
            watch=section.watch.total_seconds(),
            unit_size=form.unit_of_work,
            requested_by=requester(context),
            first_tell=tells(form, self.log),
        )
