"""The progress of a run (`mqops.lake.step`, `mqops.act.progress`), or of a check of data quality, on standard error, so
that standard output has the outcome alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("mqops.lake.step", "mqops.act.progress", "mqops.ledger.progress", "mqops.quality.check")


class _ToStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from mqops.cli.passes import warn  # noqa: PLC0415 - only commands that act need it

        line = record.getMessage()
        warn(line[:1].lower() + line[1:])


@contextmanager
def progress_shown() -> Iterator[None]:
    """While this lasts, the lines at info level go to standard error."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before, handler = [logger.level for logger in loggers], _ToStandardError(logging.INFO)
    for logger in loggers:
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
