"""The demonstration's client of Airflow's REST API, where Airflow's database refuses a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mqops import peer
from mqops_demo import airflow_client
from mqops_demo.airflow_client import SELDOM, TRIES, AirflowClient
from mqops_demo.airflow_home import AirflowHome
from mqops_demo.airflow_processes import AirflowFailed


class Refusing(ThreadingHTTPServer):
    """Answers to a request as Airflow does. Attributes: `answers` one status after another; `asked` the run ids;
    `changed` the bodies of changes; `errors` import errors that there are; `tasks` and `runs` one state of a run's only
    task, and of the run itself, after another."""

    answers: list[int]
    asked: list[str]
    changed: list[dict[str, str]]
    errors: list[dict[str, str]]
    tasks: list[str]
    runs: list[str]


class Answer(BaseHTTPRequestHandler):
    """The next answer."""

    server: Refusing

    def do_POST(self) -> None:
        form = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(form["dag_run_id"])
        self._answer({"dag_run_id": form["dag_run_id"], "detail": "Database error"})

    def do_PATCH(self) -> None:
        self.server.changed.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer({"detail": "Database error"})

    def do_GET(self) -> None:
        if self.path.endswith("/importErrors"):
            self._answer({"import_errors": self.server.errors}, 200)
        elif self.path.endswith("/taskInstances"):
            row = {"task_id": "act", "try_number": 1, "duration": None, "state": self.server.tasks.pop(0)}
            self._answer({"task_instances": [row]}, 200)
        elif self.path.endswith("/followed"):
            self._answer({"state": self.server.runs.pop(0)}, 200)
        else:
            self._answer({})

    def _answer(self, value: Any, status: int = 0) -> None:
        content = json.dumps(value).encode()
        self.send_response(status or self.server.answers.pop(0))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def airflow() -> Iterator[Refusing]:
    server = Refusing(("127.0.0.1", 0), Answer)
    server.answers, server.asked, server.changed, server.errors = [], [], [], []
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def client(airflow: Refusing, folder: Path) -> AirflowClient:
    (folder / "port.json").write_text(json.dumps({"port": airflow.server_address[1]}))
    return AirflowClient(AirflowHome(folder=folder, queue_managers=folder, lake=folder, settings={}))


@pytest.mark.parametrize("answers", [[200], [500, 200], [500, 500, 200], [500, 409], [500, 500, 409]])
def test_a_run_that_the_database_refused_is_asked_for_again_by_the_same_name(
    airflow: Refusing, tmp_path: Path, answers: list[int]
) -> None:
    """409: it was made before the answer 500 came."""
    airflow.answers = list(answers)
    run_id = client(airflow, tmp_path).trigger("some_dag", dry_run=True)
    assert airflow.asked == [run_id] * len(answers)


@pytest.mark.parametrize("answers", [[200], [500, 200], [500] * TRIES + [200]])
def test_a_change_that_the_database_refused_is_asked_for_again(
    airflow: Refusing, tmp_path: Path, answers: list[int]
) -> None:
    airflow.answers = list(answers)
    client(airflow, tmp_path).call("PATCH", "/dags/some_dag/dagRuns/one", json={"state": "failed"})
    assert airflow.changed == [{"state": "failed"}] * len(answers)


@pytest.mark.parametrize("answers", [[404], [409], [422], [500] * (TRIES + 1), [500, 404]])
def test_any_other_answer_is_an_error(airflow: Refusing, tmp_path: Path, answers: list[int]) -> None:
    airflow.answers = list(answers)
    with pytest.raises(AirflowFailed, match=f"was answered with {answers[-1]}"):
        client(airflow, tmp_path).trigger("some_dag")
    assert airflow.answers == []


@pytest.mark.parametrize(
    ("name", "minutes", "fails"),
    [
        ("dlq_rules.py", -1, False),  # of before `make up`: it may be mended
        ("estate_errors.py", 1, False),  # it takes no DAG away
        ("dlq_rules.py", 1, True),  # found again
    ],
)
def test_only_an_error_that_is_there_now_ends_the_wait_for_a_dag(  # noqa: PLR0917
    airflow: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, minutes: int, fails: bool
) -> None:
    monkeypatch.setattr(airflow_client, "POLL", 0)
    at = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
    airflow.errors = [{"filename": name, "timestamp": at, "stack_trace": "SettingsError"}]
    airflow.answers = [404, 404, 200]
    with pytest.raises(AirflowFailed, match=f"{name}: SettingsError") if fails else nullcontext():
        client(airflow, tmp_path).wait_for_dag("qm1_dlq_rules")
    assert airflow.answers == ([404, 200] if fails else [])


def test_a_busy_server_that_accepts_late_has_the_time_of_the_request(
    airflow: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, user_of = [None] * 3, peer.user_of
    monkeypatch.setattr(peer, "PATIENCE", 0.0)
    monkeypatch.setattr(peer, "user_of", lambda connection: late.pop() if late else user_of(connection))
    airflow.answers = [200]
    client(airflow, tmp_path).trigger("some_dag")
    assert (late, airflow.answers) == ([], [])


@pytest.mark.parametrize(
    ("tasks", "runs"),
    [
        (["running"] * 3 + ["success"] * 3, ["running", "success"]),
        (["running"] * SELDOM + ["skipped"], ["failed"]),  # a person has ended the run, and Airflow what was at work
        (["queued"] * (2 * SELDOM + 1), ["running", "failed"]),  # Airflow has given the run up, and its task not
    ],
)
def test_a_run_is_followed_to_its_end_and_seldom_asked_for_its_own_state(
    airflow: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: list[str], runs: list[str]
) -> None:
    monkeypatch.setattr(airflow_client, "POLL", 0)
    airflow.tasks, airflow.runs = [*tasks], [*runs]
    result = client(airflow, tmp_path).follow("some_dag", "followed", report=lambda _line: None)
    assert (result.state, result.tasks) == (runs[-1], {"act": tasks[-1]})
    assert (airflow.tasks, airflow.runs) == ([], [])


def test_who_waits_for_a_new_spark_server_is_told_why(
    airflow: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = client(airflow, tmp_path)
    (own.home.folder / "spark_connect.json").write_text('{"session_id": "", "port": 1}')
    airflow.answers = [200]
    monkeypatch.setattr(airflow_client, "answers", lambda _port: False)
    why = "spark-connect (a new server warms itself up, for a minute at most)"
    assert list(own._unhealthy()) == ["metadatabase", "scheduler", "dag-processor", "triggerer", why]
