"""`python -m mqops_demo.airflow up|down|run-dlq`: Airflow with the project's DAGs, for one person on one machine."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mqops.estate import Estate, QueueManager, dag_prefix, load
from mqops_demo.airflow_client import AirflowClient, RunResult
from mqops_demo.airflow_home import AirflowHome, home
from mqops_demo.airflow_processes import AirflowFailed, running, start, stop
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


FOR_ALL = ("mq_refresh_expiry", "mq_undo")


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


@contextlib.contextmanager
def session(place: AirflowHome, report: Callable[[str], None] = print) -> Iterator[AirflowClient]:
    """A session with Airflow, which is stopped afterwards unless it ran before."""
    was_running = bool(running(place))
    try:
        yield up(place, report)
    finally:
        if not was_running:
            down(place, report)


def run_workflow(
    client: AirflowClient,
    dag_id: str,
    *,
    approve: Callable[[dict[str, Any]], bool] | None = None,
    report: Callable[[str], None] = print,
    **params: Any,
) -> RunResult:
    """Start a run by hand, watch it to its end, answer its approvals by `approve`; failed tasks' logs are reported.

    Parameters: `params` the values of the run's form (dry_run, queue, limit ...).
    """
    result = client.follow(dag_id, client.trigger(dag_id, **params), approve=approve, report=report)
    if result.state == "failed":
        report(client.failures(result))
    return result


def greet(client: AirflowClient, report: Callable[[str], None] = print) -> None:
    """Where the UI is and how to get in."""
    report(f"Airflow is running at {client.home.address}")
    for user, password in client.home.passwords.items():
        report(f"  login {user:<9} password {password}")
    report(f"  DAGs: {', '.join(client.dag_ids())}")


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0 done, 1 the run failed or Airflow did not start."""
    parser = argparse.ArgumentParser(prog="python -m mqops_demo.airflow", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start Airflow and leave it running")
    commands.add_parser("down", help="end what up started")
    run = commands.add_parser("run-dlq", help="run a dead-letter queue workflow and show its progress")
    run.add_argument("--queue-manager", default="QM1")
    run.add_argument("--answer", choices=("approve", "reject", "wait"), default="approve", help="to the approval")
    run.add_argument("--dry-run", action="store_true", help="plan only")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "up":
            greet(up(home()))
        elif chosen.command == "down":
            print("Airflow: stopped" if down(home()) else "Airflow: was not running")
        else:
            return run_dlq(chosen.queue_manager, answer=chosen.answer, dry_run=chosen.dry_run)
    except AirflowFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_dlq(queue_manager: str, *, answer: str = "approve", dry_run: bool = False) -> int:
    """One run of `<queue manager>_dlq_rules`; returns 0 if it succeeded."""
    place = home()
    approve = None if answer == "wait" else lambda _question: answer == "approve"
    with session(place) as client:
        result = run_workflow(client, f"{dag_prefix(queue_manager)}_dlq_rules", approve=approve, dry_run=dry_run)
    return 0 if result.state == "success" else 1


if __name__ == "__main__":
    sys.exit(main())
