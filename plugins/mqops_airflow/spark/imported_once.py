"""What each task imports is imported once, in the process from which Airflow forks the tasks.

Airflow calls `on_starting` when a scheduler, a triggerer or a dag-processor starts. The scheduler's LocalExecutor forks
its workers after that, and each worker forks its tasks; the dag-processor forks a process for each DAG file. What the
parent has imported, they need not import again. PyArrow and pymqi are left out: PyArrow starts threads when it is
imported, and a process that has threads is not safe to fork.

After an upgrade of mqops restart Airflow: until then its tasks run the version before.
"""

from __future__ import annotations

from importlib import import_module

from airflow.listeners import hookimpl

MODULES = (
    "mqops_airflow.operators.backout",
    "mqops_airflow.workflows.documentation",
    "mqops_airflow.operators.expiry",
    "mqops_airflow.operators.guard",
    "mqops_airflow.workflows.pipeline",
    "mqops_airflow.operators.quality",
    "mqops_airflow.operators.recover",
    "mqops_airflow.operators.retention",
    "mqops_airflow.operators.start_runs",
    "mqops_airflow.operators.stop",
    "mqops_airflow.operators.trigger_explain",
    "mqops_airflow.connections.trigger_monitor",
)
"""What the DAG files import."""


@hookimpl
def on_starting(component: object) -> None:
    """Airflow calls it when one of its processes starts."""
    for name in MODULES:
        import_module(name)
