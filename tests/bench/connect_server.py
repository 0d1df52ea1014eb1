"""The demonstration's Spark Connect server, for the benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mqops_airflow.spark.connect import Server
from mqops_demo import airflow_home, spark_connect


@contextmanager
def connect_server() -> Iterator[tuple[Mapping[str, str], int]]:
    """A server that runs meanwhile: the variables that make a job its client, and the id of its process."""
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as folder:
        home = airflow_home.home(Path(folder, "airflow"))
        home.prepare()
        with home.chosen_spark_port() as listener:
            server = Server(host="localhost", **home.spark_connect)
            command = [sys.executable, "-m", spark_connect.__name__, str(home.spark_folder), str(server.port)]
            process = subprocess.Popen(
                [*command, f"--listener={listener}", f"--session={server.session_id}"],
                env=spark_connect.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=[listener],
            )
        assert process.stdout is not None
        try:
            process.stdout.readline()  # it listens
            yield server.environment, process.pid
        finally:
            os.killpg(process.pid, 15)
            process.wait()
