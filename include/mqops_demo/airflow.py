"""`python -m mqops_demo.airflow up|down`: Airflow with the project's DAGs, for one person on one machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mqops.estate import Estate, QueueManager, dag_prefix, load
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_home import AirflowHome, home
from mqops_demo.airflow_processes import AirflowFailed, start, stop
from mqops_demo.estate import ROOT

SPARK = {"conn_type": "spark", "host": "local[*]", "extra": json.dumps({"deploy-mode": "client"})}


def estate_of(place: AirflowHome) -> Estate:
    """The estate that this Airflow's DAGs are made from."""
    return load(Path(place.settings.get("MQOPS_ESTATE", ROOT / "include" / "estate.yaml"))).estate


def connections(place: AirflowHome) -> dict[str, dict[str, Any]]:
    """Airflow connection id → fields: local Spark, and the embedded queue managers of the estate."""
    estate = estate_of(place)
    found: dict[str, dict[str, Any]] = {}
    for name, queue_manager in estate.queue_managers.items():
        found[estate.spark_connection(name)] = SPARK
        found[queue_manager.connection] = {
            "conn_type": "mq",
            "extra": json.dumps({"queue_manager": name, "home": str(place.queue_managers)}),
        }
    return found


FOR_ALL = ("mq_refresh_expiry", "mq_stop", "mq_undo")


def dag_ids(estate: Estate) -> list[str]:
    """The DAGs that the estate asks for: a workflow has the name of its section; and those for all queue managers."""
    workflows = [name for name in QueueManager.model_fields if name not in ("connection", "spark")]
    return [*FOR_ALL] + [
        f"{dag_prefix(name)}_{workflow}"
        for name, settings in estate.queue_managers.items()
        for workflow in workflows
        if getattr(settings, workflow)
    ]


def up(place: AirflowHome, report: Callable[[str], None] = print) -> AirflowClient:
    """Start Airflow unless it runs, make missing connections, wait for the DAGs and unpause them; returns a session.

    A connection that is there stays as it is: the person may have pointed it elsewhere.
    """
    start(place, report)
    client = AirflowClient(place)
    client.wait_until_healthy(report)
    for conn_id, fields in connections(place).items():
        if not client.has_connection(conn_id):
            client.set_connection(conn_id, **fields)
    for dag_id in dag_ids(estate_of(place)):
        client.wait_for_dag(dag_id)
        client.unpause(dag_id)
    return client


def down(place: AirflowHome, report: Callable[[str], None] = print) -> bool:
    """End the Airflow that `up` started; returns whether there was one."""
    return stop(place, report)


def greet(client: AirflowClient, report: Callable[[str], None] = print) -> None:
    """Where the UI is and how to get in."""
    report(f"Airflow is running at {client.home.address}")
    for user, password in client.home.passwords.items():
        report(f"  login {user:<9} password {password}")
    report(f"  DAGs: {', '.join(client.dag_ids())}")


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0 done, 1 Airflow did not start."""
    parser = argparse.ArgumentParser(prog="python -m mqops_demo.airflow", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start Airflow and leave it running")
    commands.add_parser("down", help="end what up started")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "up":
            greet(up(home()))
        else:
            print("Airflow: stopped" if down(home()) else "Airflow: was not running")
    except AirflowFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
