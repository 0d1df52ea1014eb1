"""The task behind the kill switch in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from mqops.clock import utc_now
from mqops.errors import MqopsError
from mqops.lake.run import folder_of
from mqops.printable import printable
from mqops_airflow.approval.which_run import run_named
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.runs.requester import requester
from mqops_airflow.runs.workplace import estate_to_look, lake
from mqops_airflow.ui.markdown import NOTHING, Markdown, md, words

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from mqops.estate import EstateFile
    from mqops.lake.stop import Stop
    from mqops_airflow.runs.run_folder import XCom


class StopOperator(BaseOperator):
    """Stops what the form names, or lets it go on; the XCom says what is in force now.

    All acting on a queue manager is stopped for the runs of every lake where the queue manager answers, else for those
    of this lake: the note says which.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.lake import stop as store  # noqa: PLC0415

        form, estate = given.Stop.of(context), estate_to_look()
        name = form.queue_manager
        run = run_named(lake(estate), name=form.run, queue_manager=name) if form.run else None
        place = run.path if run else folder_of(lake(estate), name)
        what = f"run {run.run} of {name}" if run else f"all acting on {name}"
        noted = md("run {} of {}", run.run, words(name)) if run else md("all acting on {}", words(name))
        if form.do == "resume":
            left = NOTHING if run else _resume_all(name, place, estate)
            lifted = store.lift(place, by=requester(context), at=utc_now())
            self.log.info("%s may go on; it was stopped %s", printable(what), printable(lifted or "by nobody"))
            then = NOTHING if run else md(". A run that has ended since goes on from its page")
            keep_for_note(context, md("{} may go on{}{}", noted, then, left))
            return {"what": what, "stopped": None}
        wanted = store.Stop(by=requester(context), at=utc_now(), why=form.why or "")
        reach = NOTHING if run else _stop_all(name, place, estate, wanted)
        stopped = store.stop(place, wanted)
        self.log.warning("%s is stopped %s", printable(what), printable(stopped))
        back = md("Resume on its page") if run else md("Resume all runs on the page Estate")
        keep_for_note(context, md("{} is stopped {}{}. {} takes the stop back", noted, stopped, reach, back))
        return {"what": what, "stopped": stopped.to_json()}


def _stop_all(name: str, place: Path, estate: EstateFile, what: Stop) -> Markdown:
    """Stop the runs of every lake; returns for which it holds, in words."""
    from mqops.ledger.stop_message import stop_all  # noqa: PLC0415 - loads the MQ library

    try:
        why_not = stop_all(connection_for(name, estate), place, what)
    except (MqopsError, AirflowException) as error:
        why_not = "; ".join(str(error).splitlines())
    return md(", for runs of this lake only ({})", why_not) if why_not else md(", for the runs of every lake")


def _resume_all(name: str, place: Path, estate: EstateFile) -> Markdown:
    """Take the stops for every lake off that this lake signed; returns what is left of others, in words."""
    from mqops.ledger.stop_message import resume_all  # noqa: PLC0415 - loads the MQ library

    try:
        found = resume_all(connection_for(name, estate), place)
    except (MqopsError, AirflowException) as error:
        return md(". Whether a stop for every lake is on MQOPS.LEDGER is not known: {}", str(error))
    if found.unknown:
        return md(". Whether a stop for every lake is on MQOPS.LEDGER is not known: {}", found.unknown)
    if found.left:
        return md(". It is stopped still, {}: {} takes it off", str(found.left[0]), "mqops resume --why REASON")
    return NOTHING
