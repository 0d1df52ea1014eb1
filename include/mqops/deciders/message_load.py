"""Load: the messages of a file are put on a queue (`mqops message load`). The rules stand in `mqops.message_file`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.deciders.gate import ask_gate
from mqops.ledger.core.marker import About
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.ledger.file import LedgerFile
    from mqops.model import ActSummary, RunSummary
    from mqops.mq.connection import Reach
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest(RunRequest):
    """What a load is asked for. Parameters: `file` and `queue`; `again` whether what was loaded before is put again."""

    file: Path
    queue: str
    again: bool = False


def select(session: Session, request: LoadRequest) -> Selection:
    """The queue that the messages are loaded onto. Raises `SettingsError` if loading onto it is not allowed."""
    from mqops.message_file.load import refuse_target  # noqa: PLC0415 - loads the MQ library

    refuse_target(session, request.queue)
    return Selection(queues=(request.queue,))


def decide(request: LoadRequest, run: RunFolder) -> PlanSummary:
    """Copy the messages of the file and plan what is put. Raises as `mqops.message_file.load.plan_load`."""
    from mqops.message_file.load import plan_load  # noqa: PLC0415 - loads the MQ library

    return plan_load(request.connection, run, request.file, request.queue, again=request.again, ask_gate=ask_gate)


def act(
    connection: Reach, run: RunFolder, /, *, file: LedgerFile, unit_size: int, approved: str, about: About | None
) -> ActSummary:
    """Put through `mqops.message_file.load.LoadPort`. Raises as `mqops.message_file.load.act_load`."""
    from mqops.message_file.load import act_load  # noqa: PLC0415 - loads the MQ library

    return act_load(connection, run, file=file, unit_size=unit_size, approved=approved, about=about)


MESSAGE_LOAD = Decider(
    name=Workflow.MESSAGE_LOAD,
    request=LoadRequest,
    select=select,
    decide=decide,
    act=act,
    command="mqops.cli.message_file:load",
    dry_run_is_approvable=False,
    reads_queues=False,
    key_prefix="load",
)


def finish_loads(request: LoadRequest, *, unit_size: int = DEFAULT_UNIT_SIZE) -> list[RunSummary]:
    """Finish the loads of a file onto a queue that were begun and did not end or were not proved, as after a crash.

    They were approved when they began. Raises as `act_and_prove` and `prove`.
    """
    from mqops.deciders.run import act_and_prove  # noqa: PLC0415 - loads the MQ library
    from mqops.ledger.file import LedgerFile  # noqa: PLC0415
    from mqops.message_file.load import begun_loads  # noqa: PLC0415
    from mqops.prove.prove import prove  # noqa: PLC0415
    from mqops.prove.records import SUMMARY  # noqa: PLC0415

    summaries = []
    about = {"finished_by": request.requested_by}
    for run, plan, is_open in begun_loads(request.connection, request.lake, request.file, request.queue):
        connection, file = request.connection, LedgerFile(run.lake_folder)
        if is_open:
            finished = act_and_prove(
                MESSAGE_LOAD, connection, run, file=file, unit_size=unit_size, approved=plan.digest, about=about
            )
            summaries.append(finished)
        elif not SUMMARY.exists(run):
            summaries.append(prove(connection, run, file=file))
    return summaries
