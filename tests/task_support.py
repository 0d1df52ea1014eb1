"""A Spark entry point run as an Airflow task runs it on a Spark Connect server: inside a process that is the task's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TASK = "import json, sys; from mqops.spark_job import run_here; run_here(sys.argv[1], [], json.load(sys.stdin))"


def run_in_task(script: Path, environment: Mapping[str, str]) -> tuple[int, list[str]]:
    """Exit code and lines of the process; the error of the job, class and text, is the last of them.

    Parameters: `environment` the variables of the job, which the process itself does not have.
    """
    done = subprocess.run(
        [sys.executable, "-c", TASK, str(script)],
        input=json.dumps(dict(environment)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()
