"""The row of a run in the index of the runs (`mqops.look.runs_index`): what the files of the run say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from mqops.act.progress import PROGRESS, read_live_progress
from mqops.actions import SENDS
from mqops.clock import utc_now, utc_text
from mqops.errors import LakeError, LedgerBroken
from mqops.expiry.record import SCANNED
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.pruned import there_of
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.lake.stop import NAME as STOP
from mqops.lake.stop import Stop, stop_in
from mqops.ledger.noted import ACTED
from mqops.ledger.proofs import proof_in
from mqops.look.core.question import Asked
from mqops.look.core.run_state import PlanKnown, RunFiles, RunLine, as_of, line_of
from mqops.look.runs_index import Row, SaidOfLedger
from mqops.message_checks import QualitySummary
from mqops.model import ObserveSummary
from mqops.observe.recorded import OBSERVED
from mqops.prove.records import OUTCOMES, SESSION, SUMMARY, UNDO_RECORD

T = TypeVar("T")
NO_IDS = (b"", b"")
"""Of a snapshot without a message: no MsgId lies between them."""
PLAN = RunFile("plan.json", PlanKnown)
APPROVAL = RunFile("approval.json", Asked)
"""In Airflow: the question about the plan, and the answer (`mqops_airflow.approval.answer`)."""
QUALITY = RunFile("quality/quality.json", QualitySummary)
"""The verdict of the run's quality checks (`mqops.quality.results`)."""


class RunNow(NamedTuple):
    """The line of a run, and the files that it was made of. Parameters: `stop` of all runs of the queue manager."""

    line: RunLine
    files: RunFiles
    stop: Stop | None


def run_now(run: RunFolder) -> RunNow:
    """A run as it is now: each of its files is read once. Raises `LakeError`."""
    try:
        files = _files(run)
    except (LakeError, OSError) as error:
        if run.path.is_dir():
            raise
        raise LakeError(f"Run {run.run} was removed meanwhile") from error
    stop = stop_in(run.lake_folder)
    line = as_of(line_of(run.run, run.queue_manager, files), utc_now(), stopped=stop is not None)
    return RunNow(line, files, stop)


def run_line(run: RunFolder) -> RunLine:
    """The line of one run, as it is now. Raises `LakeError`."""
    return run_now(run).line


def row_of(run: RunFolder) -> Row | None:
    """The row of a run, from its files; None if the run was removed meanwhile. Raises `LakeError`."""
    try:
        files = _files(run)
        undo = UNDO_RECORD.find(run) if files.undoes else None
        there = files.expiry.dead_letters if files.expiry and files.expiry.done > 0 else None
        grew = files.expiry.came if files.expiry and there else 0
        return Row(
            line=as_of(line_of(run.run, run.queue_manager, files), utc_now(), stopped=False),
            undoes=undo.run if undo else "",
            session=passed.session if (passed := SESSION.find(run)) else "",
            verdict=run.quality_json.stat().st_mtime_ns if files.quality else 0,
            grew_on=there.name if there and grew > 0 else "",
            grew=max(0, grew),
            snapshot=there_of(run.snapshot),
            plan=there_of(run.plan),
            msg_ids=_msg_ids(run, files.observe),
            observed=tuple((one.queue, one.messages) for one in files.observe.queues) if files.observe else (),
            put_on=_put_on(files.plan) if files.plan else (),
            proofs=tuple(_of_ledger(run, files)),
        )
    except (LakeError, OSError):
        if not run.path.is_dir():
            return None
        raise


def _msg_ids(run: RunFolder, observed: ObserveSummary | None) -> tuple[bytes, bytes] | None:
    """The least and the greatest MsgId of a snapshot, else of the plan: of no message `NO_IDS`, None where the footers
    of the files do not say them."""
    from mqops.lake.row_groups import bounds  # noqa: PLC0415 - DAG files load no pyarrow

    if observed is not None and not any(one.messages for one in observed.queues):
        return NO_IDS
    for folder in (run.snapshot, run.plan):
        with suppress(LakeError):  # who reads the messages will find it
            (found,) = bounds(folder, "msg_id")
            return found
    return None


def _of_ledger(run: RunFolder, files: RunFiles) -> Iterator[SaidOfLedger]:
    """What the run's summaries say of the ledger's end. Raises `LakeError`: the run was removed meanwhile."""
    if files.summary and files.summary.ledger_seq:
        yield SaidOfLedger(seq=files.summary.ledger_seq, hash=files.summary.ledger_head)
    try:
        if OUTCOMES.exists(run) and (proof := proof_in(OUTCOMES.path(run))):
            yield SaidOfLedger(seq=proof.head.seq, hash=proof.head.hash)
    except (LakeError, LedgerBroken) as error:
        if not run.path.is_dir():
            raise LakeError(str(error)) from error
        yield SaidOfLedger(error=str(error))


def _put_on(plan: PlanKnown) -> tuple[tuple[str, str], ...]:
    named = {(one.dest_q, one.dest_q_mgr) for one in plan.counts if one.action in SENDS}
    return tuple(named | {("", "")} if plan.counts_left_off else named)


def _files(run: RunFolder) -> RunFiles:
    there = set(os.listdir(run.path))
    if run.quality_json.parent.name in there and run.quality_json.exists():
        there.add(QUALITY.name)

    def content(file: RunFile[T]) -> T | None:
        return file.read(run) if file.name in there else None

    handed_on = NO_DAG_RUN
    with suppress(LakeError):  # it says who asked, and nothing that is relied on
        handed_on = content(HANDED_ON) or NO_DAG_RUN
    progress = read_live_progress(run) if PROGRESS.name in there else None
    damaged = PROGRESS.name in there and progress is None  # a power cut can do that
    newest = run.plan_json if run.plan_json.name in there else run.path
    return RunFiles(
        observe=content(OBSERVED),
        plan=content(PLAN),
        approval=content(APPROVAL),
        act=content(ACTED),
        summary=content(SUMMARY),
        expiry=content(SCANNED),
        quality=content(QUALITY),
        issued=run.issued_json.name in there,
        stopped=STOP in there,
        undoes=UNDO_RECORD.name in there,
        planned_at=_changed_at(newest),
        acted_at=progress.at if progress else _changed_at(PROGRESS.path(run)) if damaged else "",
        progress=progress,
        acts=bool(handed_on.found.get("acts")),
        asked_by=str(handed_on.found.get("requested_by", "")),
        dag_id=handed_on.dag_id,
    )


def _changed_at(path: Path) -> str:
    return utc_text(datetime.fromtimestamp(path.stat().st_mtime, UTC))
