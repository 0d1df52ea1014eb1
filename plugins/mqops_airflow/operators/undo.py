"""The first task of `mq_undo`: the plan of an undo, made in the task itself, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.errors import NotLookedAt
from mqops.pandas_later import arrow_without_pandas
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.approval.which_run import run_named
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.begin import end_here
from mqops_airflow.operators.check import drain_and_log, tell_before_look, told
from mqops_airflow.operators.first_tell import not_looked_at, tells, told_of
from mqops_airflow.operators.plan_in_task import PlanInTaskOperator
from mqops_airflow.runs.run_folder import XCom, hand_on, own_folder
from mqops_airflow.runs.workplace import estate_file, lake

if TYPE_CHECKING:
    from collections.abc import Collection

    from airflow.sdk import Context

    from mqops.mq.session import Session


class UndoPlanOperator(PlanInTaskOperator):
    """Looks where the messages of the form's run are now, copies the originals into a run of its own, makes the plan.

    RUN/handed_on.json says which run is undone; the XCom tells people of the plan, no task reads it.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.expiry.first_tell import refuse_at_stake  # noqa: PLC0415 - loads the MQ library
        from mqops.mq.connection import connect, one_session  # noqa: PLC0415
        from mqops.undo.in_process import plan_undo  # noqa: PLC0415

        if self.four_eyes:
            must_tell_people_apart(context)
        arrow_without_pandas()
        form, estate = given.Undo.of(context), estate_file()
        name, lake_folder, asks = form.queue_manager, lake(estate), tells(form, self.log)

        def look(session: Session, queues: Collection[str]) -> None:
            refuse_at_stake(asks, session, lake_folder, queues)
            tell_before_look(lake_folder, name, queues, self.log)

        run = run_named(lake_folder, name=form.run, queue_manager=name, planned=True)
        try:
            with one_session(connection_for(name, estate)) as step:
                with connect(step) as session:
                    drain_and_log(session, lake_folder, name, self.log)
                with own_folder(context, lake_folder, name) as folder:
                    plan = plan_undo(step, run, folder, before_look=look)
                    handed = hand_on(context, folder, {"undoes": run.run})
                    return {**handed, **told(self.log, plan, folder)}
        except NotLookedAt as refused:
            return end_here(self, context, {"queue": "", **told_of(refused.args)}, not_looked_at(refused.args))
