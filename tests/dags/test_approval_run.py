"""Approvals in Airflow itself, tasks run, cleared and marked one by one: what act accepts, and for which plan."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pymqi
import pytest
from mq_support import DLQ, Manager, create, dead_letter

from mqops.decide.core import PlanSummary
from mqops.deciders.dead_letters import Pass, carry_out, plan_pass
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.rules import parse

HERE = Path(__file__).parent
ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    spark: spark_down
    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}
"""
RULES = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


class Airflow:
    """`airflow_by_hand.py` in a process of its own, and the queue manager that its DAGs work on."""

    def __init__(self, process: subprocess.Popen[str], answers: TextIO, manager: Manager, folder: Path) -> None:
        self.process = process
        self.answers = answers
        self.manager = manager
        self.folder = folder

    def say(self, *what: Any) -> Any:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        answer = self.answers.readline()
        assert answer, self.written()[-5000:]
        return json.loads(answer)

    def written(self) -> str:
        """All that Airflow has written so far."""
        return (self.folder / "written").read_text()

    def run(self, dag: str, person: str, **form: Any) -> Run:
        """A run that a person starts."""
        begun = self.say("call", person, "POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": form})
        return Run(self, dag, begun["dag_run_id"], form)

    def planned(self) -> tuple[RunFolder, PlanSummary]:
        """A plan that moves one message and discards another."""
        what = self.what()
        self.manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("B", b"y")])
        return plan_pass(what)

    def acted_on(self) -> str:
        """The key of a run of the command that has moved one message and discarded all others."""
        run, plan = self.planned()
        carry_out(self.what(), run, plan)
        return run.run

    def what(self) -> Pass:
        table = parse(RULES).table
        assert table
        return Pass(connection=self.manager.connection, lake=self.folder / "lake", table=table, text=RULES)

    def places(self) -> tuple[int, int]:
        """How many messages there are on the dead-letter queue and on A."""
        return self.manager.depth(DLQ), self.manager.depth("A")

    def consume(self) -> None:
        """An application empties A."""
        with self.manager.connected() as queue_manager:
            handle = pymqi.Queue(queue_manager, "A")
            for _message in range(self.manager.depth("A")):
                handle.get()
            handle.close()

    def about(self, undone: str) -> list[dict[str, Any]]:
        """What the ledger says about the undos of a run."""
        entries = LedgerFile(self.folder / "lake" / "QM1", str).entries()
        return [
            entry["about"] for entry in entries if entry["kind"] == "issued" and entry["about"].get("undoes") == undone
        ]


class Run:
    """A DAG run, task by task."""

    def __init__(self, airflow: Airflow, dag: str, key: str, form: dict[str, Any]) -> None:
        self.airflow = airflow
        self.dag = dag
        self.key = key
        self.form = form

    def call(self, person: str, method: str, path: str, body: Any = None) -> Any:
        return self.airflow.say("call", person, method, f"/dags/{self.dag}/dagRuns/{self.key}{path}", body)

    def task(self, task: str) -> str:
        """Run a task; its state, and what was written meanwhile where it failed."""
        before = len(self.airflow.written())
        state: str = self.airflow.say("task", self.dag, self.key, task, self.form)
        return state + (self.airflow.written()[before:] if state in {"failed", "up_for_retry"} else "")

    def tasks(self, *tasks: str) -> list[str]:
        return [self.task(task) for task in tasks]

    def states(self, *tasks: str) -> list[str]:
        return [self.call("carol", "GET", f"/taskInstances/{task}")["state"] for task in tasks]

    def left(self, task: str, key: str, value: Any) -> None:
        """Let a task that is not run have left something."""
        self.call("carol", "POST", f"/taskInstances/{task}/xcomEntries", {"key": key, "value": value})

    def clear(self, *tasks: str) -> None:
        """Clear these tasks and no others."""
        body = {"dry_run": False, "dag_run_id": self.key, "task_ids": tasks, "only_failed": False}
        self.airflow.say("call", "carol", "POST", f"/dags/{self.dag}/clearTaskInstances", body)

    def mark(self, person: str, task: str, state: str = "success") -> None:
        """A person sets the state of a task."""
        self.call(person, "PATCH", f"/taskInstances/{task}", {"new_state": state})

    def question(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("carol", "GET", "/taskInstances/approve/-1/hitlDetails")
        return found

    def answer(self, person: str, option: str = "Approve") -> str:
        """A person answers, and the task goes on."""
        self.call(
            person, "PATCH", "/taskInstances/approve/-1/hitlDetails", {"chosen_options": [option], "params_input": {}}
        )
        return self.task("approve")

    def xcom(self, task: str, key: str = "return_value") -> Any:
        return self.call("carol", "GET", f"/taskInstances/{task}/xcomEntries/{key}?deserialize=true")["value"]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path) -> Iterator[Airflow]:
    folder = tmp_path_factory.mktemp("by_hand")
    manager = create(folder / "queue_managers", "QM1", "DEFINE QLOCAL(A)\n")
    (folder / "estate.yaml").write_text(ESTATE)
    (folder / "qm1.rules").write_text(RULES)
    (folder / "airflow").mkdir()
    shutil.copy(airflow_database, folder / "airflow" / "airflow.db")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "MQOPS_ESTATE": str(folder / "estate.yaml"),
        "AIRFLOW_CONN_MQ_TEST": json.dumps(
            {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
        ),
        "AIRFLOW_CONN_SPARK_DOWN": json.dumps({"conn_type": "spark", "host": "spark://127.0.0.1", "port": 1}),
    }
    environment.pop("MQOPS_LAKE", None)
    ours, its = os.pipe()
    command = [sys.executable, str(HERE / "airflow_by_hand.py"), str(its)]
    with (folder / "written").open("w") as written, os.fdopen(ours) as answers:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=written, stderr=written, pass_fds=(its,), text=True
        )
        os.close(its)
        with process:
            yield Airflow(process, answers, manager, folder)


