"""The steps of a run, each with a ledger that is opened for it, as the commands and tasks do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from mqops.act import in_process as acting
from mqops.deciders import look_back as looking_back
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.model import ActSummary, ObserveSummary, RunSummary
from mqops.mq.connection import Reach
from mqops.observe import in_process, snapshot
from mqops.prove import outcomes
from mqops.prove import prove as proving
from mqops.prove.core.outcome import OutcomeSummary
from mqops.undo import in_process as undoing


def observe(connection: Reach, run: RunFolder, queues: Sequence[str] = (), **options: Any) -> ObserveSummary:
    """As `mqops.observe.in_process.observe`."""
    return in_process.observe(connection, run, queues, ledger=LedgerFile(run.lake_folder), **options)


def finish(run: RunFolder, queue_manager: str, queues: Sequence[str], observed_at: str) -> ObserveSummary:
    """As `mqops.observe.snapshot.finish`."""
    return snapshot.finish(run, queue_manager, queues, observed_at, ledger=LedgerFile(run.lake_folder))


def act(connection: Reach, run: RunFolder, **options: Any) -> ActSummary:
    """As `mqops.act.in_process.act`."""
    return acting.act(connection, run, file=LedgerFile(run.lake_folder), **options)


def act_undo(connection: Reach, run: RunFolder, **options: Any) -> ActSummary:
    """As `mqops.undo.in_process.act_undo`."""
    return undoing.act_undo(connection, run, file=LedgerFile(run.lake_folder), **options)


def prove(connection: Reach, run: RunFolder) -> RunSummary:
    """As `mqops.prove.prove.prove`."""
    return proving.prove(connection, run, file=LedgerFile(run.lake_folder))


def reopened(connection: Reach, run: RunFolder) -> AbstractContextManager[proving.Reopened]:
    """As `mqops.prove.prove.reopened`."""
    return proving.reopened(connection, run, LedgerFile(run.lake_folder))


def look(connection: Reach, run: RunFolder, **options: Any) -> OutcomeSummary:
    """As `mqops.prove.outcomes.look`."""
    return outcomes.look(connection, run, file=LedgerFile(run.lake_folder), **options)


def look_back(connection: Reach, run: RunFolder, **options: Any) -> list[OutcomeSummary]:
    """As `mqops.deciders.look_back.look_back`."""
    return looking_back.look_back(connection, run, file=LedgerFile(run.lake_folder), **options)
