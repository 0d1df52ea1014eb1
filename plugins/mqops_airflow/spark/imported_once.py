"""What each task imports and reads first is there once, in the process from which Airflow forks the tasks.

Airflow calls `on_starting` when a scheduler, a triggerer or a dag-processor starts. The scheduler's LocalExecutor forks
its workers after that, and each worker forks its tasks; the dag-processor forks a process for each DAG file. What the
parent has imported, they need not import again. Nor need they parse the estate again, as long as its text is the same
(`mqops.estate`), or load what Airflow loads with the first DAG.

The scheduler, and no other of Airflow's processes, has PySpark's Connect client and what the jobs import, too: there
the jobs run in the tasks. Airflow calls `on_starting` in each task of whatever DAG, too: there it does nothing, because
a task needs its own DAG alone. So the tasks of a worker of Celery or of a pod import what they need themselves.

A process that has threads is not safe to fork. So pymqi, whose MQ client library may start some, is left out; what the
embedded queue manager consists of is there, for an entry point of its own gives it (`mqops.before_fork`). NumPy is not
left out: its OpenBLAS ends its threads before each fork. PyArrow starts one for jemalloc, unless it is told not to;
what it allocates, mimalloc gives it. gRPC starts its threads with the first channel, and nothing makes one here.

Tasks of other DAGs are forked, too. PyArrow looks for pandas once, with the first value that it converts, and takes no
NaT and no NA if it does not find it. So nothing is converted here, and pyarrow.dataset, which does so, is left out.

After an upgrade of mqops restart Airflow: until then its tasks run the version before.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from airflow.listeners import hookimpl

from mqops.before_fork import import_registered, no_thread_of_jemalloc
from mqops.errors import MqopsError
from mqops.spark_job import import_connect

FOLDER = Path(__file__).resolve().parent.with_name("dag_files")
MODULES = tuple(f"mqops_airflow.dag_files.{found.name}" for found in iter_modules([str(FOLDER)]))
"""The DAG files of the package, and with them what they import."""
A_DAG = "mqops_airflow.dag_files.undo"
"""A DAG file that makes one DAG, however many queue managers the estate has."""
SCHEDULER = "airflow.jobs.scheduler_job_runner"
"""Only the scheduler imports it: `on_starting` does not say which process it is."""
OF_JOBS = (
    *("mqops.observe.spark.observe", "mqops.decide.spark.decide", "mqops.act.spark.act", "mqops.expiry.spark.expiry"),
    *("mqops.deciders.gate", "pyarrow.parquet", "pyspark.sql.connect.datasource"),
)
OF_TASKS = (
    *("mqops.deciders.dead_letters", "mqops.deciders.backout", "mqops.deciders.look_back", "mqops.prove.recovery"),
    *("mqops.decide.core.staying", "mqops.decide.preflight", "mqops.expiry.before_look", "mqops.expiry.first_tell"),
    *("mqops.prove.prove", "mqops.prove.records", "mqops.trigger.depth", "mqops.ledger.core.schema"),
    *("mqops_airflow.approval.plan_text", "mqops_airflow.approval.recorded_answer"),
    *("jinja2.ext", "xml.dom.minidom"),  # Airflow's and pymqi's own
)
"""What the tasks before and behind the jobs import when they run."""
OF_A_TASK = "TaskRunnerMarker"
"""The class of what Airflow names as component where a task starts."""


@hookimpl
def on_starting(component: object) -> None:
    """Airflow calls it when one of its processes starts."""
    if type(component).__name__ == OF_A_TASK:
        return
    with suppress(ImportError):  # a part of mqops that an installation may not have
        import_module("numpy")
    for name in MODULES:
        import_module(name)
    with suppress(MqopsError):  # the DAG processor says what is wrong with the estate
        import_module(A_DAG).dags()
    if SCHEDULER in sys.modules:
        with suppress(ImportError):  # the task says what is missing
            import_registered()
        with suppress(ImportError, MqopsError):  # Spark is such a part; the task says what is wrong with it
            import_jobs()


def import_jobs() -> None:
    """Import PySpark's Connect client, and what the jobs import. The process has no thread more, and can be forked.

    Raises:
        ImportError: PySpark, or what it needs, is not installed.
        SettingsError: another package has overwritten files of pyspark.
    """
    with no_thread_of_jemalloc():
        import_connect()
    for name in (*OF_JOBS, *OF_TASKS):
        import_module(name)
