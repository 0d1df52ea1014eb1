"""The task behind the kill switch in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mqops.printable import printable
from mqops_airflow.four_eyes import requester
from mqops_airflow.markdown import NOTHING, md, words
from mqops_airflow.outcome_text import keep_for_note
from mqops_airflow.which_run import run_named
from mqops_airflow.workplace import estate_to_look, lake

if TYPE_CHECKING:
    from airflow.sdk import Context


class StopOperator(BaseOperator):
    """Stops what the form names, or lets it go on; the XCom says what is in force now. No queue manager is asked."""

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.clock import utc_now  # noqa: PLC0415
        from mqops.lake import stop as store  # noqa: PLC0415
        from mqops.lake.run import folder_of  # noqa: PLC0415

        params, estate = context["params"], estate_to_look()
        asked, name = params["run"], params["queue_manager"]
        run = run_named(lake(estate), name=asked, queue_manager=name) if asked else None
        place = run.path if run else folder_of(lake(estate), name)
        what = f"run {run.run} of {name}" if run else f"all acting on {name}"
        noted = md("run {} of {}", run.run, words(name)) if run else md("all acting on {}", words(name))
        if params["do"] == "resume":
            lifted = store.lift(place, by=requester(context), at=utc_now())
            self.log.info("%s may go on; it was stopped %s", printable(what), printable(lifted or "by nobody"))
            then = NOTHING if run else md(". A run that has ended since goes on from its page")
            keep_for_note(context, md("{} may go on{}", noted, then))
            return {"what": what, "stopped": None}
        stopped = store.stop(place, store.Stop(by=requester(context), at=utc_now(), why=params["why"] or ""))
        self.log.warning("%s is stopped %s", printable(what), printable(stopped))
        back = md("Resume on its page") if run else md("Resume all runs on the page Estate")
        keep_for_note(context, md("{} is stopped {}. {} takes the stop back", noted, stopped, back))
        return {"what": what, "stopped": stopped.to_json()}
