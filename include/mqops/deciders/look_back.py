"""What became of the messages that the newest runs moved: a run looks when it is proved (`mqops.prove.outcomes`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice

from mqops.clock import utc
from mqops.errors import LakeError, MqopsError
from mqops.lake.pruned import there_of
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.look.runs import Runs
from mqops.mq.connection import Reach
from mqops.printable import printable
from mqops.prove.core.outcome import OutcomeSummary
from mqops.prove.outcomes import Browsed, look
from mqops.prove.records import OUTCOMES, SUMMARY, UNDO_RECORD

BACK_RUNS, BACK_MESSAGES, BACK_DEPTH = 5, 10_000, 20_000
"""A run looks back at no more runs, at no run that moved more messages, and at no deeper queue, to save time.
`mqops ledger outcomes` looks at any run."""
_log = logging.getLogger(__name__)


def look_back(
    connection: Reach, run: RunFolder, *, file: LedgerFile, now: Callable[[], datetime] = utc
) -> list[OutcomeSummary]:
    """Look at the outcomes of the newest runs before this one that may still change. An error is logged, not raised.

    A run is looked at again when its age has doubled since the last look, and when this run is an undo of it; not after
    `mqops lake prune` has removed its snapshot, without which a message is not recognised.

    Parameters: `file` the ledger, opened by the step.
    """
    undoes, summaries, at = UNDO_RECORD.find(run), [], now()
    undone = undoes.run if undoes else ""
    due = (one for one in _earlier(run, undone) if _is_due(one, at, just_undone=one.run == undone))
    browsed: Browsed = {}  # runs that follow one another mostly move to the same queues
    for earlier in list(islice(due, BACK_RUNS)):
        try:
            summaries.append(look(connection, earlier, deepest=BACK_DEPTH, file=file, browsed=browsed, now=now))
        except MqopsError as error:
            _log.warning(
                "Cannot tell what became of the messages of run %s: %s", printable(earlier.run), printable(error)
            )
    return summaries


def _earlier(run: RunFolder, undone: str) -> Iterator[RunFolder]:
    """The run that this one undoes, and the newest proved runs beside it that have snapshots. Parameters: `undone` the
    key of the former, "" for none."""
    if undone and there_of((found := RunFolder(run.path.with_name(undone))).snapshot):
        yield found
    runs = Runs.in_folder(run.lake_folder)
    with suppress(LakeError):  # a run that cannot be read; the others are known
        runs.caught_up(but=run.run)
    try:
        newest = replace(runs, fresh=True).proved_last(4 * BACK_RUNS)  # where no index can be kept, all are read again
    except LakeError as error:
        _log.warning("Cannot tell what became of the messages of earlier runs: %s", printable(error))
        return
    yield from (RunFolder(run.path.with_name(one)) for one in newest if one not in (run.run, undone))


def _is_due(run: RunFolder, now: datetime, *, just_undone: bool) -> bool:
    try:
        summary, last = SUMMARY.read(run), OUTCOMES.find(run)
    except MqopsError:
        return False
    if not 0 < summary.moved <= BACK_MESSAGES:
        return False
    if last is None or (last.plan, last.moved) != (summary.plan, summary.moved):
        return True
    looked_at = datetime.fromisoformat(last.looked_at)
    if not last.open:
        return False
    return just_undone or now - looked_at >= looked_at - datetime.fromisoformat(summary.proved_at)
