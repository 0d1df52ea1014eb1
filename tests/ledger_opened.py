"""A snapshot by a step of its own, which opens the ledger for it, as the commands and tasks do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.model import ObserveSummary
from mqops.mq.connection import Reach
from mqops.observe import in_process, snapshot


def observe(connection: Reach, run: RunFolder, queues: Sequence[str] = (), **options: Any) -> ObserveSummary:
    """As `mqops.observe.in_process.observe`."""
    return in_process.observe(connection, run, queues, ledger=LedgerFile(run.lake_folder), **options)


def finish(run: RunFolder, queue_manager: str, queues: Sequence[str], observed_at: str) -> ObserveSummary:
    """As `mqops.observe.snapshot.finish`."""
    return snapshot.finish(run, queue_manager, queues, observed_at, ledger=LedgerFile(run.lake_folder))
