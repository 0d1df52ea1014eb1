"""An Airflow for the tests that does what it is told line by line: calls of its API by a person, tasks run one by one.

A line in is `["call", person, method, path, body]`, `["task", DAG, run, task, form]` or `["setting", name, value]`,
JSON. The line out, to the file descriptor that is the argument, is what the API answers, or the task's state. `command`
is one of Airflow's command line; `counted` gives the counters of a DAG;
`status` is `call` for the number of the answer only; `["page", person, address]`
gives a page of mqops; `imported` says whether this process has a module.
People named as a role have that role; everybody else is an administrator, who may write XComs,
too. Nothing is scheduled: the order is the test's.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.cli.cli_parser import get_parser
from airflow.sdk._shared.observability.metrics.otel_logger import SafeOtelLogger
from airflow.sdk.observability import stats
from fastapi.testclient import TestClient
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from mqops_airflow.pages import answers as of_pages
from mqops_airflow.roles import ROLES


def command(*arguments: str) -> None:
    """A command of Airflow's command line, in this process."""
    given = get_parser().parse_args(arguments)
    given.func(given)


class AirflowByHand:
    """Airflow with an API client. Each method is a command that a test may send."""

    def __init__(self) -> None:
        command("dags", "reserialize")
        self.metrics = InMemoryMetricReader()
        logger = SafeOtelLogger(MeterProvider([self.metrics]))
        stats.initialize(factory=lambda: logger, export_legacy_names=False)
        self.client = TestClient(create_app(apps="core"))

    def call(self, person: str, method: str, path: str, body: Any) -> Any:
        answer = self._answer(person, method, path, body)
        return answer.raise_for_status().json() if answer.content else None

    def status(self, person: str, method: str, path: str, body: Any) -> tuple[int, str]:
        answer = self._answer(person, method, path, body)
        return answer.status_code, answer.text

    def page(self, person: str, path: str) -> str:
        return self.client.get(path, headers=self._headers(person)).raise_for_status().text

    def _answer(self, person: str, method: str, path: str, body: Any) -> Any:
        return self.client.request(method, f"/api/v2{path}", json=body, headers=self._headers(person))

    def _headers(self, person: str) -> dict[str, str]:
        role = person if person in ROLES else "admin"
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=person, role=role))
        return {"Authorization": f"Bearer {token}"}

    def setting(self, name: str, value: str) -> None:
        os.environ[name] = value

    def counted(self, dag: str) -> dict[str, int]:
        """The counters of mqops that Airflow's OpenTelemetry has of a DAG."""
        found = self.metrics.get_metrics_data()
        scopes = [scope for one in found.resource_metrics for scope in one.scope_metrics] if found else []
        return {
            metric.name: int(point.value)
            for metric in (metric for scope in scopes for metric in scope.metrics if "mqops" in metric.name)
            for point in metric.data.data_points
            if dict(point.attributes) == {"dag_id": dag}
        }

    def imported(self, name: str) -> bool:
        return name in sys.modules

    def command(self, *arguments: str) -> None:
        command(*arguments)

    def task(self, dag: str, run: str, task: str, form: dict[str, Any]) -> str:
        # Named, the bundle is only read: else all DAGs are written to the database again for each task.
        command("tasks", "test", "--bundle-name", "dags-folder", dag, task, run, "--task-params", json.dumps(form))
        state: str = self.call("anybody", "GET", f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}", None)["state"]
        return state


def main() -> None:
    airflow = AirflowByHand()
    of_pages.WAIT = 60.0  # a page has every answer, however busy the machine is
    with open(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        for line in sys.stdin:
            what, *arguments = json.loads(line)
            answer = getattr(airflow, what)(*arguments)
            sys.stdout.flush()  # the test reads it as soon as it has the answer
            sys.stderr.flush()
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
