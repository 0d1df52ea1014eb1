"""What a command and a Spark job import is not searched for garbage, neither while they run nor at their end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WATCHED = """
import gc, sys
def searched(phase, info):
    if phase == "start" and info["generation"] == 2:
        print(len(gc.get_objects()), file=sys.stderr, flush=True)
gc.callbacks.append(searched)
"""
COMMAND = """
from mqops.cli import main
sys.argv = ["mqops", "dlq", "--help"]
main()
"""
JOB = """
from mqops.spark_job import run
sys.exit(run(lambda arguments: None))
"""
FEW = 5000
"""Objects; each of the two makes more than 10,000."""


@pytest.mark.parametrize("process", [COMMAND, JOB], ids=["command", "job"])
def test_a_process_of_one_command_or_job_is_hardly_searched_for_garbage(process: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + process], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    searches = [int(line) for line in done.stderr.splitlines()]
    assert searches, "Python looks for garbage where it ends"
    assert max(searches) < FEW
