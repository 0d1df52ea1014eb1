"""Spark's own log, which a command writes to a file, so that the screen has what the command says alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqops.lake.files import FILE_MODE, lake_errors


@contextmanager
def spark_log_in(path: Path) -> Iterator[None]:
    """While this lasts, what Java and Spark's workers write to standard error goes to a file. What Python writes to
    `sys.stderr` still comes to standard error.

    Raises:
        LakeError: the file cannot be written.
    """
    with lake_errors(path):
        log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, FILE_MODE)
    sys.stderr.flush()
    kept, before = os.dup(2), sys.stderr
    os.dup2(log, 2)
    os.close(log)
    if _is_standard_error(before):
        sys.stderr = os.fdopen(os.dup(kept), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    try:
        yield
    finally:
        if sys.stderr is not before:
            sys.stderr.close()
            sys.stderr = before
        os.dup2(kept, 2)
        os.close(kept)


def _is_standard_error(stream: object) -> bool:
    try:
        return bool(stream.fileno() == 2)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
