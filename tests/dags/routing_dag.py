"""A DAG for the tests: the routing of a plan that exists; run in a process of its own."""

from __future__ import annotations

import json
import os
import sys

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param

from mqops.estate_sections import Approval
from mqops_airflow.route import PlanRouteOperator

FOLDER = os.environ["TEST_FOLDER"]

with DAG("routing", schedule=None, params={"dry_run": Param(False, type="boolean")}) as dag:
    for name in ("reached", "unreachable"):
        route = PlanRouteOperator(
            task_id=name,
            folder=FOLDER if name == "reached" else f"{FOLDER}-copy",
            mq_conn_id=f"mq_{name}",
            approval=Approval(),
            ways={"ask": f"{name}_ask", "act": f"{name}_act"},
            retries=0,
        )
        route >> [EmptyOperator(task_id=f"{name}_{way}") for way in ("ask", "act")]


def main() -> None:
    run = dag.test()
    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    print("STATES " + json.dumps(states), flush=True)


if __name__ == "__main__":
    sys.exit(main())
