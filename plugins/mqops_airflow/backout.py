"""The first task of backout reprocessing: which backout queues there are, what they hold, what is set up wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops import form_files
from mqops.printable import printable
from mqops_airflow.check import CheckOperator, asked, drained_leftovers, end_here, valid_table
from mqops_airflow.four_eyes import must_tell_people_apart
from mqops_airflow.reach import connection_for
from mqops_airflow.run_folder import hand_on, own_folder
from mqops_airflow.workplace import estate_file, lake

if TYPE_CHECKING:
    from airflow.sdk import Context


class BackoutCheckOperator(CheckOperator):
    """Finds the backout queues by inquiry; checks rules table, quarantine queue and ledger; makes the run's folder.

    Where all of them are empty the run ends here: everything behind is skipped. What is set up wrongly (P11) is logged
    and in the XCom in either case.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.decide import backout_setting as backout  # noqa: PLC0415
        from mqops.deciders.backout import survey  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        if self.four_eyes:
            must_tell_people_apart(context)
        params, estate = context["params"], estate_file()
        section = estate.estate.queue_managers[self.queue_manager].backout_reprocess
        assert section is not None
        rules = form_files.table(estate, params["rules_file"])
        table = valid_table(rules, self.queue_manager, self.log, origins=True)
        with connect(connection_for(self.queue_manager, estate)) as session:
            drained = drained_leftovers(session, lake(estate), self.queue_manager, self.log)
            surveyed = survey(
                session,
                queues=params["queues"] or (),
                replay_cap=params["replay_cap"],
                quarantine=section.quarantine,
            )
        for remark in surveyed.setting.remarks():
            self.log.warning("%s", printable(remark))
        for queue, depth in surveyed.depths.items():
            named_by = ", ".join(surveyed.setting.named_by[queue]) or "no queue"
            self.log.info("%s: %d messages; named as BOQNAME by %s", printable(queue), depth, printable(named_by))
        self.log.info("%d markers of earlier runs drained", drained)
        found = {
            "queue": ",".join(surveyed.filled),
            "messages": sum(surveyed.depths.values()),
            "remarks": list(surveyed.setting.remarks()),
            "rules": str(rules),
            "table_digest": table.digest,
        }
        if not surveyed.filled:
            return end_here(self, context, found)
        folder = own_folder(context, lake(estate), self.queue_manager)
        backout.keep(folder, surveyed.setting)
        return hand_on(context, folder, found | asked(params))
