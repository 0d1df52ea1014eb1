"""Undo: what a run moved and discarded is put back (`mqops undo`). The rules stand in `mqops.undo`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.ledger.core.marker import About
from mqops.look.words.fates import PUTS_BACK
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Collection

    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.ledger.file import LedgerFile
    from mqops.model import ActSummary, RunSummary
    from mqops.mq.connection import Reach
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest(RunRequest):
    """What an undo is asked for. Parameters: `undoes` the run that is undone."""

    undoes: RunFolder


def select(_session: Session, request: UndoRequest) -> Selection:
    """The queues of the run that is undone. Raises `LakeError`."""
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    return Selection(queues=tuple(PLAN.read(request.undoes).queue.split(",")), gated=False)


def decide(request: UndoRequest, run: RunFolder) -> PlanSummary:
    """Copy the originals and plan what is put back. Raises as `mqops.undo.in_process.plan_undo`; `NotLookedAt`."""
    from mqops.expiry.before_look import told_before_look  # noqa: PLC0415
    from mqops.expiry.first_tell import refuse_at_stake  # noqa: PLC0415 - loads the MQ library
    from mqops.undo.in_process import plan_undo  # noqa: PLC0415

    def tell(session: Session, queues: Collection[str]) -> None:
        refuse_at_stake(request.first_tell, session, request.lake, queues)
        for line in told_before_look(request.lake, run.queue_manager, queues):
            request.warn(line)

    return plan_undo(request.connection, request.undoes, run, before_look=tell)


def act(
    connection: Reach, run: RunFolder, /, *, file: LedgerFile, unit_size: int, approved: str, about: About | None
) -> ActSummary:
    """Put back through `mqops.undo.undo_port.UndoPort`. Raises as `mqops.undo.in_process.act_undo`."""
    from mqops.undo.in_process import act_undo  # noqa: PLC0415 - loads the MQ library

    return act_undo(connection, run, file=file, unit_size=unit_size, approved=approved, about=about)


UNDO = Decider(
    name=Workflow.UNDO,
    request=UndoRequest,
    select=select,
    decide=decide,
    act=act,
    command="mqops.cli.undo:undo",
    form=("queue_manager", "run", "first_tell", "dry_run", "unit_of_work"),
    dag="all",
    dry_run_is_approvable=False,
    reads_queues=False,
    key_prefix=Workflow.UNDO,
    fates=PUTS_BACK,
)


def finish_undos(
    connection: Reach, run: RunFolder, *, unit_size: int = DEFAULT_UNIT_SIZE, who: str = ""
) -> list[RunSummary]:
    """Finish the undos of a run that were begun and did not end or were not proved, as after a crash.

    They were approved when they began.

    Parameters: `who` finishes them (user@host), for the ledger.

    Raises as `act_and_prove` and `prove`.
    """
    from mqops.deciders.run import act_and_prove, prove_and_look_back  # noqa: PLC0415 - they load the MQ library
    from mqops.ledger.file import LedgerFile  # noqa: PLC0415
    from mqops.prove.records import SUMMARY  # noqa: PLC0415
    from mqops.undo.in_process import begun_undos  # noqa: PLC0415

    summaries = []
    for undo, digest, is_open in begun_undos(connection, run):
        file, about = LedgerFile(undo.lake_folder), {"finished_by": who}
        if is_open:
            summaries.append(
                act_and_prove(UNDO, connection, undo, file=file, unit_size=unit_size, approved=digest, about=about)
            )
        elif not SUMMARY.exists(undo):
            summaries.append(prove_and_look_back(connection, undo, file))
    return summaries
