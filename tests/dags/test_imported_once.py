"""What tasks import stands ready in the process from which Airflow forks them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqops_airflow.spark.imported_once import MODULES

ROOT = Path(__file__).resolve().parents[2]
STARTING = """\
import json, os, runpy, sys
from airflow.cli.commands import {command}
from airflow.jobs.job import Job
Job()
before = set(sys.modules)
if not os.fork():
    os._exit(0)
os.wait()
threads = len(os.listdir("/proc/self/task"))
for name in json.loads(sys.argv[1]):
    runpy.run_path(name)
from mqops.estate import _loaded
import pandas as pd, pyarrow as pa
pandas = [pa.array(one, from_pandas=True).null_count for one in ([1, pd.NA], [pd.Timestamp(0), pd.NaT])]
new, parsed = sorted(set(sys.modules) - before), _loaded.cache_info().misses
print(json.dumps({{"before": sorted(before), "new": new, "threads": threads, "parsed": parsed, "pandas": pandas}}))
"""
OF_TASKS = {
    *("pyspark.sql.connect.session", "grpc", "pyarrow", "mqops.act.spark.act", "mqops.spark_client"),
    *("mqlite.c_interface.calls", "mqlite.pcf.server"),
}
"""What tasks take longest to import: the clients of a Spark Connect server, and those of embedded queue managers."""


def imported_when_run() -> set[str]:
    """The modules of mqops that the operators around Spark's jobs import when they run."""
    folder = ROOT / "plugins" / "mqops_airflow" / "operators"
    trees = [ast.parse((folder / f"{name}.py").read_text()) for name in ("check", "route", "approval", "act", "prove")]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.ImportFrom)]
    names = {
        f"{node.module}.{node.names[0].name}" if node.module == "mqops_airflow.approval" else node.module
        for node in found
    }
    return {name for name in names if name.startswith("mqops") and name != "mqops_airflow.airflow_private"}


@pytest.mark.parametrize("process", ["scheduler", "dag_processor"])
def test_a_process_of_airflow_has_what_is_imported_in_its_forks_and_no_threads_when_it_forks(
    estate_folder: Path, process: str
) -> None:
    """Tasks, and so jobs on Spark Connect, are forked from the scheduler only."""
    files = json.dumps([str(path) for path in sorted((ROOT / "dags").glob("*.py"))])
    command = [sys.executable, "-c", STARTING.format(command=f"{process}_command"), files]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    before = set(found["before"])
    assert found["threads"] == 1
    assert set(MODULES) <= before
    assert "numpy" in before
    assert imported_when_run() <= before or process != "scheduler"
    assert before & OF_TASKS == (OF_TASKS if process == "scheduler" else set())
    assert not {"pymqi", "pandas", "great_expectations"} & {name.partition(".")[0] for name in before}
    assert not [name for name in found["new"] if name.startswith(("mqops", "airflow."))]
    assert found["pandas"] == [1, 1], "PyArrow of other DAGs' tasks knows pandas, which they import"
    assert found["parsed"] == 1, "the estate is parsed where Airflow starts, and not again while it is the same"


def test_neither_an_estate_that_cannot_be_used_nor_a_missing_spark_keeps_airflow_from_starting(tmp_path):
    (tmp_path / "estate.yaml").write_text("queue_managers: nonsense\n")
    environment = {**os.environ, "MQOPS_ESTATE": str(tmp_path / "estate.yaml")}
    starting = STARTING.format(command="scheduler_command; sys.modules['pyspark'] = None")
    done = subprocess.run([sys.executable, "-c", starting, "[]"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_task_of_any_dag_imports_nothing_for_it() -> None:
    """As in a worker of Celery, whose tasks are not forked from the scheduler."""
    text = (
        "import sys; from airflow.sdk.execution_time.task_runner import TaskRunnerMarker\n"
        "from mqops_airflow.spark.imported_once import on_starting; before = set(sys.modules)\n"
        "on_starting(component=TaskRunnerMarker()); print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
