"""The operators of the undo: its plan, acting on it, its proof. All in the Airflow task itself, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseBranchOperator, BaseOperator

from mqops.actions import RESTORE, RETURN
from mqops.estate import Approval
from mqops.printable import printable
from mqops_airflow.check import drained_leftovers, own_folder
from mqops_airflow.permission import permission
from mqops_airflow.policy import judge
from mqops_airflow.prove import ProveOperator
from mqops_airflow.reach import connection_for
from mqops_airflow.workplace import estate_file, lake

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.mq.connection import MqConnection


class UndoPlanOperator(BaseOperator):
    """Looks where the messages of the form's run are now, copies the originals into a run of its own, makes the plan.

    The XCom has the folder, and of the plan what the next tasks need.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.decide.core.preflight import shown  # noqa: PLC0415
        from mqops.decide.preflight_record import kept  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.undo.in_process import find_run, plan_undo  # noqa: PLC0415

        params, estate = context["params"], estate_file()
        name, lake_folder = params["queue_manager"], lake(estate)
        connection = connection_for(name, estate)
        run = find_run(lake_folder, name, params["run"])
        with connect(connection) as session:
            drained_leftovers(session, lake_folder, name, self.log)
        folder = own_folder(context, lake_folder, name)
        plan = plan_undo(connection, run, folder)
        for action, count in sorted(plan.actions.items()):
            (self.log.info if action in {RESTORE, RETURN} else self.log.warning)("%s: %d messages", action, count)
        found = kept(folder)
        for remark in (*plan.remarks, *(shown(found.findings) if found else ())):
            self.log.warning("%s", printable(remark))
        told = {"folder": str(folder.path), "undoes": run.run, "run": plan.run, "digest": plan.digest}
        return told | {"rows": plan.rows, "actions": plan.actions, "remarks": list(plan.remarks)}


class UndoRouteOperator(BaseBranchOperator):
    """Sends a dry run, and a plan that puts nothing back, to its proof, every other one to a person.

    The XCom `verdict` says which way, why, and the plan's digest.
    """

    def choose_branch(self, context: Context) -> str:
        plan = context["ti"].xcom_pull(task_ids="plan")
        dry_run = bool(context["params"]["dry_run"])
        verdict = judge(messages=plan["actions"], approval=Approval(), dry_run=dry_run, by_hand=True)
        self.log.info("Plan %s: %s (%s)", plan["digest"], verdict.way, verdict.why)
        value = {"way": verdict.way, "why": verdict.why, "digest": plan["digest"]}
        context["ti"].xcom_push(key="verdict", value=value)
        return "approve" if verdict.way == "ask" else "prove"


class UndoActOperator(BaseOperator):
    """Acts on the plan of an undo that the run has permission for; cleared or tried again, it goes on where it stopped.

    :param folder: the undo's folder (templated).
    :param four_eyes: whether the person who started the run may not be the one who approved it.
    """

    template_fields = ("folder",)

    def __init__(self, *, folder: str, four_eyes: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.four_eyes = four_eyes

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.lake.run import RunFolder  # noqa: PLC0415
        from mqops.undo.in_process import carry_out  # noqa: PLC0415

        params = context["params"]
        found = permission(context, four_eyes=self.four_eyes)
        summary = carry_out(
            connection_for(params["queue_manager"], estate_file()),
            RunFolder(Path(self.folder)),
            approved=found.digest,
            unit_size=params["unit_of_work"],
            about={"requested_by": found.requested_by, "approved_by": found.approved_by},
        )
        self.log.info("%d put back, %d failed, %d changed since", summary.moved, summary.failed, summary.absent)
        return summary.to_json()


class UndoProveOperator(ProveOperator):
    """`ProveOperator` on the queue manager that the form names."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(mq_conn_id="", **kwargs)

    def connection(self, context: Context) -> MqConnection:
        return connection_for(context["params"]["queue_manager"], estate_file())
