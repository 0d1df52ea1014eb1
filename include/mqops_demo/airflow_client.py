"""Airflow's REST API as a person uses it: log in, start a run, watch its tasks, answer an approval, read a log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx

from mqops_demo.airflow_home import AirflowHome
from mqops_demo.airflow_processes import PROCESSES, AirflowFailed, log_tail, running
from mqops_demo.own_transport import OwnTransport
from mqops_demo.spark_connect import answers

POLL = 1.0
"""Seconds between two looks: each costs Airflow's API server tens of milliseconds of processor."""
PATIENCE = 300.0
"""Seconds for one answer: on a small machine that starts JVMs, Airflow has been seen to need more than thirty."""
HEALTH = 10.0
"""Seconds for an answer about Airflow's health, while it starts: then the processes are looked at."""
SETTLED = 60.0
"""Seconds after which the scheduler has surely noted that an approval waits."""
TRIES = 3
"""How often a request is made once more where Airflow's database refused it."""
FINISHED = ("success", "failed")
ENDED = (*FINISHED, "skipped", "upstream_failed", "removed")
"""States of a task that is not at work and is not waited for."""
SELDOM = 10
"""Each so many looks the run is asked for its state though a task of it has not ended: a run may end all the same."""
TELLS_ERRORS = "estate_errors.py"
"""The DAG file without a DAG whose import error tells what is wrong with the estate (`dags/`): it takes no DAG away."""
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished DAG run: `state` is success or failed, `tasks` maps task id to its last state."""

    dag_id: str
    run_id: str
    state: str
    tasks: Mapping[str, str] = field(default_factory=dict)


class AirflowClient:
    """One person's session with one Airflow."""

    def __init__(self, home: AirflowHome, user: str = "admin") -> None:
        self.home = home
        self.user = user
        self.token = ""
        self._http = httpx.Client(base_url=home.address, timeout=PATIENCE, transport=OwnTransport())

    def call(self, method: str, path: str, *, missing_ok: bool = False, **kwargs: Any) -> Any:
        """One request to /api/v2; returns its JSON, or None where it may be missing and is.

        Raises:
            AirflowFailed: Airflow answers with an error.
        """
        answer, _ = self._asked(method, path, **kwargs)
        if answer.status_code == httpx.codes.NOT_FOUND and missing_ok:
            return None
        return self._content(answer, method, path)

    def _asked(self, method: str, path: str, **kwargs: Any) -> tuple[httpx.Response, int]:
        """The answer to one request, and how often Airflow's database refused the request before.

        SQLite refuses a writer whose transaction has read what another one has changed since, however long it would
        wait. Airflow rolls the transaction back and answers 500; the request is then made again.
        """
        for refused in range(TRIES):
            answer = self._http.request(method, f"/api/v2{path}", **kwargs)
            if answer.status_code != httpx.codes.INTERNAL_SERVER_ERROR:
                return answer, refused
        return self._http.request(method, f"/api/v2{path}", **kwargs), TRIES

    def _content(self, answer: httpx.Response, method: str, path: str) -> Any:
        if answer.is_error:
            raise AirflowFailed(f"{method} {path} was answered with {answer.status_code}: {answer.text[:500]}")
        return answer.json() if answer.content else None

    def page(self, address: str) -> httpx.Response:
        """What Airflow answers to a link of its pages."""
        return self._http.get(address, follow_redirects=True)

    def wait_until_healthy(self, report: Report = print) -> None:
        """Wait until Airflow's four processes say they are healthy and Spark's server listens, then log in.

        Raises:
            AirflowFailed: one of them has ended.
            SettingsError: another user's process listens on one of the two ports.
        """
        waiting = ""
        while True:
            missing = set(PROCESSES) - set(running(self.home))
            if missing:
                name = sorted(missing)[0]
                raise AirflowFailed(f"{name} has ended:\n{log_tail(self.home, name)}")
            unhealthy = list(self._unhealthy())
            if not unhealthy:
                break
            if (now := ", ".join(unhealthy)) != waiting:
                report(f"Airflow: waiting for {now}")
                waiting = now
            time.sleep(POLL)
        self.log_in()

    def _unhealthy(self) -> Iterator[str]:
        try:
            parts = self._http.get("/api/v2/monitor/health", timeout=HEALTH).json()
        except (httpx.TransportError, json.JSONDecodeError):
            yield "api-server"
            return
        for name in ("metadatabase", "scheduler", "dag_processor", "triggerer"):
            if parts.get(name, {}).get("status") != "healthy":
                yield name.replace("_", "-")
        if not answers(self.home.spark_connect["port"]):
            yield "spark-connect (a new server warms itself up, for a minute at most)"

    def log_in(self) -> None:
        """Get a token for `user` with the password that was generated for them."""
        password = self.home.passwords[self.user]
        answer = self._http.post("/auth/token", json={"username": self.user, "password": password})
        if answer.is_error:
            raise AirflowFailed(f"Airflow does not accept the password of {self.user}: {answer.text[:300]}")
        self.token = str(answer.json()["access_token"])
        self._http.headers["Authorization"] = f"Bearer {self.token}"

    def set_connection(self, conn_id: str, **fields: Any) -> None:
        """Make or change a connection; Airflow encrypts what is secret in it.

        Airflow keeps a stored password when it is given an empty one: such a connection is made anew.
        """
        body = {"connection_id": conn_id, **fields}
        there = self.connection(conn_id)
        if there and there["password"] and fields.get("password") == "":
            self.call("DELETE", f"/connections/{conn_id}")
            there = None
        if there:
            self.call("PATCH", f"/connections/{conn_id}", json=body)
        else:
            self.call("POST", "/connections", json=body)

    def connection(self, conn_id: str) -> dict[str, Any] | None:
        """The fields of a connection, without its secrets; None where there is none of that name."""
        found: dict[str, Any] | None = self.call("GET", f"/connections/{conn_id}", missing_ok=True)
        return found

    def test_connection(self, conn_id: str, **fields: Any) -> tuple[bool, str]:
        """Press the Test button of a connection's form."""
        answer = self.call("POST", "/connections/test", json={"connection_id": conn_id, **fields})
        return bool(answer["status"]), str(answer["message"])

    def wait_for_dag(self, dag_id: str) -> None:
        """Wait until the DAG can be run.

        An error that Airflow has from before counts only when it finds it again: it may be mended since.

        Raises:
            AirflowFailed: a DAG file cannot be imported; the message holds the error.
        """
        since = datetime.now(UTC)
        while self.call("GET", f"/dags/{dag_id}", missing_ok=True) is None:
            errors = [
                one
                for one in self.call("GET", "/importErrors")["import_errors"]
                if not one["filename"].endswith(TELLS_ERRORS) and datetime.fromisoformat(one["timestamp"]) > since
            ]
            if errors:
                raise AirflowFailed("\n".join(f"{e['filename']}: {e['stack_trace']}" for e in errors))
            time.sleep(POLL)

    def dag_ids(self) -> list[str]:
        """Every DAG that Airflow has found."""
        return [dag["dag_id"] for dag in self.call("GET", "/dags", params={"limit": 100})["dags"]]

    def unpause(self, dag_id: str) -> None:
        self.call("PATCH", f"/dags/{dag_id}", json={"is_paused": False})

    def pause(self, dag_id: str) -> None:
        self.call("PATCH", f"/dags/{dag_id}", json={"is_paused": True})

    def parse_again(self, dag_id: str) -> None:
        """Have the DAG's file read now: Airflow starts the trigger of an asset only when it reads an unpaused DAG."""
        token = self.call("GET", f"/dags/{dag_id}")["file_token"]
        self.call("PUT", f"/parseDagFile/{token}")

    def trigger(self, dag_id: str, **params: Any) -> str:
        """Start a run with the values of its form; returns its run id.

        The run has its name from here, so that asking once more (`_asked`) starts no second one: 409 says that it is
        there.
        """
        run_id, path = f"manual__{datetime.now(UTC).isoformat()}", f"/dags/{dag_id}/dagRuns"
        form = {"dag_run_id": run_id, "logical_date": None, "conf": params}
        answer, refused = self._asked("POST", path, json=form)
        if not (refused and answer.status_code == httpx.codes.CONFLICT):
            self._content(answer, "POST", path)
        return run_id

    def unfinished(self, dag_id: str) -> list[str]:
        """The ids of the runs that have begun or wait to begin, oldest first."""
        asked = {"state": ["queued", "running"], "order_by": "run_after", "limit": 100}
        return [str(run["dag_run_id"]) for run in self.call("GET", f"/dags/{dag_id}/dagRuns", params=asked)["dag_runs"]]

    def run_state(self, dag_id: str, run_id: str) -> str:
        return str(self.call("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def task_instances(self, dag_id: str, run_id: str) -> dict[str, dict[str, Any]]:
        """Task id → its instance in the run."""
        rows = self.call("GET", f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return {row["task_id"]: row for row in rows}

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1) -> str:
        """The log of one try of a task, one line an event."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{max(try_number, 1)}"
        events = self.call("GET", path, params={"full_content": True})["content"]
        return "\n".join(event if isinstance(event, str) else log_line(event) for event in events)

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task returned, or None."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        entry = self.call("GET", path, missing_ok=True, params={"deserialize": False})
        value = entry["value"] if entry else None
        return json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value

    def question(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """What an approval task asks: subject, body, options."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
        found: dict[str, Any] = self.call("GET", path)
        return found

    def answer(self, dag_id: str, run_id: str, task_id: str, option: str, *, try_number: int = 1) -> None:
        """Answer an approval (`Approve` or `Reject`) once Airflow has settled that it waits."""
        self.wait_until_asked(dag_id, run_id, task_id, try_number=try_number)
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
        self.call("PATCH", path, json={"chosen_options": [option], "params_input": {}})

    def wait_until_asked(self, dag_id: str, run_id: str, task_id: str, *, try_number: int = 1) -> None:
        """Wait until Airflow has settled that a question, which is there, waits for its answer.

        An answer within seconds of the question is taken by the scheduler for a fault of the task, whose next try goes
        on with the answer half a minute later (`approval.recorded_answer`). This waits until the scheduler has
        noted the end of the process that asked; a question of long ago needs no waiting.
        """
        log = self.home.folder / "logs" / "scheduler.log"
        marks = (f"task_id={task_id},", f"run_id={run_id},", "state=awaiting_input,", f"try_number={try_number},")
        asked = datetime.fromisoformat(str(self.question(dag_id, run_id, task_id)["created_at"]))
        while (datetime.now(UTC) - asked).total_seconds() < SETTLED:
            if any(all(mark in line for mark in marks) for line in log.read_text(errors="replace").splitlines()):
                break
            time.sleep(POLL)

    def follow(
        self,
        dag_id: str,
        run_id: str,
        *,
        approve: Callable[[dict[str, Any]], bool] | None = None,
        report: Report = print,
    ) -> RunResult:
        """Watch a run to its end, one report a change; `approve` answers its approvals (None: people do)."""
        state = ""
        seen: dict[str, str] = {}
        answered: set[tuple[str, int]] = set()
        for look in count(1):
            tasks = self.task_instances(dag_id, run_id)
            for name, row in tasks.items():
                now = str(row["state"])
                if row["state"] and seen.get(name) != now:
                    seen[name] = now
                    report(f"{dag_id}: {name} {spoken(row)}")
                if now == "awaiting_input" and approve and (name, row["try_number"]) not in answered:
                    answered.add((name, row["try_number"]))
                    said = "Approve" if approve(self.question(dag_id, run_id, name)) else "Reject"
                    self.answer(dag_id, run_id, name, said, try_number=row["try_number"])
                    report(f"{dag_id}: {name} answered by {self.user}: {said}")
            if state in FINISHED:
                break
            if look % SELDOM == 0 or all(row["state"] in ENDED for row in tasks.values()):
                state = self.run_state(dag_id, run_id)
            time.sleep(0 if state in FINISHED else POLL)  # the tasks are as the end of the run has left them
        return RunResult(dag_id=dag_id, run_id=run_id, state=state, tasks=seen)

    def failures(self, result: RunResult, lines: int = 20) -> str:
        """The end of the log of each failed task of a run."""
        parts = []
        for name, row in self.task_instances(result.dag_id, result.run_id).items():
            if row["state"] == "failed":
                text = self.log(result.dag_id, result.run_id, name, row["try_number"]).splitlines()[-lines:]
                parts.append(f"--- {name} (try {row['try_number']})\n" + "\n".join(text))
        return "\n".join(parts)


def log_line(event: Mapping[str, Any]) -> str:
    """One event of a task's log as text."""
    text = f"{event.get('timestamp', '')} {str(event.get('level', '')).upper()} {event.get('event', '')}"
    for problem in event.get("error_detail") or ():
        text += f"\n  {problem.get('exc_type')}: {problem.get('exc_value')}"
    return text.strip()


def spoken(row: Mapping[str, Any]) -> str:
    """A task's state, with its duration once it has ended."""
    words = str(row["state"]).replace("_", " ")
    return f"{words} after {row['duration']:.1f} s" if row["state"] in FINISHED and row.get("duration") else words
