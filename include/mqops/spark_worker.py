"""What a Python worker of Spark does once, for all the tasks that it will get."""

from __future__ import annotations

import gc
from itertools import count

from mqops.pandas_later import arrow_without_pandas

_SECOND = 1
_tasks = count()
"""Tasks that began in this process."""


def begin_task() -> None:
    """Say that a task of this worker begins, before it does anything with Arrow.

    PySpark's daemon has its workers collect garbage after each task (`pyspark.daemon`), and that goes through
    everything that was imported: 70 ms, where a task of a few rows takes 10. The first task imports what tasks need; as
    the second one begins, what is there is taken out of all later collections. It is done once, so that what a later
    task leaves behind can be collected.
    """
    arrow_without_pandas()
    if next(_tasks) == _SECOND:
        gc.freeze()
