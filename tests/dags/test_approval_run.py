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
from mqops_airflow import answer
from mqops_airflow.run_folder import HANDED_ON, run_key

HERE = Path(__file__).parent
ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    spark: spark_down
    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}
  FREE:
    connection: mq_test
    spark: spark_down
    dlq_rules: {rules: qm1.rules, approval: {required: false}}
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

    def has(self, planned: RunFolder, queue_manager: str = "QM1") -> RunFolder:
        """Let the first tasks, which are not run, have made this plan."""
        path = RunFolder.at(self.airflow.folder / "lake", queue_manager, run_key(self.dag, self.key)).path
        shutil.copytree(planned.path, path)
        kept = {"dag_id": self.dag, "run_id": self.key, "found": {"unit_size": 1}}
        (path / HANDED_ON).write_text(json.dumps(kept))
        return RunFolder(path)

    def forge(self, task: str, key: str, value: Any) -> None:
        """Write an XCom, as those may who may trigger the DAG."""
        self.call("alice", "POST", f"/taskInstances/{task}/xcomEntries", {"key": key, "value": value})

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
    assert "NotAllowed: alice started this run" in run.task("act")
    # route marked, too
    other = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert other.task("plan") == "success"
    for task in ("route", "approve"):
        other.mark("alice", task)
    assert "NotAllowed: nobody has approved" in other.task("act")
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
    assert f"NotAllowed: nobody has approved plan {new}" in run.task("act")
    other = waiting.xcom("plan")["digest"]
    assert f"NotAllowed: the answer is not about plan {other}, which was made meanwhile" in waiting.answer("bob")
    # asked again, Airflow would show the first plan once more
    for one in (run, waiting):
        one.clear("approve")
        assert f"start a new run to have plan {one.xcom('plan')['digest']} approved" in one.task("approve")
        assert f"`{old}`" in run.question()["body"]
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


def test_forged_xcoms_permit_nothing_and_the_answer_that_airflow_recorded_does(airflow: Airflow) -> None:
    planned, plan = airflow.planned()
    refused = f"NotAllowed: nobody has approved plan {plan.digest}: the task approve has no answer"
    run = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    run.has(planned)
    run.forge("check", "return_value", {"folder": str(planned.path), "unit_size": 4999})
    run.forge("route", "verdict", {"way": "act", "why": "", "digest": plan.digest})
    run.forge("approve", "decision", {"approved": True, "by": "bob", "digest": plan.digest})
    assert refused in run.task("act")
    # the answer that bob gave in another run, on the same plan
    other = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    theirs = other.has(planned)
    assert [other.task("approve"), other.answer("bob")] == ["awaiting_input", "success"]
    assert "SparkUnreachable: no Spark master answers" in other.task("act")  # allowed: submitted
    run.forge("approve", "return_value", other.xcom("approve"))
    run.mark("alice", "approve")
    assert refused in run.task("act")
    ours = RunFolder.at(airflow.folder / "lake", "QM1", run_key(run.dag, run.key))
    shutil.copy(theirs.path / answer.FILE, ours.path)
    assert f"NotAllowed: the approval in this run's folder is of run {other.key} of qm1_dlq_rules" in run.task("act")
    # asked, and answered by who started it
    run.clear("approve", "act")
    assert run.task("approve") == "awaiting_input"
    assert f"`{run.key}` of `qm1_dlq_rules`, which `alice` started" in run.question()["body"]
    assert "NotAllowed: alice started this run" in run.answer("alice")
    assert "NotAllowed: alice started this run" in run.task("act")


def test_a_forged_verdict_does_not_make_a_dry_run_act(airflow: Airflow) -> None:
    planned, plan = airflow.planned()
    dry, wet = (airflow.run("free_dlq_rules", "alice", dry_run=is_dry) for is_dry in (True, False))
    for run in (dry, wet):
        run.has(planned, "FREE")
        run.forge("route", "verdict", {"way": "act", "why": "", "digest": plan.digest})
    assert "NotAllowed: this run is to move nothing (dry run: " in dry.task("act")
    # The estate requires no approval of scheduled runs. One that a person starts always needs another answer.
    assert f"NotAllowed: nobody has approved plan {plan.digest}" in wet.task("act")


def test_an_answer_is_about_the_text_that_the_files_give(airflow: Airflow) -> None:
    run = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    folder = run.has(airflow.planned()[0])
    assert [run.task("approve"), run.answer("bob")] == ["awaiting_input", "success"]
    # routed again, the pre-flight that bob saw stays
    assert run.task("route") == "success"
    assert "SparkUnreachable" in run.task("act")
    found = json.loads((folder.path / "preflight.json").read_text())
    (folder.path / "preflight.json").write_text(json.dumps({**found, "findings": [], "destinations": 7}))
    assert "NotAllowed: bob saw another text about plan" in run.task("act")


def test_a_form_reads_no_file_but_tables(airflow: Airflow) -> None:
    airflow.manager.put(DLQ, [dead_letter("A", b"x")])
    rules, secret = airflow.folder / "rules", airflow.folder / "secret.rules"
    rules.mkdir()
    secret.write_text("PASSWORD=hunter2\n")
    (rules / "link.rules").symlink_to(secret)
    (rules / "other.rules").write_text(RULES)
    (rules / "wrong.rules").write_text("ACTION(FLY)\n")

    def check(name: str) -> str:
        return airflow.run("qm1_dlq_rules", "alice", rules_file=name).task("check")

    for name in ("secret.rules", "rules/link.rules", "rules/missing.rules", "estate.yaml", "airflow/airflow.cfg"):
        written = check(name)
        assert f"SettingsError: rules file {name} may not be chosen" in written
        assert f"{rules}: qm1.rules, rules/other.rules, rules/wrong.rules" in written
        assert "hunter2" not in written
    assert [check("qm1.rules"), check("rules/other.rules")] == ["success"] * 2
    assert "RulesError: wrong.rules is not valid: 1 errors, at 1:8" in check("rules/wrong.rules")


def test_four_eyes_refuse_to_start_where_airflow_cannot_tell_people_apart(airflow: Airflow) -> None:
    nobody = airflow.run("qm1_dlq_rules", "Anonymous")
    assert "Airflow does not say who started this run (manual). Start it under a user of your own" in nobody.task(
        "check"
    )
    everybody = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"
    airflow.say("setting", everybody, "True")
    try:
        for dag, task, form in (
            ("qm1_dlq_rules", "check", {}),
            ("mq_undo", "plan", {"queue_manager": "QM1", "run": "any"}),
        ):
            written = airflow.run(dag, "alice", **form).task(task)
            assert "SettingsError: The estate asks for four eyes, but everybody is the same administrator" in written
            assert "simple_auth_manager_all_admins to False" in written
    finally:
        airflow.say("setting", everybody, "False")


def test_law2_a_run_that_a_person_has_materialize_an_asset_is_dry_by_default(airflow: Airflow) -> None:
    run_folder, plan = airflow.planned()
    (asset,) = airflow.say("call", "alice", "GET", "/assets?name_pattern=qm1_dlq_rules_plan", None)["assets"]
    begun = airflow.say("call", "carol", "POST", f"/assets/{asset['id']}/materialize", None)
    assert begun["run_type"] == "asset_materialization"
    run = Run(airflow, "qm1_dlq_rules", begun["dag_run_id"], {})
    run.has(run_folder)
    assert run.task("route") == "success"
    verdict = run.xcom("route", "verdict")
    assert (verdict["way"], verdict["why"]) == (
        *("stop", f"dry run: {sum(plan.actions.values())} messages would be moved or discarded, none is"),
    )
