"""The task behind the kill switch in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mqops.printable import printable
from mqops_airflow.four_eyes import requester
from mqops_airflow.workplace import estate_file, lake

if TYPE_CHECKING:
    from airflow.sdk import Context


class StopOperator(BaseOperator):
    """Stops what the form names, or lets it go on; the XCom says what is in force now. No queue manager is asked."""

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.clock import utc_now  # noqa: PLC0415
        from mqops.errors import SettingsError  # noqa: PLC0415
        from mqops.lake import stop as store  # noqa: PLC0415
        from mqops.lake.run import RunFolder  # noqa: PLC0415

        params, key = context["params"], context["params"]["run"]
        folder = RunFolder.at(lake(estate_file()), params["queue_manager"], key or "any")
        if key and not folder.path.is_dir():
            raise SettingsError(f"{params['queue_manager']} has no run {key} in the lake")
        place = folder.path if key else folder.lake_folder
        what = f"run {key}" if key else f"all acting on {params['queue_manager']}"
        if params["do"] == "resume":
            lifted = store.lift(place)
            self.log.info("%s may go on; it was stopped %s", printable(what), printable(lifted or "by nobody"))
            return {"what": what, "stopped": None}
        stopped = store.stop(place, store.Stop(by=requester(context), at=utc_now(), why=params["why"]))
        self.log.warning("%s is stopped %s", printable(what), printable(stopped))
        return {"what": what, "stopped": stopped.to_json()}
