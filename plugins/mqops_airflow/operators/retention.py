"""The task of `mq_lake_retention`: it removes what old runs no longer need, and says what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from mqops.counted import counted
from mqops.errors import MqopsError
from mqops.printable import printable
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.runs.requester import requester
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import md, words

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops_airflow.runs.run_folder import XCom


class LakeRetentionOperator(BaseOperator):
    """Removes what is due for each queue manager in the lake, as `retention` of the estate says (`mqops lake prune`).

    A run of the schedule removes; one by hand is dry unless its form says otherwise. What one queue manager's lake
    refuses does not keep the others from being pruned; the task fails then, at its end.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.clock import utc  # noqa: PLC0415
        from mqops.lake.run import queue_managers  # noqa: PLC0415
        from mqops.retention.of_estate import policy_of  # noqa: PLC0415
        from mqops.retention.prune import prune, survey  # noqa: PLC0415

        estate = estate_file()
        if estate.estate.retention is None:
            raise AirflowException("The estate has no `retention` any more: nothing is removed")
        policy, place = policy_of(estate.estate.retention), lake(estate)
        dry = context["dag_run"].run_type.value == "manual" and bool(context["params"]["dry_run"])
        done, failed = [], []
        for name in queue_managers(place):
            now = utc()
            try:
                found = survey(place, name, policy, now=now)
                one = prune(place, name, found, who=requester(context), now=now, dry_run=dry)
            except MqopsError as error:
                failed.append(f"{name}: {error}")
                self.log.error("%s", printable(failed[-1]))
                continue
            done.append(one)
            what = ", ".join(counted(number, part) for part, number in one.parts.items()) or "nothing"
            self.log.info("%s: %s: %s", printable(name), "would be removed" if dry else "removed", printable(what))
            for why, number in one.kept.items():
                self.log.info(
                    "%s: %s all: %s", printable(name), counted(number, "run keeps", "runs keep"), printable(why)
                )
        freed = counted(sum(one.bytes for one in done) >> 20, "MiB", "MiB")
        runs = counted(sum(one.runs for one in done), "run")
        told = md("{} of {} {}", words(freed), words(runs), words("would be removed" if dry else "removed"))
        keep_for_note(context, told)
        if failed:
            raise AirflowException("; ".join(failed))
        return {"dry_run": dry, "queue_managers": [one.to_json() for one in done]}
