"""The first task of backout reprocessing: which backout queues there are, what they hold, what is set up wrongly."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mqops import form_files
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.printable import printable
from mqops.queue_names import not_seen
from mqops.workflow import Workflow
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.begin import end_here
from mqops_airflow.operators.check import CheckOperator, drain_and_log, valid_table
from mqops_airflow.operators.first_tell import left_by, not_looked_at, told_of
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import md

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.lake.run import RunFolder
    from mqops_airflow.runs.run_folder import XCom


class BackoutCheckOperator(CheckOperator):
    """Finds the backout queues by inquiry; checks rules table, quarantine queue and ledger; makes the run's folder.

    Where all of them are empty the run ends here: everything behind is skipped. What is set up wrongly (P11) is logged
    and in the XCom in either case.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.backout.of_estate import rows_of  # noqa: PLC0415
        from mqops.decide import backout_setting as backout  # noqa: PLC0415
        from mqops.decide.gate import write_setting  # noqa: PLC0415
        from mqops.deciders.backout import BACKOUT, survey  # noqa: PLC0415
        from mqops.deciders.gate import gate_of  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        if self.four_eyes:
            must_tell_people_apart(context)
        form, estate = given.Backout.of(context), estate_file()
        section = estate.estate.queue_managers[self.queue_manager].backout_reprocess
        assert section is not None
        rules = form_files.table(estate, form.rules_file)
        table = valid_table(rules, self.queue_manager, self.log, origins=True)
        with connect(connection_for(self.queue_manager, estate)) as session:
            drained = drain_and_log(session, lake(estate), self.queue_manager, self.log)
            surveyed = survey(
                session,
                queues=form.queues or (),
                replay_cap=form.replay_cap,
                quarantine=section.quarantine,
                backoff=tuple(int(one.total_seconds()) for one in section.backoff),
                origins=rows_of(section),
                leaves=partial(left_by, form, session, lake(estate), log=self.log),
            )
            looked_at = replace(surveyed, queues=tuple(surveyed.depths))
            gate = gate_of(estate, self.queue_manager, BACKOUT, session, looked_at)
        for remark in surveyed.setting.remarks():
            self.log.warning("%s", printable(remark))
        for queue, depth in surveyed.depths.items():
            named_by = ", ".join(surveyed.setting.named_by[queue]) or "no queue"
            self.log.info(
                "%s: %s; named as BOQNAME by %s", printable(queue), counted(depth, "message"), printable(named_by)
            )
        self.log.info("%s of earlier runs recorded", counted(drained, "marker"))
        found = {
            "messages": sum(surveyed.depths.values()),
            "remarks": list(surveyed.setting.remarks()),
            "rules": str(rules),
            "table_digest": table.digest,
            **told_of(surveyed.left.values()),
        }
        queues = surveyed.queues
        if not queues and not surveyed.left and surveyed.setting.unseen:
            raise SettingsError(not_seen(surveyed.setting.unseen))
        if not queues and surveyed.left:
            return end_here(self, context, {"queue": "", **found}, not_looked_at(surveyed.left.values()))
        if not queues:
            why = md("Nothing to do: the backout queues are empty")
            return self.nothing_to_do(context, {"queue": "", **found}, Workflow.BACKOUT_REPROCESS, why)

        def keep(folder: RunFolder) -> None:
            backout.write_setting(folder, surveyed.setting)
            write_setting(folder, gate)

        return self.begin(*(context, lake(estate), queues, found), form=form, keep=keep)
