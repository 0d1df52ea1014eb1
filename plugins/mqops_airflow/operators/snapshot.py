"""The first task of the snapshot workflow: which queues are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder
from mqops.queue_names import not_seen
from mqops.workflow import Workflow
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.operators.begin import NOTHING_TO_DO, end_here
from mqops_airflow.operators.check import CheckOperator, log_choice, tell_before_look
from mqops_airflow.operators.expiry import refuse_unseen
from mqops_airflow.operators.first_tell import left_by, not_looked_at, told_of
from mqops_airflow.runs.run_folder import XCom, hand_on, own_folder
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import Markdown, joined, md, words

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from mqops.quality.queues import QueueChoice

MOST_LOOKED_AT = 10
"""Snapshots whose queues are looked at again although they are empty now."""


class SnapshotCheckOperator(CheckOperator):
    """Checks queue manager and queues, makes the run's folder, and hands on what is copied, without a JVM.

    A queue that is empty now is looked at, too, if one of the snapshots before has a message of it: else nothing would
    say that its messages have left. Without any queue the run ends here, and observe is skipped; it fails where a queue
    that is meant could not be seen, or where all of them have GET(DISABLED): no snapshot would be made for as long as
    that is so.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.quality.queues import choose_queues  # noqa: PLC0415

        form, estate = given.Snapshot.of(context), estate_file()
        with connect(connection_for(self.queue_manager, estate)) as session:
            choice = choose_queues(session, form.queues)
            at_stake = left_by(form, session, lake(estate), choice.depths, self.log)
        log_choice(choice.inhibited, choice.aliases, choice.unseen, self.log)
        emptied = sorted({*choice.empty} & filled_before(lake(estate), self.queue_manager))
        depths = {queue: depth for queue, depth in choice.depths.items() if queue not in at_stake}
        queues, messages = [*depths, *emptied], sum(depths.values())
        self.log.info("%s on %s", counted(messages, "message"), counted(len(queues), "queue"))
        found = {
            "queues": ",".join(queues),
            "messages": messages,
            "limit": form.limit or 0,
            "inhibited": list(choice.inhibited),
            "unseen": list(choice.unseen),
            **told_of(at_stake.values()),
        }
        left = _not_looked_at(choice)
        if not queues:
            refuse_unseen(choice.unseen)
            if choice.inhibited and not choice.empty:
                raise SettingsError(
                    f"No queue can be copied, all have GET(DISABLED): {', '.join(choice.inhibited)}. Let them be read "
                    "(ALTER QLOCAL(...) GET(ENABLED)), or name other queues"
                )
            done = not_looked_at(at_stake.values()) or NOTHING_TO_DO
            return end_here(self, context, found, joined(". ", [done, *left]))
        if left or at_stake:
            told = [md("{}.", joined(". ", left))] if left else []
            keep_for_note(context, joined(" ", filter(None, [*told, not_looked_at(at_stake.values())])))
        tell_before_look(lake(estate), self.queue_manager, depths, self.log)
        with own_folder(context, lake(estate), self.queue_manager) as folder:
            return hand_on(context, folder, found)


def _not_looked_at(choice: QueueChoice) -> list[Markdown]:
    """A sentence for each queue that is meant and cannot be read now, and one for those that cannot be seen."""
    inhibited = [md("{} is not looked at: GET(DISABLED)", queue) for queue in choice.inhibited]
    return [*inhibited, words(not_seen(choice.unseen))] if choice.unseen else inhibited


def filled_before(lake_folder: Path, queue_manager: str) -> set[str]:
    """The queues of which the newest snapshots have messages. Raises `LakeError`."""
    from mqops.look.runs import Runs  # noqa: PLC0415 - loads the index of the runs
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    newest = Runs(lake_folder, queue_manager).newest(MOST_LOOKED_AT, workflow=Workflow.SNAPSHOT)
    folders = (RunFolder.at(lake_folder, queue_manager, line.run) for line in newest)
    seen = (OBSERVED.read(folder) for folder in folders if OBSERVED.exists(folder))
    return {one.queue for summary in seen for one in summary.queues if one.messages}
