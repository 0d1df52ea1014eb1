"""The first task of a DAG that plans by a decider in the task itself, without a JVM (docs/adding_a_decider.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, SkipMixin

from mqops.pandas_later import arrow_without_pandas
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.operators.begin import begun, end_here
from mqops_airflow.operators.check import drain_and_log, tell_before_look, told
from mqops_airflow.operators.first_tell import left_by, not_looked_at, told_of
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.deciders.decider import Decider, R
    from mqops_airflow.forms import given
    from mqops_airflow.runs.run_folder import XCom


class PlanInTaskOperator(BaseOperator, SkipMixin):
    """Plans in the task itself. A subclass has `execute`, which makes the request of the form, and calls `plan_by`.

    :param four_eyes: whether the person who starts a run may not approve it.
    """

    operator_extra_links = (RunLink(),)
    inherits_from_skipmixin = True

    def __init__(self, *, four_eyes: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.four_eyes = four_eyes

    def plan_by(self, context: Context, decider: Decider[R], request: R, form: given.PlansInTask) -> XCom:
        """Select, copy and decide. Where "First tell" leaves queues, or a run of any DAG is at work on one of them, the
        run ends here. The queues are handed on before they are browsed, so that other runs see them from then on.

        :param request: what the form asks for; `connection` is how the queue manager is reached.

        Raises:
            MqopsError: nothing may be taken from a queue, the queue manager or the lake fails, or a gate stops it.
        """
        from mqops.deciders.gate import gate_of  # noqa: PLC0415
        from mqops.deciders.run import plan_selected  # noqa: PLC0415 - loads the MQ library
        from mqops.mq.connection import connect, one_session  # noqa: PLC0415

        if self.four_eyes:
            must_tell_people_apart(context)
        arrow_without_pandas()
        name = form.queue_manager
        with one_session(request.connection) as step:
            with connect(step) as session:
                selection = decider.select(session, request)
                queues = selection.queues
                gate = gate_of(estate_file(), name, decider, session, selection)
                drain_and_log(session, request.lake, name, self.log)
                left = left_by(form, session, request.lake, queues, self.log)
            if left:
                return end_here(self, context, {"queue": "", **told_of(left.values())}, not_looked_at(left.values()))
            found = {"queue": ",".join(queues)}
            with begun(self, context, request.lake, name, found) as run:
                if run is None:
                    return found
                tell_before_look(request.lake, name, queues, self.log)
                plan = plan_selected(decider, replace(request, connection=step), run.folder, selection, gate)
                return {**run.handed, **told(self.log, plan, run.folder)}
