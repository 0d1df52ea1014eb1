"""Spark for tests that start jobs as processes of their own, and jobs in this process: small, local, quick to start."""

from __future__ import annotations

import io
import logging
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mqops_demo.spark_archive import driver_settings

JOBS = Path(__file__).resolve().parents[1] / "spark_jobs"

SETTINGS = {
    **driver_settings(),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}
_GIVEN = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items())

ENVIRONMENT = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": f"--master local[2] {_GIVEN} pyspark-shell",
}
"""What `python spark_jobs/....py` needs besides this process's environment."""


def job_here(spark: Any, name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `spark_jobs/NAME.py` in this process with the test run's Spark session, which spares the start of a JVM.

    Returns the exit code and what the job wrote; `environment` is this process's while it runs.
    """
    assert spark.getActiveSession() is not None  # the job's session is this one
    logger, output, errors = logging.getLogger("mqops"), io.StringIO(), io.StringIO()
    command = [str(JOBS / f"{name}.py"), *arguments]
    batch = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    handlers, level = logger.handlers, logger.level
    logger.handlers = []
    try:
        with (
            patch.dict("os.environ", environment),
            patch.object(sys, "argv", command),
            redirect_stdout(output),
            redirect_stderr(errors),
        ):
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as ended:
        return subprocess.CompletedProcess(command, int(ended.code or 0), output.getvalue(), errors.getvalue())
    finally:
        logger.handlers = handlers
        logger.setLevel(level)
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    raise AssertionError("a job ends by sys.exit")


@contextmanager
def meanwhile(what: Callable[[], object], pause: float = 0.02) -> Iterator[None]:
    """Do something again and again, in a thread, until it says that it is done or the block ends.

    Parameters: `pause` between two times, in seconds.
    """
    over = threading.Event()

    def work() -> None:
        while not over.is_set() and not what():
            over.wait(pause)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def beside_another_job(folder: Path, part: Path) -> AbstractContextManager[None]:
    """Meanwhile a job whose driver was killed goes on: a task of it has ended, and has left `part` where Hadoop's
    committer gathers the files of all tasks that write `folder`."""
    task = folder / "_temporary" / "0" / "task_of_another_job"

    def go_on() -> None:
        with suppress(OSError):
            task.mkdir()
            shutil.copy(part, task / "part-of-another-job.parquet")

    return meanwhile(go_on, pause=0.001)
