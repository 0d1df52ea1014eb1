"""A local Spark Connect server that stays warm for the tests: loopback only, with a token, knowing no queue manager.

It is private as every Spark process that mqops starts (`mqops.spark_private`).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spark_support import SETTINGS

from mqops import spark_private as private

MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
LOCALHOST = "127.0.0.1"
KEPT = ("HOME", "JAVA_HOME", "LANG", "PATH")
MASTER = "local[2]"


@dataclass(frozen=True)
class Serving:
    """A server that runs; `log` is what it writes."""

    port: int
    token: str = field(repr=False)
    log: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOCALHOST, 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex((LOCALHOST, port)) == 0


@contextmanager
def serving(folder: Path) -> Iterator[Serving]:
    """Start a server, give it when it listens, end it afterwards. It writes `connect.log` into the folder."""
    port, token, log = free_port(), secrets.token_urlsafe(24), folder / "connect.log"
    settings = {
        **private.settings(MASTER),
        **SETTINGS,
        "spark.connect.grpc.binding.address": LOCALHOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.log.level": "WARN",
        "spark.ui.showConsoleProgress": "false",
    }
    command = [str(Path(sys.executable).with_name("spark-submit")), "--class", MAIN, "--master", MASTER]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOCALHOST,
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
    }
    with private.scratch(folder / ".spark") as place, log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            env=place.environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=folder,
            umask=private.UMASK,
            pass_fds=(place.descriptor,),
            start_new_session=True,
        )
        try:
            while not answers(port):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield Serving(port, token, log, process)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
