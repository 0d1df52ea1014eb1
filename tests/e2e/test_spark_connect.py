"""A client of the warm Spark Connect server, as a task starts it: what it is refused, told, and what nobody sees."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqops.mq.connection import MqConnection
from mqops_airflow.connect import Client, Server

SECRET = "s3cret-of-the-queue-manager"
JOB = """\
import os, sys
from pathlib import Path

from mqops import errors
from mqops.act.spark.act import _at_a_time
from mqops.mq.connection import MqConnection
from mqops.spark_job import run, session, told_by_spark


class Task:
    def __init__(self, connection):
        self.connection = connection

    def __call__(self, batches):
        there = [name for name in ("MQOPS_CONNECTION", "MQLITE_HOME") if name in os.environ]
        raise errors.TransientMQError(2, 2059, verb="MQCONNX", object_name=f"{self.connection.queue_manager} {there}")


def main(arguments):
    spark = session("test")
    print("at a time:", _at_a_time(spark))
    with told_by_spark(Path("nowhere")):
        spark.range(1).mapInArrow(Task(MqConnection.from_environment()), "id long").collect()


sys.exit(run(main))
"""


def ran(site: Any, folder: Path, **changes: str) -> tuple[int, str]:
    """Run the job above as a client; its exit code and what it wrote."""
    (folder / "job.py").write_text(JOB)
    connection = MqConnection(queue_manager="QM1", user="app", password=SECRET)
    environment = {"PATH": os.environ["PATH"], "MQOPS_CONNECTION": connection.to_json()}
    server = Server(host="localhost", port=site.spark.port, token=site.spark.token)
    client = Client(replace(server, **changes), logging.getLogger(__name__))
    code = client.run(str(folder / "job.py"), [], environment)
    return code, "\n".join(client.lines)


def test_an_error_of_a_worker_keeps_its_class_and_the_server_knows_no_queue_manager(site: Any, tmp_path: Path) -> None:
    code, written = ran(site, tmp_path)
    assert code == 1
    assert "at a time: 2" in written
    told = "mqops: TransientMQError: MQCONNX on QM1 [] failed: MQRC_Q_MGR_NOT_AVAILABLE (2059)"
    assert told in written.splitlines()[-1]
    assert SECRET not in written


@pytest.mark.parametrize("token", ["", "another"])
def test_a_client_without_the_token_is_refused(site: Any, tmp_path: Path, token: str) -> None:
    code, written = ran(site, tmp_path, token=token)
    assert code == 1
    assert "UNAUTHENTICATED" in written
    assert "at a time" not in written


def test_no_secret_in_the_servers_log_arguments_or_environment(site: Any, tmp_path: Path) -> None:
    ran(site, tmp_path)
    process = Path("/proc", str(site.spark.process.pid))
    for place in (site.spark.log, process / "cmdline", process / "environ"):
        assert SECRET.encode() not in place.read_bytes(), place
    for place in (site.spark.log, process / "cmdline"):
        assert site.spark.token.encode() not in place.read_bytes(), place
