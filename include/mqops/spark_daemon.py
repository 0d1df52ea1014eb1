"""`python -m mqops.spark_daemon WORKER`: PySpark's daemon (`spark.python.daemon.module`), with what its workers need.

Spark ends a Python worker that has had nothing to do for a minute. The daemon stays, and forks the next one. What the
daemon has imported, its workers need not import: after a quiet minute a snapshot takes 0.6 s of processor less.

Nothing here starts a thread that a fork would lose (`mqops_airflow.spark.imported_once` says which would), and pymqi,
whose MQ client library may start some, is left to the workers.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout
from importlib import import_module

from pyspark import daemon

from mqops.before_fork import import_registered, no_thread_of_jemalloc

OF_WORKERS = (
    *("pyspark.worker", "mqops.observe.spark.datasource", "mqops.observe.spark.sealed", "mqops.act.spark.act"),
    *("mqops.lake.run", "mqops.lake.shared", "mqops.lake.step", "mqops.mq.browse", "mqops.mq.connection"),
    *("mqops.mq.inquire", "mqops.observe.batches", "mqops.observe.core.decode", "mqops.observe.sealed"),
)
"""What the functions import that Spark's workers run."""


def main() -> None:
    """Import, then serve Spark as PySpark's daemon does."""
    with redirect_stdout(sys.stderr), no_thread_of_jemalloc():  # Spark reads the port from the standard output
        _import()
    daemon.manager()


def _import() -> None:
    try:
        for name in OF_WORKERS:
            import_module(name)
        import_registered()
    except Exception:  # the worker that needs it fails with it; the others of the server do not
        traceback.print_exc()


if __name__ == "__main__":
    main()