def test_law2_an_undo_is_dry_by_default_and_done_when_approved(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    before = airflow.places()
    dry = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone)
    assert dry.tasks("plan", "route") == ["success"] * 2
    assert dry.states("approve") == ["skipped"]
    assert "NotAllowed: this run is to move nothing (dry run: " in dry.task("act")
    assert airflow.places() == before
    run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert run.answer("bob") == "success"
    assert airflow.places() == before
    assert run.tasks("act", "prove") == ["success"] * 2
    assert airflow.places() == (before[0] + 2, before[1] - 1)
    (about,) = airflow.about(undone)
    assert (about["workflow"], about["requested_by"], about["approved_by"]) == ("undo", "alice", "bob")


def test_a_task_marked_as_success_approves_nothing(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    before = airflow.places()
    run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    run.mark("alice", "approve")
    digest = run.xcom("plan")["digest"]
    assert f"NotAllowed: nobody has approved plan {digest}: the task approve has no answer; clear" in run.task("act")
    # asked again, the requester may not answer, and not mark what failed
    run.clear("approve", "act")
    assert run.task("approve") == "awaiting_input"
    assert "NotAllowed: alice started this run; the estate asks for another person's approval" in run.answer("alice")
    run.mark("alice", "approve")
    assert "NotAllowed: nobody has approved" in run.task("act")
    # route marked, too: no verdict, no act
    other = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert other.task("plan") == "success"
    for task in ("route", "approve"):
        other.mark("alice", task)
    assert "NotAllowed: the task route has no verdict on the plan" in other.task("act")
    assert airflow.places() == before
    run.clear("approve", "act")
    assert [run.task("approve"), run.answer("bob")] == ["awaiting_input", "success"]
    assert run.tasks("act", "prove") == ["success"] * 2
    assert [about["approved_by"] for about in airflow.about(undone)] == ["bob"]


def test_an_approval_is_for_the_plan_that_was_shown(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    run, waiting = (
        airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False) for _number in range(2)
    )
    for one in (run, waiting):
        assert one.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert run.answer("bob") == "success"
    old = run.xcom("plan")["digest"]
    airflow.consume()
    before = airflow.places()
    for one in (run, waiting):
        one.clear("plan", "route")
        assert one.tasks("plan", "route") == ["success"] * 2
    new = run.xcom("plan")["digest"]
    assert new != old
    refused = f"NotAllowed: bob approved plan {old}, the plan is {new} now: start a new run to ask"
    assert refused in run.task("act")
    assert refused in waiting.answer("bob")
    # asked again, Airflow would show the first plan once more
    for one in (run, waiting):
        one.clear("approve")
        assert f"start a new run to have plan {new} approved" in one.task("approve")
        assert old in one.question()["body"]
        assert "NotAllowed: nobody has approved" in one.task("act")
    assert airflow.places() == before


def test_a_rejected_plan_is_not_acted_on(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    before = airflow.places()
    run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert run.answer("bob", "Reject") == "success"
    assert run.states("act") == ["skipped"]
    assert f"NotAllowed: plan {run.xcom('plan')['digest']} was rejected by bob" in run.task("act")
    assert airflow.places() == before


@pytest.mark.parametrize(
    ("way", "decision", "error"),
    [
        ("ask", None, "NotAllowed: nobody has approved plan d1"),
        ("ask", {"approved": True, "by": "bob", "digest": "d0"}, "NotAllowed: bob approved plan d0, the plan is d1"),
        ("ask", {"approved": True, "by": "bob", "digest": "d1"}, "SparkUnreachable"),  # allowed: submitted
        ("act", None, "SparkUnreachable"),
    ],
)
def test_the_job_that_acts_is_submitted_with_permission_only(
    airflow: Airflow, way: str, decision: dict[str, Any] | None, error: str
) -> None:
    run = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    run.left("check", "return_value", {"folder": "nowhere", "unit_size": 1})
    run.left("route", "verdict", {"way": way, "why": "", "digest": "d1"})
    if decision:
        run.left("approve", "decision", decision)
    written = run.task("act")
    assert f"{error}" in written
    assert ("no Spark master answers" in written) is (error == "SparkUnreachable")


def test_law2_a_run_that_a_person_has_materialize_an_asset_is_dry_by_default(airflow: Airflow) -> None:
    run_folder, plan = airflow.planned()
    (asset,) = airflow.say("call", "alice", "GET", "/assets?name_pattern=qm1_dlq_rules_plan", None)["assets"]
    begun = airflow.say("call", "alice", "POST", f"/assets/{asset['id']}/materialize", None)
    assert begun["run_type"] == "asset_materialization"
    run = Run(airflow, "qm1_dlq_rules", begun["dag_run_id"], {})
    run.left("check", "return_value", {"folder": str(run_folder.path)})
    run.left("decide", "return_value", {"actions": plan.actions, "digest": plan.digest})
    assert run.task("route") == "success"
    verdict = run.xcom("route", "verdict")
    assert (verdict["way"], verdict["why"]) == ("stop", "dry run: 2 messages would be moved or discarded, none is")
