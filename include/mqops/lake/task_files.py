"""RUN/progress: the files in which tasks of Spark say how far they are, while the driver listens."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from mqops.lake.files import FOLDER_MODE
from mqops.lake.run import RunFolder


@contextmanager
def listening(run: RunFolder, hear: Callable[[], None], *, every: float, at_end: bool) -> Iterator[None]:
    """While this lasts, RUN/progress is there, and `hear` reads it again and again, in a thread of its own.

    Parameters: `every` seconds between two looks; `at_end` whether it is read once more when all tasks have ended.
    """
    over = threading.Event()
    with suppress(OSError):
        shutil.rmtree(run.progress, ignore_errors=True)
        run.progress.mkdir(mode=FOLDER_MODE)

    def listen() -> None:
        while not over.wait(every):
            hear()

    listener = threading.Thread(target=listen, name="progress", daemon=True)
    listener.start()
    try:
        yield
    finally:
        over.set()
        listener.join()
        if at_end:
            hear()
        shutil.rmtree(run.progress, ignore_errors=True)
