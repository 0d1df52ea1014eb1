"""Runs a job as a task of Airflow's on Spark Connect: in a process forked from one that has imported what jobs need.

`forked_job.py APPLICATION ARGUMENT ...` imports, says so by a line, and forks when it gets one.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from mqops.before_fork import import_registered
from mqops.spark_job import run_here
from mqops_airflow.spark.imported_once import MODULES, import_jobs


def main(application: str, *arguments: str) -> None:
    for name in MODULES:
        import_module(name)
    import_registered()
    import_jobs()
    print("imported", flush=True)
    sys.stdin.readline()
    if not os.fork():
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            run_here(application, arguments, dict(os.environ))
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
