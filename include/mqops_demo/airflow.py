"""`python -m mqops_demo.airflow up|down`: Airflow with the project's DAGs, for one person on one machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from mqops.errors import SettingsError
from mqops.estate import load_usable
from mqops.estate_block import Section
from mqops.estate_sections import Estate, dag_prefix
from mqops_airflow.runs.dags_for_all import FOR_ALL
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_home import AirflowHome, home
from mqops_demo.airflow_processes import AirflowFailed, start, stop
from mqops_demo.estate import estate_path, tell_errors

NO_PORT = 0
"""What Airflow's form sends for an empty port. Stored as it is sent, it is the same to the Test button, which otherwise
takes the connection for another one and asks for its password."""
SPARK_CONNECT = {"conn_type": "spark_connect", "host": "localhost"}


def estate_of(place: AirflowHome) -> Estate:
    """The estate that this Airflow's DAGs are made from. Raises `SettingsError`: nothing of it can be used."""
    return load_usable(place.settings.get("MQOPS_ESTATE") or estate_path()).estate


def spark_fields(place: AirflowHome) -> dict[str, Any]:
    """The fields of an Airflow connection to the Spark Connect server. The token is not there: it is in a file."""
    server = place.spark_connect
    session = json.dumps({"session_id": server["session_id"]})
    return {**SPARK_CONNECT, "port": server["port"], "password": "", "extra": session}


def connections(place: AirflowHome) -> dict[str, dict[str, Any]]:
    """Airflow connection id → fields: the Spark Connect server, and the embedded queue managers of the estate."""
    estate = estate_of(place)
    spark = spark_fields(place)
    found: dict[str, dict[str, Any]] = {}
    for name, queue_manager in estate.queue_managers.items():
        found[estate.spark_connection(name)] = spark
        found[queue_manager.connection] = {
            "conn_type": "mq",
            "port": NO_PORT,
            "extra": json.dumps({"queue_manager": name, "home": str(place.queue_managers)}),
        }
    return found


NEXT = """\
What next:
  1. `make demo` puts an incident on the queues of QM1: 2,000 dead letters and more.
  2. Log in as operator at {address} and open "MQ estate" in the menu: what is wrong, and where.
  3. Open {address}/dags/qm1_dlq_rules and press Trigger: a dry run shows what would be done.
  4. Trigger it again without "Dry run". The plan waits: log in as approver at {address}/required_actions.
  `make down` ends Airflow, Spark and the queue managers. Messages and definitions stay."""


def dag_ids(estate: Estate) -> list[str]:
    """The DAGs that the estate asks for: a workflow has the name of its section; and those for all queue managers."""
    return [*FOR_ALL] + [
        f"{dag_prefix(name)}_{workflow}"
        for name, settings in estate.queue_managers.items()
        for workflow, _ in settings.workflows(Section)
    ]


def up(place: AirflowHome, report: Callable[[str], None] = print) -> AirflowClient:
    """Start Airflow unless it runs, make missing connections, wait for the DAGs and unpause them; returns a session.

    A connection that is there stays as it is: the person may have pointed it elsewhere. Only one to a Spark Connect
    server of this machine gets the port of the server that was started.
    """
    estate_of(place)  # nothing is started for an estate of which nothing can be used
    start(place, report)
    client = AirflowClient(place)
    client.wait_until_healthy(report)
    for conn_id, fields in connections(place).items():
        there = client.connection(conn_id)
        if there is None or {name: there[name] for name in SPARK_CONNECT} == SPARK_CONNECT:
            client.set_connection(conn_id, **fields)
        elif there["conn_type"] == "mq" and not there["host"] and there["port"] is None:
            client.set_connection(conn_id, conn_type="mq", port=NO_PORT)
    for dag_id in dag_ids(estate_of(place)):
        client.wait_for_dag(dag_id)
        client.unpause(dag_id)
        if dag_id.endswith("_trigger_monitor"):
            client.parse_again(dag_id)
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
    for line in NEXT.format(address=client.home.address).splitlines():
        report(line)


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
            tell_errors()
        else:
            print("Airflow: stopped" if down(home()) else "Airflow: was not running")
    except (AirflowFailed, SettingsError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
