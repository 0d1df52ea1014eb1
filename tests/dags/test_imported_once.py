"""What tasks import stands ready in the process from which Airflow forks them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from mqops_airflow.spark.imported_once import MODULES

ROOT = Path(__file__).resolve().parents[2]
STARTING = """\
import json, os, runpy, sys
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
new, parsed = sorted(set(sys.modules) - before), _loaded.cache_info().misses
print(json.dumps({"before": sorted(before), "new": new, "threads": threads, "parsed": parsed}))
"""


def test_a_process_of_airflow_has_what_the_dag_files_import_and_no_threads_when_it_forks(estate_folder):
    files = json.dumps([str(path) for path in sorted((ROOT / "dags").glob("*.py"))])
    done = subprocess.run([sys.executable, "-c", STARTING, files], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["threads"] == 1
    assert set(MODULES) <= set(found["before"])
    assert "numpy" in found["before"]
    assert not {"pyarrow", "pymqi", "great_expectations"} & {name.partition(".")[0] for name in found["before"]}
    assert not [name for name in found["new"] if name.startswith(("mqops", "airflow."))]
    assert found["parsed"] == 1, "the estate is parsed where Airflow starts, and not again while it is the same"


def test_an_estate_that_cannot_be_used_keeps_no_process_of_airflow_from_starting(tmp_path):
    (tmp_path / "estate.yaml").write_text("queue_managers: nonsense\n")
    environment = {**os.environ, "MQOPS_ESTATE": str(tmp_path / "estate.yaml")}
    done = subprocess.run([sys.executable, "-c", STARTING, "[]"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
