"""Spark for tests that start jobs as processes of their own, and jobs in this process: small, local, quick to start."""

from __future__ import annotations

import io
import logging
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
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
def beside_another_job(folder: Path, part: Path) -> Iterator[None]:
    """Meanwhile a job whose driver was killed goes on: a task of it has ended, and has left `part` where Hadoop's
    committer gathers the files of all tasks that write `folder`."""
    over = threading.Event()

    def go_on() -> None:
        task = folder / "_temporary" / "0" / "task_of_another_job"
        while not over.wait(0.001):
            with suppress(OSError):
                task.mkdir()
                shutil.copy(part, task / "part-of-another-job.parquet")

    another = threading.Thread(target=go_on)
    another.start()
    try:
        yield
    finally:
        over.set()
        another.join()
