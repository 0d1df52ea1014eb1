"""Which way a snapshot is checked: in this process or by Spark. All ways find the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.message_checks import QualitySummary
from mqops.quality.files import QualityFiles
from mqops.quality.frame_here import messages_in
from mqops.quality.in_process import check_here
from mqops.quality.suite import Suite, by_gx_only

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 200_000
"""Most messages that are checked here: measured, 200,000 take no longer here than Spark takes to start."""


def check_snapshot(
    files: QualityFiles, suites: tuple[Suite, ...], *, now: str, session: Callable[[], SparkSession]
) -> QualitySummary:
    """Run suites on a snapshot, here or by Spark. Parameters: `session` gives one of Spark, if it is needed. Raises as
    `check_here`."""
    if not needs_spark(files.snapshot, suites):
        return check_here(files, suites, now=now)
    if by_gx_only(suites):
        from mqops.quality.check import check as by_spark  # noqa: PLC0415 - Spark
    else:
        from mqops.quality.one_pass import check_in_one_pass as by_spark  # noqa: PLC0415 - Spark
    return by_spark(session(), files, suites, now=now)


def needs_spark(snapshot: Path, suites: Iterable[Suite]) -> bool:
    """Whether suites on a snapshot are checked by Spark. Raises as `messages_in`."""
    return by_gx_only(suites) or messages_in(snapshot) > FEW
