"""A Spark Connect server that is not warmed up: for tests of something else.

A warm-up takes 15 s of processor. That a server warms itself up is tested in e2e/test_spark_connect.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mqops_demo import airflow_processes, spark_connect

COMMAND = [sys.executable, __file__]
"""In the place of `python -m mqops_demo.spark_connect`."""


def started_cold() -> AbstractContextManager[None]:
    """`airflow_processes.start` starts such a server meanwhile."""
    return started_as(Path(__file__).stem)


@contextmanager
def started_as(program: str) -> Iterator[None]:
    """`airflow_processes` start a module of this folder as the server meanwhile."""
    start_one = airflow_processes.start_one

    def start(home: Any, name: str, module: str, *arguments: str, env: Any, **more: Any) -> None:
        if name == airflow_processes.SPARK:
            module, env = program, {**env, "PYTHONPATH": str(Path(__file__).parent)}
        start_one(home, name, module, *arguments, env=env, **more)

    with patch.object(airflow_processes, "start_one", start):
        yield


if __name__ == "__main__":
    spark_connect.warm_up_command = lambda: ["true"]
    sys.exit(spark_connect.main())
