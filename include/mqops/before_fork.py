"""What a process sees to that imports before it forks others, so that these need not. It must have no thread then."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points

BEFORE_FORK = "mqops.before_fork"
"""The group of entry points that name functions which import what a task will need, and start no thread."""
JEMALLOC = "JE_ARROW_MALLOC_CONF"


def import_registered() -> None:
    """Import what the installed packages want to have imported before a fork (`BEFORE_FORK`).

    Raises:
        ImportError: such a package is not whole.
    """
    for point in entry_points(group=BEFORE_FORK):
        point.load()()


@contextmanager
def no_thread_of_jemalloc() -> Iterator[None]:
    """Meanwhile PyArrow can be imported, and starts no thread. It reads the variable when it is loaded. If somebody has
    set the variable, it stays as it is."""
    if JEMALLOC in os.environ:
        yield
        return
    os.environ[JEMALLOC] = "background_thread:false"
    try:
        yield
    finally:
        del os.environ[JEMALLOC]
