"""`python -m mqops_demo.spark_connect FOLDER PORT [IDLE]`: a Spark Connect server that stays up, for Airflow's tasks.

`make up` and `make run` start it beside Airflow's processes, and `make down` ends it.

1. The server listens on 127.0.0.1 only. A client needs the token from SPARK_CONNECT_AUTHENTICATE_TOKEN.
2. The server knows no queue manager and no credentials: clients bring them (`mqops_airflow.connect`).
3. Its temporary files are private, as those of every Spark process (`mqops.spark_private`).
4. All tasks share one session, whose Python workers stay warm (extra `session_id` of the Airflow connection). After
   an upgrade of mqops start the server again (`make down`, `make up`): its workers have imported the version before.
5. When the server ends by itself, this process starts it again. Airflow tries the tasks again that it took down.
   If the first server ends before it listens, none is started again: FOLDER/logs/spark-connect.log says why it ended.
   If a later one does, the next is tried after 5 s: what has worked will work again when the machine is in order.
6. No client brings classes or files of its own (`spark.sql.artifact.isolation` is off). With it on, each task asks the
   driver over the network for each class that Spark's generated code names, and a request that gets no answer fails
   the job after 120 s. Spark's own start script always has it on, so `mqops_demo.spark_server` starts the server.
7. A server that has had no client for IDLE minutes is ended, and its memory is free. This process listens on the port
   instead, and starts a server when a client connects. That client waits until the server listens.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from math import inf
from pathlib import Path

import psutil

from mqops import spark_private as private
from mqops.errors import SettingsError
from mqops_demo.spark_archive import driver_settings

HOST = "127.0.0.1"
FIRST_PORT = 15002
MASTER = "local[*]"
SERVER = Path(__file__).with_name("spark_server.py")
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
INHERITED = ("HOME", "JAVA_HOME", "LANG", "PATH", "TZ", "MQOPS_LEDGER_KEYS", "MQ_FILE_PATH", "LD_LIBRARY_PATH")
POLL = 0.1
PAUSE = 5.0
"""Seconds before another try, if a server has ended before it listened."""
IDLE = 60.0  # minutes
IDLE_VARIABLE = "MQOPS_SPARK_IDLE"


def environment(token: str) -> dict[str, str]:
    """The environment of the server. It has nothing of Airflow's own."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST, TOKEN: token}


def idle_minutes(variables: Mapping[str, str]) -> float:
    """Minutes without a client after which a server ends: MQOPS_SPARK_IDLE, or 60.

    Raises:
        SettingsError: it is not a number above 0.
    """
    given = variables.get(IDLE_VARIABLE, "")
    try:
        minutes = float(given) if given else IDLE
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < inf:
        raise SettingsError(f"{IDLE_VARIABLE} is {given!r}: set it to a number of minutes above 0, or unset it")
    return minutes


def command(port: int) -> list[str]:
    """How the server is started. No secret stands in the arguments."""
    settings = {
        **private.settings(MASTER),
        **driver_settings(),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.session.manager.defaultSessionTimeout": "-1",  # the session that all tasks share stays
        "spark.log.level": "WARN",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    submit = str(Path(sys.executable).with_name("spark-submit"))
    return [submit, "--master", MASTER, *given, str(SERVER)]


def answers(port: int) -> bool:
    """Whether a process listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def serve(folder: Path, port: int, variables: Mapping[str, str], idle: float = IDLE) -> None:
    """Keep a server running while it has clients. Returns if the first one ends before it has listened.

    Parameters: `folder` where its temporary files go; `variables` its environment; `idle` minutes without a client
    after which it ends until the next one connects.
    """
    with private.scratch(folder) as place:
        first: socket.socket | None = None
        has_listened = False
        while True:
            process = subprocess.Popen(
                command(port),
                env=place.environment(variables),
                stdin=subprocess.DEVNULL,
                cwd=place.folder,
                umask=private.UMASK,
                pass_fds=(place.descriptor,),
            )
            listens = _listens(process, port)
            if first is not None:
                first.close()  # PySpark tries again at once, and finds the server
                first = None
            if listens:
                has_listened = True
                print(f"The Spark Connect server listens on {HOST}:{port}", flush=True)
                if _ended(process, port, idle):
                    print(
                        f"The Spark Connect server has ended with {process.returncode}; it is started again", flush=True
                    )
                else:
                    print(
                        f"The Spark Connect server had no client for {idle:g} min; the next one starts it", flush=True
                    )
                    first = _next_client(port)
            elif has_listened:
                print(
                    f"The Spark Connect server has ended with {process.returncode}; another try in {PAUSE:g} s",
                    flush=True,
                )
                time.sleep(PAUSE)
            else:
                return


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server listens; False where it ends before."""
    while process.poll() is None:
        if answers(port):
            return True
        time.sleep(POLL)
    return False


def _ended(process: subprocess.Popen[bytes], port: int, idle: float) -> bool:
    """Wait until the server has ended: by itself, or (False) because it had no client for `idle` minutes."""
    used = time.monotonic()
    while time.monotonic() - used < idle * 60:
        try:
            process.wait(min(1.0, idle * 60))
            return True
        except subprocess.TimeoutExpired:
            used = time.monotonic() if has_clients(process.pid, port) else used
    process.terminate()
    process.wait()
    return False


def has_clients(pid: int, port: int) -> bool:
    """Whether a process has a connection on the port that it listens on."""
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    return any(one.status == psutil.CONN_ESTABLISHED and one.laddr and one.laddr.port == port for one in found)


def _next_client(port: int) -> socket.socket:
    """The first client that connects. Whoever connects after it finds the port closed until the server listens."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection of the server may linger
        listener.bind((HOST, port))
        listener.listen()
        client, _address = listener.accept()
        return client


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the temporary folder is removed, then
    folder, port, *idle = sys.argv[1:]
    serve(Path(folder), int(port), environment(os.environ[TOKEN]), *map(float, idle))
    return 1


if __name__ == "__main__":
    sys.exit(main())
