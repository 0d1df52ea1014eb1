"""A real Spark job as a neighbour on the machine sees it: while it runs, after kill -9, after the next start."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from dead_letters import dead
from mq_support import until
from spark_support import ENVIRONMENT

from mqops.spark_private import scratch
from mqwire import constants as c

JOB = Path(__file__).parents[2] / "spark_jobs" / "decide.py"
QUEUE, USER = "SECRET.PAYMENTS", "anna"
SPILL = "--conf spark.shuffle.spill.numElementsForceSpillThreshold=10 "


def data_files(folder: Path) -> list[Path]:
    """The shuffle files with data, once the job has written some."""
    return [path for path in folder.rglob("shuffle_*.data") if path.stat().st_size]


def suspended(process: psutil.Process) -> Iterator[psutil.Process]:
    """A process that stands still, so that it starts no other one, then those that it has started."""
    with suppress(psutil.NoSuchProcess):
        process.suspend()
        until(lambda: process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE))
        yield process
        for child in process.children():
            yield from suspended(child)


def test_neither_a_running_job_nor_a_killed_one_shows_its_data(make_run, tmp_path):
    grouped = {"dlh_dest_q_name": QUEUE, "user_identifier": USER, "version": 2, "msg_flags": c.MQMF_MSG_IN_GROUP}
    run = make_run([dead(number, group_id=bytes([number % 100 + 1]) * 24, **grouped) for number in range(300)])
    rules = tmp_path / "t.rules"
    rules.write_text(f"DESTQ({QUEUE}) ACTION(RETRY)\n")
    lake = tmp_path / "lake of the job"
    environment = {**os.environ, **ENVIRONMENT, "MQOPS_LAKE": str(lake)}
    environment["PYSPARK_SUBMIT_ARGS"] = SPILL + environment["PYSPARK_SUBMIT_ARGS"]
    environment = {name: value for name, value in environment.items() if not name.startswith("SPARK_LOCAL_DIRS")}
    command = [sys.executable, str(JOB), "--run", str(run.path), "--rules", str(rules)]
    process = subprocess.Popen(command, env=environment, umask=0o022, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not data_files(lake):
        assert process.poll() is None, process.stdout.read().decode()
        time.sleep(0.05)
    family = list(suspended(psutil.Process(process.pid)))

    def shown() -> list[Path]:
        """What others can read, or what has the data in clear."""
        found = [path for path in lake.rglob("*") if not path.is_symlink()]
        assert [path for path in found if path.name.startswith("shuffle_")]
        open_to_others = [path for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]
        words = (QUEUE.encode(), USER.encode())
        in_clear = [path for path in found if path.is_file() and any(word in path.read_bytes() for word in words)]
        return open_to_others + in_clear

    assert shown() == []
    for one in family:
        one.kill()
    psutil.wait_procs(family)
    process.wait()
    process.stdout.close()
    assert shown() == []
    with scratch(lake / ".spark") as place:
        assert [path.name for path in (lake / ".spark").iterdir()] == [place.folder.parent.name]
