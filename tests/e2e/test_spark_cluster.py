"""The same incident by the same DAG on local Spark and on a standalone cluster; only the Airflow connection differs.

A master, two workers and two runs on two cores take minutes: MQOPS_SPARK_CLUSTER=1 asks for it, as `make full` does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from mq_support import DLQ, Manager

from mqops.ledger.file import LedgerFile

pytestmark = pytest.mark.skipif("MQOPS_SPARK_CLUSTER" not in os.environ, reason="`make full` runs it")
NAME = "CLUSTER"
MESSAGES = 200
QUEUES = (DLQ, "BACK.AGAIN", "NEW.NAME", "REALLY.DEAD.QUEUE")
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy."
LOCALHOST = "127.0.0.1"


@dataclass(frozen=True)
class Process:
    """A JVM of the cluster and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, pattern: str) -> str:
        """Wait for a line of the log; gives the pattern's group."""
        while not (found := re.search(pattern, self.log.read_text())):
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        return found[1]


class Cluster:
    """A standalone master and two workers of one core and 1 GB each, from the PySpark package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[Process] = []

    def start(self) -> None:
        """Start all and wait until the master has both workers."""
        master = self._spawn("master.Master")
        self.port = int(master.says(r"Starting Spark master at spark://127\.0\.0\.1:(\d+)"))
        page = int(master.says(r"MasterWebUI.* at http://[^:]+:(\d+)"))
        self.page = f"http://{LOCALHOST}:{page}/json/"
        for number in range(2):
            work = self.folder / f"work{number}"
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), f"spark://{LOCALHOST}:{self.port}")
            self._spawn("worker.Worker", *options)
        while self.state()["aliveworkers"] < 2:
            assert all(one.process.poll() is None for one in self.running)
            time.sleep(0.1)

    def state(self) -> dict[str, Any]:
        """What the master says of itself."""
        with urllib.request.urlopen(self.page) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def _spawn(self, main: str, *options: str) -> Process:
        """A JVM with the environment of a machine of its own: no queue manager, lake or interpreter is named there."""
        log = self.folder / f"{main}{len(self.running)}.log"
        command = [str(SPARK_CLASS), DEPLOY + main, "--host", LOCALHOST, "--port", "0", "--webui-port", "0", *options]
        kept = {name: os.environ[name] for name in ("JAVA_HOME", "HOME") if name in os.environ}
        environment = {**kept, "PATH": os.defpath, "SPARK_LOCAL_IP": LOCALHOST, "SPARK_NO_DAEMONIZE": "1"}
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command, env=environment, stdout=stream, stderr=stream, start_new_session=True, cwd=self.folder
            )
        self.running.append(Process(process, log))
        return self.running[-1]

    def stop(self) -> None:
        """End all, executors included (they end with their worker)."""
        for one in reversed(self.running):
            os.killpg(one.process.pid, signal.SIGTERM)
            one.process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@dataclass(frozen=True)
class Result:
    """What a run is compared by: its plan, its counts, the ledger's lines about it, and every message in its place."""

    digest: str
    counts: dict[str, Any]
    rows: list[Any]
    messages: dict[str, list[tuple[dict[str, Any], bytes]]]


def result_of(site: Any, manager: Manager) -> Result:
    run = site.run(NAME, approve=True, dry_run=False)
    assert run.state == "success", {
        task: site.log(run, task)[-3000:] for task, ended in run.tasks.items() if ended == "failed"
    }
    summary = site.summary(run)
    counts = ("planned", "moved", "discarded", "left", "gone", "failed", "arrived", "finished", "balanced", "rules")
    entries = LedgerFile(site.folder / "lake" / NAME, str).entries()  # the chain is checked while it is read
    mine = [entry for entry in entries if entry["run"] == summary["run"]]
    rows = sorted(row for entry in mine if entry["kind"] == "acted" for row in entry["rows"])
    return Result(
        digest=summary["plan"],
        counts={name: summary[name] for name in counts},
        rows=rows,
        messages={queue: manager.messages(queue) for queue in QUEUES},
    )


def test_a_standalone_cluster_gives_the_same_result_as_local_spark(site: Any, cluster: Cluster, tmp_path: Path) -> None:
    manager: Manager = site.in_trouble(NAME, MESSAGES)
    place = site.queue_managers / NAME
    shutil.copytree(place, tmp_path / "incident")
    site.client.set_connection("spark_default", conn_type="spark", host="local[2]")
    local = result_of(site, manager)
    assert (local.counts["moved"], local.counts["discarded"], local.counts["left"]) == (120, 40, 40)
    assert len(local.rows) == 160
    assert cluster.state()["completedapps"] == []

    shutil.rmtree(place)
    shutil.copytree(tmp_path / "incident", place)
    site.client.set_connection("spark_default", conn_type="spark", host=f"spark://{LOCALHOST}", port=cluster.port)
    distributed = result_of(site, manager)
    done = [app["name"] for app in cluster.state()["completedapps"]]
    assert sorted(done) == ["mqops act", "mqops decide", "mqops observe"]
    assert {worker["coresused"] for worker in cluster.state()["workers"]} == {0}
    assert distributed == local
