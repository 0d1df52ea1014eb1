"""The task of `mq_daily_notice`: it tells people what needs one of them, on all queue managers, in one message."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from mqops.errors import MqopsError
from mqops.printable import printable
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.notices.notify import Notice, send, template_values
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import md, words
from mqops_airflow.ui.views import address

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate import EstateFile
    from mqops.look.estate.stands import Asked
    from mqops_airflow.runs.run_folder import XCom


class DailyNoticeOperator(BaseOperator):
    """Sends what `mqops estate status --daily` shows, by the notifier of the estate. The log has every line, also where
    nothing is sent. A queue manager that does not answer is a line of the message.

    A run of the schedule sends; one by hand is dry unless its form says otherwise. Where the notifier fails, the task
    fails, and is tried again as every task is.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.look.estate.stands import stand  # noqa: PLC0415 - loads the MQ library
        from mqops.look.words.daily import daily  # noqa: PLC0415
        from mqops.look.words.needs import needs_in_text  # noqa: PLC0415
        from mqops.quality.not_in_order import NOT_IN_ORDER  # noqa: PLC0415

        estate = estate_file()
        notify = estate.estate.notify
        if notify is None or notify.daily is None:
            raise AirflowException("The estate has no `notify.daily` any more: nobody is told")
        asked = [_asked(name, estate) for name in estate.estate.queue_managers]
        found = [each.now for each in stand(asked, lake(estate), (NOT_IN_ORDER,)).values()]
        message = daily(needs_in_text(found), managers=len(found), most=notify.daily.most)
        for line in (message.subject, *message.lines):
            self.log.info("%s", printable(line))
        dry = context["dag_run"].run_type.value == "manual" and bool(context["params"]["dry_run"])
        sends = message.needs_somebody or notify.daily.when_nothing
        if sends and not dry:
            run = context["dag_run"]
            told = template_values(run.dag_id, run.run_id, Notice.DAILY, {"subject": message.subject})
            told.text = "\n".join(map(printable, message.lines))
            told.link = address("estate").removesuffix("?")
            send(notify, context, told)
        sent = "would be sent" if sends and dry else "sent" if sends else "not sent: nothing needs a person"
        keep_for_note(context, md("{}: {}", words(message.subject), words(sent)))
        return {"dry_run": dry, "sends": sends, "subject": message.subject, "lines": len(message.lines)}


def _asked(name: str, estate: EstateFile) -> Asked:
    """Airflow is asked for the connection here: a thread of a task cannot."""
    from mqops.look.estate.stands import Asked  # noqa: PLC0415
    from mqops.quality.gate_setting import gate_in_words  # noqa: PLC0415 - reads suites

    settings = estate.estate.queue_managers[name]
    try:
        connection = connection_for(name, estate)
        return Asked(name=name, settings=settings, connection=connection, also=partial(gate_in_words, estate, name))
    except MqopsError as error:
        return Asked(name=name, settings=settings, connection=None, why=str(error))
