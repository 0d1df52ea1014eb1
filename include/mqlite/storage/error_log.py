"""`errors.log` of a queue manager: its service writes it; a channel writes to the log of the other end as well."""

from __future__ import annotations

import logging
import logging.handlers
import os
from pathlib import Path

from mqwire.printable import printable

NAME = "errors.log"
LOG_BYTES, LOG_FILES = 2_000_000, 3
LINE = "%(asctime)s %(message)s"


class OneLine(logging.Formatter):
    """A message is one line, because names in it may come from an application's message. A traceback follows whole."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))


def open_for_service(folder: Path) -> None:
    """Send the log records of this process to the queue manager's error log. Old files are rotated."""
    path = folder / NAME
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    handler.setFormatter(OneLine(LINE))
    os.fchmod(handler.stream.fileno(), 0o600)
    root = logging.getLogger("mqlite")
    root.addHandler(handler)
    root.setLevel(logging.INFO)


def append(folder: Path, message: str, *values: object) -> None:
    """Add one line to the error log of another queue manager. It is one write, so that lines do not mix.

    Parameters: `message` and its `values` as `logging` takes them.
    """
    record = logging.LogRecord("mqlite", logging.INFO, "", 0, message, values, None)
    file = os.open(folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(file, (OneLine(LINE).format(record) + "\n").encode())
    finally:
        os.close(file)
