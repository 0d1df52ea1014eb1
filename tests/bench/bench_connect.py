"""A run over 2,330 messages as the jobs that Airflow submits: on a warm Spark Connect server, beside spark-submit.

Aim: at most 10 s from observe to prove, and at most a quarter of what the same jobs take with a Java of their own. Both
ways alternate; the best of several rounds counts. The server's first run, in which its Python workers start, does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dlq_million import SUBMITTED, measure

from mqops_airflow.connect import Server
from mqops_demo import airflow_home, spark_connect

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "2330"))
ROUNDS = 3


@contextmanager
def connect_server() -> Iterator[Mapping[str, str]]:
    """A server that runs meanwhile; the variables that make a job its client."""
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as folder:
        home = airflow_home.home(Path(folder, "airflow"))
        home.prepare()
        with home.chosen_spark_port() as lock:
            server = Server(host="localhost", **home.spark_connect)
            process = subprocess.Popen(
                [sys.executable, "-m", spark_connect.__name__, str(Path(folder, "spark")), str(server.port)],
                env=spark_connect.environment(server.token),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=[lock],
            )
        assert process.stdout is not None
        try:
            process.stdout.readline()  # it listens
            yield server.environment
        finally:
            os.killpg(process.pid, 15)
            process.wait()


def main() -> None:
    with connect_server() as connect:
        measure(MESSAGES, connect)
        rounds = [(measure(MESSAGES, connect), measure(MESSAGES, SUBMITTED)) for _ in range(ROUNDS)]
    stages = [name for name in rounds[0][0] if not name.startswith("(")]
    best = [{name: min(one[way][name][0] for one in rounds) for name in stages} for way in (0, 1)]
    print(f"{MESSAGES:,} messages of 1 KB, best of {ROUNDS} rounds, seconds")
    print(f"{'':10}{'Connect':>10}{'submitted':>11}{'ratio':>8}")
    for name in (*stages, "all"):
        warm, submitted = (sum(way.values()) if name == "all" else way[name] for way in best)
        print(f"{name:10}{warm:10.1f}{submitted:11.1f}{warm / submitted:8.2f}")


if __name__ == "__main__":
    main()
