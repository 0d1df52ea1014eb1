"""An Airflow with a few DAG files and no Spark server: for what is killed or measured apart from the other tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
from mq_support import until

from mqops_demo import airflow_home
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_home import write_private
from mqops_demo.airflow_processes import AIRFLOW, migrate, start_airflow, stop

PATIENCE = 600.0
HEALTHY = ("metadatabase", "scheduler", "dag_processor", "triggerer")


@contextmanager
def small_airflow(
    folder: Path, *, estate: str, dag_files: Sequence[Path], modules: Path, settings: Mapping[str, str] | None = None
) -> Iterator[AirflowClient]:
    """Airflow below `folder`, where its queue managers are, too.

    Parameters: `dag_files` copied into its DAG folder; `modules` the folder of what they import; `settings` further
    environment.
    """
    (folder / "estate.yaml").write_text(estate)
    (folder / "dags").mkdir()
    for file in dag_files:
        shutil.copy(file, folder / "dags")
    own = {
        "MQOPS_ESTATE": str(folder / "estate.yaml"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(modules), os.environ.get("PYTHONPATH")])),
    }
    home = replace(airflow_home.home(folder, **own, **(settings or {})), queue_managers=folder / "queue_managers")
    home.prepare()
    (home.folder / "logs").mkdir()
    write_private(home.folder / "processes.json", {})
    with home.chosen_port() as listener:
        migrate(home, print)
        try:
            for name in AIRFLOW:
                start_airflow(home, name, listener)
            client = AirflowClient(home)
            until(lambda: healthy(client), PATIENCE)
            client.log_in()
            yield client
        finally:
            stop(home)


def healthy(client: AirflowClient) -> bool:
    """Whether each of its processes says so."""
    try:
        parts = client.page("/api/v2/monitor/health").json()
    except (httpx.TransportError, ValueError):
        return False  # the API server does not listen yet
    return all(parts.get(name, {}).get("status") == "healthy" for name in HEALTHY)
