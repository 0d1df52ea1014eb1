"""What each task imports and reads first is there once, in the process from which Airflow forks the tasks.

Airflow calls `on_starting` when a scheduler, a triggerer or a dag-processor starts. The scheduler's LocalExecutor forks
its workers after that, and each worker forks its tasks; the dag-processor forks a process for each DAG file. What the
parent has imported, they need not import again. Nor need they parse the estate again, as long as its text is the same
(`mqops.estate`), or load what Airflow loads with the first DAG.

A process that has threads is not safe to fork. So PyArrow, which starts one when it is imported, and pymqi, whose MQ
client library may, are left out. NumPy, which both need and which takes longer to import than both, is not: its
OpenBLAS ends its threads before each fork.

After an upgrade of mqops restart Airflow: until then its tasks run the version before.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from airflow.listeners import hookimpl

from mqops.errors import MqopsError

FOLDER = Path(__file__).resolve().parent.with_name("dag_files")
MODULES = tuple(f"mqops_airflow.dag_files.{found.name}" for found in iter_modules([str(FOLDER)]))
"""The DAG files of the package, and with them what they import."""
A_DAG = "mqops_airflow.dag_files.undo"
"""A DAG file that makes one DAG, however many queue managers the estate has."""


@hookimpl
def on_starting(component: object) -> None:
    """Airflow calls it when one of its processes starts."""
    with suppress(ImportError):  # a part of mqops that an installation may not have
        import_module("numpy")
    for name in MODULES:
        import_module(name)
    with suppress(MqopsError):  # the DAG processor says what is wrong with the estate
        import_module(A_DAG).dags()
