"""Approvals in Airflow itself, tasks run, cleared and marked one by one: what act accepts, and for which plan."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socketserver
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from html import unescape
from pathlib import Path
from typing import Any, ClassVar, TextIO
from urllib.parse import quote

import pymqi
import pytest
from mq_support import DLQ, Manager, create, dead_letter, until
from pymqi import CMQC

from mqops.decide.core import PlanSummary
from mqops.decide.preflight_record import PREFLIGHT
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.look.run_row import run_line
from mqops.look.run_story import run_story
from mqops.rules import parse
from mqops_airflow.notices import outcome_text
from mqops_airflow.runs.run_folder import HANDED_ON, run_key
from mqops_airflow.ui.views import address
from mqops_demo.airflow import NO_PORT
from mqops_demo.estate import ROOT

HERE = Path(__file__).parent
ESTATE = """\
lake: lake
notify:
  notifier: airflow.providers.smtp.notifications.smtp.SmtpNotifier
  arguments:
    to: oncall@example.com
    from_email: mqops@example.com
    subject: "{{ mqops.subject }}"
    html_content: "{{ mqops.text }} {{ mqops.link }}"
queue_managers:
  QM1:
    connection: mq_test
    spark: spark_down
    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}
    poison_guard: {watch: 1s, approval: {auto_approve: {actions: [FWD], max_messages: 10}}}
  FREE:
    connection: mq_test
    spark: spark_down
    dlq_rules: {rules: qm1.rules, approval: {required: false}}
"""
PLAIN = ("disable_ssl", "disable_tls")
RULES = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


class Airflow:
    """`airflow_by_hand.py` in a process of its own, and the queue manager that its DAGs work on."""

    def __init__(
        self,
        process: subprocess.Popen[str],
        answers: TextIO,
        manager: Manager,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.process = process
        self.answers = answers
        self.manager = manager
        self.folder = folder
        self.environment = environment

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

    def asks(self, queue: str) -> Run:
        """A run that is to move the messages of a queue to A, and waits for an answer."""
        form = {"queue_manager": "QM1", "action": "move", "queue": queue, "all_messages": True, "destination": "A"}
        run = self.run("mq_recover", "alice", **form, dry_run=False)
        assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
        return run

    def are_begun(self) -> None:
        """The scheduler, which is not here, notes when it has begun a run."""
        with closing(sqlite3.connect(self.folder / "airflow" / "airflow.db")) as database, database:
            database.execute("UPDATE dag_run SET start_date = queued_at")

    def open_questions(self) -> int:
        """How many the estate's page counts."""
        found = re.search(r"<strong>(\d+)</strong> open question", self.say("page", "viewer", "/mqops/estate"))
        assert found
        return int(found[1])

    def comes_to_open(self, questions: int) -> None:
        """Wait until the estate's page counts so many: it shows an answer of some seconds before."""
        until(lambda: self.open_questions() == questions, pause=0.2)

    def planned(self) -> tuple[RunFolder, PlanSummary]:
        """A plan that moves one message and discards another."""
        what = self.what()
        self.manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("B", b"y")])
        return plan_run(DEAD_LETTERS, what)

    def acted_on(self) -> str:
        """The key of a run of the command that has moved one message and discarded all others."""
        run, plan = self.planned()
        carry_out(DEAD_LETTERS, self.what(), run, plan)
        return run.run

    def what(self) -> DeadLetterRequest:
        table = parse(RULES).table
        assert table
        return DeadLetterRequest(connection=self.manager.connection, lake=self.folder / "lake", table=table, text=RULES)

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

    def tells_nothing_of(self, payload: bytes) -> None:
        """No payload in a log, Airflow's database, the lake but its snapshots, or a mail (law 9)."""
        for path in self.folder.rglob("*"):
            if path.is_file() and not {"snapshot", self.manager.home.name} & set(path.parts):
                assert payload not in path.read_bytes(), path
        assert not [letter for letter in Mail.kept if payload in letter]

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

    def killed(self, task: str, when: Callable[[], bool]) -> None:
        """Run a task in a process of its own, and kill that in the middle; Airflow calls it failed in the end."""
        form = json.dumps(self.form)
        command = ["-m", "airflow", "tasks", "test", self.dag, task, self.key, "--task-params", form]
        with (self.airflow.folder / "written").open("a") as written:
            process = subprocess.Popen(
                [sys.executable, *command], env=self.airflow.environment, stdout=written, stderr=written
            )
        with process:
            until(lambda: when() or process.poll() is not None, seconds=600)
            assert process.poll() is None, self.airflow.written()[-5000:]
            process.kill()
        self.mark("carol", task, "failed")

    def tasks(self, *tasks: str) -> list[str]:
        return [self.task(task) for task in tasks]

    def states(self, *tasks: str) -> list[str]:
        return [self.call("carol", "GET", f"/taskInstances/{task}")["state"] for task in tasks]

    def has(self, planned: RunFolder, queue_manager: str = "QM1") -> RunFolder:
        """Let the first tasks, which are not run, have made this plan."""
        path = RunFolder.at(self.airflow.folder / "lake", queue_manager, run_key(self.dag, self.key)).path
        shutil.copytree(planned.path, path)
        kept = {"dag_id": self.dag, "run_id": self.key, "found": {"unit_size": 1}}
        (path / HANDED_ON.name).write_text(json.dumps(kept))
        return RunFolder(path)

    def forge(self, task: str, key: str, value: Any) -> None:
        """Write an XCom, as an administrator may, and with other auth managers who may trigger the DAG."""
        self.call("alice", "POST", f"/taskInstances/{task}/xcomEntries", {"key": key, "value": value})

    def clear(self, *tasks: str) -> None:
        """Clear these tasks and no others, as the page of the run does."""
        body = {"dry_run": False, "dag_run_id": self.key, "task_ids": tasks, "only_failed": False}
        body |= {"prevent_running_task": True}
        self.airflow.say("call", "operator", "POST", f"/dags/{self.dag}/clearTaskInstances", body)

    def mark(self, person: str, task: str, state: str = "success") -> None:
        """A person sets the state of a task."""
        self.call(person, "PATCH", f"/taskInstances/{task}", {"new_state": state})

    def page(self, person: str, name: str) -> str:
        """What a page says about this run, without its markup but that of buttons."""
        text = self.airflow.say("page", person, address(name, dag_id=self.dag, run_id=self.key))
        return " ".join(unescape(re.sub(r"<(?!/?button)[^>]*>", "", text)).split())

    def files(self) -> RunFolder:
        """Its folder in the lake."""
        return RunFolder.at(self.airflow.folder / "lake", "QM1", run_key(self.dag, self.key))

    def question(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("carol", "GET", "/taskInstances/approve/-1/hitlDetails")
        return found

    def answer(self, person: str, option: str = "Approve", **given: str) -> str:
        """A person answers, and the task goes on. Parameters: `given` field of the question → what he enters."""
        answer = {"chosen_options": [option], "params_input": given}
        self.call(person, "PATCH", "/taskInstances/approve/-1/hitlDetails", answer)
        return self.task("approve")

    def xcom(self, task: str, key: str = "return_value") -> Any:
        return self.call("carol", "GET", f"/taskInstances/{task}/xcomEntries/{key}?deserialize=true")["value"]


class Mail(socketserver.StreamRequestHandler):
    """A mail server that keeps what it is sent."""

    kept: ClassVar[list[bytes]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 test\r\n")
        while line := self.rfile.readline().strip().upper():
            if line == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                self.kept.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if line == b"QUIT" else b"250 ok\r\n")


@pytest.fixture(scope="module")
def mail() -> Iterator[int]:
    """The port of a mail server."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path, mail: int) -> Iterator[Airflow]:
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
        "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW_CONN_MQ_TEST": json.dumps(
            {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
        ),
        "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(
            {
                "conn_type": "smtp",
                "host": "127.0.0.1",
                "port": mail,
                "extra": {"disable_ssl": True, "disable_tls": True},
            }
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
            yield Airflow(process, answers, manager, folder, environment)


def test_law2_an_undo_is_dry_by_default_and_done_when_approved(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    before = airflow.places()
    dry = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone)
    assert dry.tasks("plan", "route") == ["success"] * 2
    assert dry.states("approve") == ["skipped"]
    folder = RunFolder.at(airflow.folder / "lake", "QM1", run_key("mq_undo", dry.key))
    assert run_story(folder).people == {"requested_by": "alice"}  # as `mqops run show` and the page tell
    assert "NotAllowed: this run must not move anything (dry run: " in dry.task("act")
    assert airflow.places() == before
    run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    ((field, form),) = run.question()["params"].items()
    assert (field, form["schema"]) == ("comment", {"title": "Comment", "type": ["null", "string"], "maxLength": 500})
    assert run.answer("bob", comment="they are wanted again") == "success"
    assert airflow.places() == before
    assert run.tasks("act", "prove") == ["success"] * 2
    assert not airflow.say("imported", "pandas"), "a third of a second of each task that plans, acts or proves"
    assert airflow.places() == (before[0] + 2, before[1] - 1)
    counted = airflow.say("counted", "mq_undo")
    assert counted == {"airflow.mqops.messages_moved": 2, "airflow.mqops.runs_proved": 1}
    run.clear("prove")
    assert run.task("prove") == "success"
    assert airflow.say("counted", "mq_undo") == counted | {"airflow.mqops.runs_proved": 2}
    (about,) = airflow.about(undone)
    assert (about["workflow"], about["requested_by"], about["approved_by"]) == ("undo", "alice", "bob")
    assert about["comment"] == "they are wanted again"
    assert "approved by bob: they are wanted again" in run.page("carol", "run")


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
    before, counted = airflow.places(), airflow.say("counted", "mq_undo")
    run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    letter = message_from_bytes(Mail.kept[-1], policy=default)
    assert letter["Subject"] == run.question()["subject"]
    (page,) = [part.get_content() for part in letter.walk() if part.get_content_type() == "text/html"]
    assert f"/dags/mq_undo/runs/{quote(run.key, safe='')}" in page
    assert run.answer("bob", "Reject") == "success"
    assert run.states("act") == ["skipped"]
    assert run.task("prove") == "success"
    assert airflow.say("counted", "mq_undo") == counted
    words = "Nothing was moved: the plan was rejected by bob. Start a new run to ask again."
    assert run.xcom("prove", outcome_text.KEY) == words
    assert f"NotAllowed: plan {run.xcom('plan')['digest']} was rejected by bob" in run.task("act")
    assert airflow.places() == before


def test_a_stop_is_told_in_the_question_and_after_it_with_what_takes_it_back(airflow: Airflow) -> None:
    undone = airflow.acted_on()
    before = airflow.places()
    stop = airflow.run("mq_stop", "carol", queue_manager="QM1", why="night")
    resume = airflow.run("mq_stop", "carol", do="resume", queue_manager="QM1")
    try:
        assert stop.task("stop") == "success"
        run = airflow.run("mq_undo", "alice", queue_manager="QM1", run=undone, dry_run=False)
        assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
        body = run.question()["body"]
        assert "| problem | `QM1` | `All acting on QM1 was stopped by carol at " in body
        assert (
            "(night): nothing of an approved plan is done before it is resumed` | `Resume first: in Airflow run mq_stop"
            in body
        )
        assert re.match('QM1: undo "dead letters of QM1, .+, real": put back ', run.question()["subject"])
        assert f"It undoes run `{undone}`." in body
        assert run.answer("bob") == "success"
        assert "Stopped: All acting on QM1 was stopped by carol" in run.task("act")
        assert "ActUnfinished: Stopped: All acting on QM1 was stopped by carol" in run.task("prove")
        assert "To go on, run mq_stop with Do = resume for queue manager QM1" in run.xcom("prove", outcome_text.KEY)
        assert airflow.places() == before
    finally:
        assert resume.task("stop") == "success"
    # the approval still holds
    run.clear("act", "prove")
    written = len(airflow.written())
    assert run.tasks("act", "prove") == ["success"] * 2
    assert run.xcom("prove", outcome_text.KEY).startswith("Approved by bob: ")
    assert "SYSTEM.DEAD.LETTER.QUEUE, RESTORE: planned" in airflow.written()[written:]
    assert "rule line 1 of the run, RETRY: 1 of 1 put back" in airflow.written()[written:]


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
    shutil.copy(theirs.path.joinpath("approval.json"), ours.path)
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
    assert "NotAllowed: this run must not move anything (dry run: " in dry.task("act")
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
    assert "NotAllowed: bob saw a text about plan" in run.task("act")


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
    assert "RulesError: wrong.rules is not valid: 1 error, at 1:8" in check("rules/wrong.rules")


def test_the_note_of_a_run_that_failed_at_once_says_why_and_what_to_do(airflow: Airflow) -> None:
    """Who started the run needs no log."""
    run = airflow.run("qm1_dlq_rules", "alice", queue="NOSUCH.DLQ")
    assert run.task("check").startswith("failed")
    run.call("alice", "PATCH", "", {"state": "failed"})
    advice = "Define it, or correct the name: DEFINE QLOCAL(NOSUCH.DLQ)"
    error = f"MQOPEN on NOSUCH.DLQ failed: MQRC_UNKNOWN_OBJECT_NAME (2085). {advice}"
    assert run.call("alice", "GET", "")["note"] == f"The task check failed: `{error}`"


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


A_RUN = "/dags/qm1_dlq_rules/dagRuns/any"
TASK = f"{A_RUN}/taskInstances/act"
EVERYBODY = {"viewer", "operator", "approver", "admin"}
RIGHTS = [
    # who may, method, path. The body is wrong: what is allowed is answered with another number than 403
    (EVERYBODY, "GET", "/dags"),
    (EVERYBODY, "GET", "/dags/qm1_dlq_rules/dagRuns"),
    (EVERYBODY, "GET", TASK),
    (EVERYBODY, "GET", f"{TASK}/logs/1"),
    (EVERYBODY, "GET", f"{TASK}/xcomEntries"),
    (EVERYBODY, "GET", f"{TASK}/-1/hitlDetails"),
    (EVERYBODY, "GET", "/assets"),
    ({"operator", "admin"}, "POST", "/dags/qm1_dlq_rules/dagRuns"),
    ({"operator", "admin"}, "POST", "/dags/mq_undo/dagRuns"),
    ({"operator", "approver", "admin"}, "POST", "/dags/mq_stop/dagRuns"),
    ({"operator", "admin"}, "PATCH", A_RUN),
    ({"operator", "admin"}, "POST", "/dags/qm1_dlq_rules/clearTaskInstances"),
    ({"operator", "admin"}, "PATCH", TASK),
    ({"operator", "admin"}, "PATCH", "/dags/qm1_dlq_rules"),
    ({"approver", "admin"}, "PATCH", f"{TASK}/-1/hitlDetails"),
    ({"admin"}, "POST", f"{TASK}/xcomEntries"),
    ({"admin"}, "PATCH", f"{TASK}/xcomEntries/return_value"),
    ({"admin"}, "DELETE", f"{TASK}/xcomEntries/return_value"),
    ({"admin"}, "DELETE", A_RUN),
    ({"admin"}, "DELETE", TASK),
    ({"admin"}, "DELETE", "/dags/none"),
    ({"admin"}, "GET", "/connections"),
    ({"admin"}, "POST", "/connections"),
    ({"admin"}, "POST", "/connections/test"),
    ({"admin"}, "GET", "/variables"),
    ({"admin"}, "POST", "/variables"),
    ({"admin"}, "POST", "/pools"),
    ({"admin"}, "POST", "/assets/0/materialize"),
]


def test_each_role_may_do_exactly_its_list(airflow: Airflow) -> None:
    found = [
        ({role for role in EVERYBODY if airflow.say("status", role, method, path, {"x": 1})[0] != 403}, method, path)
        for _allowed, method, path in RIGHTS
    ]
    assert found == RIGHTS
    assert airflow.say("status", "viewer", "GET", "/dags", None)[0] == 200


def test_numbers_out_of_range_are_refused_with_a_sentence(airflow: Airflow) -> None:
    for field, value, why in (
        ("unit_of_work", 5000, "5000 is greater than the maximum of 4999"),
        ("limit", 0, "0 is less than the minimum of 1"),
        ("canary", -1, "-1 is less than the minimum of 0"),
    ):
        body = {"logical_date": None, "conf": {field: value}}
        status, text = airflow.say("status", "operator", "POST", "/dags/qm1_dlq_rules/dagRuns", body)
        assert status == 400
        assert json.loads(text)["detail"].startswith(f"Invalid input for param {field}: {why}\n")


def test_the_form_changes_no_number_by_itself(airflow: Airflow) -> None:
    """Airflow's form moves a number into `minimum` and `maximum` when the field is left."""
    for dag in ("qm1_dlq_rules", "mq_undo"):
        details = airflow.say("call", "viewer", "GET", f"/dags/{dag}/details", None)
        numbers = [one["schema"] for one in details["params"].values() if "integer" in one["schema"]["type"]]
        assert numbers
        assert not [schema for schema in numbers if {"minimum", "maximum"} & set(schema)]


def test_the_test_button_takes_what_airflows_form_sends(airflow: Airflow) -> None:
    extra = json.dumps({"queue_manager": "QM1", "home": str(airflow.manager.home)})
    made = {"connection_id": "mq_made", "conn_type": "mq", "port": NO_PORT, "extra": extra}
    airflow.say("call", "admin", "POST", "/connections", made)
    sent = made | dict.fromkeys(("description", "host", "login", "password", "schema"), "") | {"port": 0}
    answer = airflow.say("call", "admin", "POST", "/connections/test", sent)
    assert (answer["status"], answer["message"][:12]) == (True, "QM1 answers;")


def test_an_undo_takes_the_run_id_that_airflow_shows(airflow: Airflow) -> None:
    run = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    run.has(airflow.planned()[0])
    undo = airflow.run("mq_undo", "alice", queue_manager="QM1", run=run.key)
    assert undo.task("plan") == "success"
    assert undo.xcom("plan")["undoes"] == run_key(run.dag, run.key)
    assert "has no run manual__never of QM1 with a plan" in airflow.run(
        "mq_undo", "alice", queue_manager="QM1", run="manual__never"
    ).task("plan")


def test_a_plan_that_waits_for_its_answer_keeps_only_the_same_queue_waiting(airflow: Airflow) -> None:
    airflow.manager.put(DLQ, [dead_letter("A", b"x")])
    first = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
    assert first.task("check") == "success"
    folder = Path(first.xcom("check")["folder"])
    for other, who in ((airflow.planned()[0], "is at work"), (None, "waits for an answer")):
        if other is not None:
            shutil.copytree(other.path, folder, dirs_exist_ok=True)
        else:
            assert first.task("approve") == "awaiting_input"
        second = airflow.run("qm1_dlq_rules", "bob", dry_run=False)
        assert second.task("check") == "success"
        waits = f"Run `{first.key}` of `qm1_dlq_rules`, which alice started, {who} on `{DLQ}`. This run"
        assert waits in second.xcom("check", outcome_text.KEY)
        assert second.states("observe", "prove") == ["skipped"] * 2
    chosen = {"queue_manager": "QM1", "action": "move", "queue": DLQ, "all_messages": True, "destination": "A"}
    by_hand = airflow.run("mq_recover", "bob", **chosen, dry_run=False)
    assert by_hand.task("plan") == "success"
    told = by_hand.xcom("plan", outcome_text.KEY)
    assert waits in told
    assert f"[Its plan]({address('plan', dag_id=first.dag, run_id=first.key)}) names who may answer" in told
    assert by_hand.states("route", "planned", "prove") == ["skipped"] * 3
    dry, elsewhere = airflow.run("qm1_dlq_rules", "bob"), airflow.run("qm1_dlq_rules", "bob", queue="A", dry_run=False)
    airflow.manager.put("A", [dead_letter("B", b"y")])
    for run in (dry, elsewhere):
        assert run.task("check") == "success"
        assert run.xcom("check")["folder"]
    airflow.say("call", "carol", "PATCH", f"/dags/{first.dag}/dagRuns/{first.key}", {"state": "failed"})
    airflow.say("call", "carol", "DELETE", f"/dags/{first.dag}/dagRuns/{elsewhere.key}", None)
    recovered = airflow.run("mq_recover", "alice", **chosen, dry_run=False)
    assert recovered.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    second = airflow.run("mq_recover", "bob", **chosen, dry_run=False)
    assert second.task("plan") == "success"
    waits = f"Run `{recovered.key}` of `mq_recover`, which alice started, waits for an answer on `{DLQ}`. This run"
    assert waits in second.xcom("plan", outcome_text.KEY)
    for queue in (DLQ, "A"):  # no schedule waits for a form, and nobody for a run that was deleted
        again = airflow.run("qm1_dlq_rules", "bob", queue=queue, dry_run=False)
        assert again.task("check") == "success"
        assert again.xcom("check")["folder"]


def test_a_recovery_acts_only_with_an_answer(airflow: Airflow) -> None:
    airflow.manager.mqsc("DEFINE QLOCAL(RECOVERED)")
    airflow.manager.put("RECOVERED", [dead_letter("A", b"recovered-x"), ({}, b"recovered-y")])
    form = {"queue_manager": "QM1", "queue": "RECOVERED", "all_messages": True}
    dry = airflow.run("mq_recover", "alice", **form, action="replay")
    assert dry.tasks("plan", "route") == ["success"] * 2
    assert dry.states("approve") == ["skipped"]
    assert "NotAllowed: this run must not move anything (dry run: " in dry.task("act")
    lost = airflow.run("mq_recover", "alice", **form, action="move", destination="NO.SUCH")
    assert lost.tasks("plan", "route") == ["success"] * 2
    found = "the pre-flight found 1 problem: NO.SUCH: MQOPEN for puts fails: MQRC_UNKNOWN_OBJECT_NAME (2085). Define it"
    stay = "0 messages would be moved or discarded, 2 would stay, because their destinations do not take them now"
    assert f"{stay}; nothing was done; {found}" in lost.task("act")
    wrong = airflow.run("mq_recover", "alice", **form, action="move", destination=None)
    assert "Destination: move needs the queue that the messages are put on" in wrong.task("plan")
    run = airflow.run("mq_recover", "alice", **form, action="move", destination="A", dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    run.mark("alice", "approve")
    assert "NotAllowed: nobody has approved plan" in run.task("act")
    assert airflow.manager.depth("RECOVERED") == 2
    airflow.tells_nothing_of(b"recovered-")


def test_the_preflight_is_made_told_and_kept(airflow: Airflow) -> None:
    """The task in front of the approval makes it, and fails for nothing that it finds."""
    planned, _plan = airflow.planned()
    (planned.path / "preflight.json").unlink()
    airflow.manager.mqsc("ALTER QLOCAL(A) PUT(DISABLED)")
    run, blind = (airflow.run("qm1_dlq_rules", "alice", dry_run=False) for _number in range(2))
    folder, written = run.has(planned), len(airflow.written())
    assert run.tasks("route", "approve") == ["success", "awaiting_input"]
    assert "problem: A@QM1: PUT(DISABLED). ALTER QLOCAL(A) PUT(ENABLED)" in airflow.written()[written:]
    found = PREFLIGHT.find(folder)
    assert found is not None
    assert [one.severity for one in found.findings] == ["problem", "warning"]
    assert "| problem | `A@QM1` | `PUT(DISABLED)` | `ALTER QLOCAL(A) PUT(ENABLED)` |" in run.question()["body"]
    airflow.manager.mqsc("ALTER QLOCAL(A) PUT(ENABLED)")
    # a queue manager that does not answer: unknown, and a person is asked
    folder, name = blind.has(planned), "AIRFLOW_CONN_MQ_TEST"
    airflow.say("setting", name, airflow.environment[name].replace("QM1", "NOBODY"))
    assert blind.tasks("route", "approve") == ["success", "awaiting_input"]
    airflow.say("setting", name, airflow.environment[name])
    unknown = PREFLIGHT.find(folder)
    assert unknown is not None
    assert [one.severity for one in unknown.doubts] == ["unknown"]


def test_law1_law9_a_killed_replay_of_hostile_messages_goes_on_tells_no_payload_and_forges_nothing(
    airflow: Airflow,
) -> None:
    """Names and bodies that would end lines, steer a terminal, make markup, or open groups in Airflow's log view."""
    manager = airflow.manager
    manager.mqsc("DEFINE QLOCAL(LETTERS)\nCLEAR QLOCAL(A)")
    before = len(airflow.written())
    plain = [b"by-hand-secret \x1b[2J\0\n%d " % number + b"x" * 5000 for number in range(30)]
    evil = ("E\x1b[2J\r\n::group::", "<img src=x>`|", "[a](b:c)\u202e", "N\0N")
    letters = [dead_letter("A", body) for body in plain]
    letters += [
        dead_letter(
            *(name, plain[0]),
            dest_q_mgr=name,
            PutApplName=name.encode(),
            UserIdentifier=name.encode()[:12],
        )
        for name in evil
    ]
    manager.put("LETTERS", letters, options=CMQC.MQOO_SET_ALL_CONTEXT)
    form = {"queue_manager": "QM1", "action": "replay", "queue": "LETTERS", "all_messages": True, "unit_of_work": 1}
    run = airflow.run("mq_recover", "alice", **form, pace=20, dry_run=False)
    assert run.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert run.answer("bob") == "success"
    run.killed("act", when=lambda: manager.depth("A") > 2)
    assert 0 < manager.depth("A") < 30
    run.clear("act")
    assert run.tasks("act", "prove") == ["success"] * 2
    assert sorted(manager.bodies("A")) == sorted(plain)
    assert manager.depth("LETTERS") == len(evil)
    summary = run.xcom("prove")
    assert (summary["balanced"], summary["moved"], summary["left"]) == (True, 30, len(evil))
    taken_back = airflow.run("mq_recover", "alice", queue_manager="QM1", action="restore", run=run.key)
    assert taken_back.task("plan") == "success"
    assert taken_back.xcom("plan")["actions"] == {"RETURN": 30}
    asked = "\n".join(run.question()[part] for part in ("subject", "body"))
    log = [line for line in airflow.written()[before:].split("\n") if " loc=" in line and "mqops" in line]
    assert all(line.isprintable() for line in asked.split("\n"))
    assert "<img src=x>'¦" in asked
    assert not re.search(r"<img|\(b:c\)|::group::", re.sub("`[^`]*`", "", asked)), "names are shown as code"
    assert [line for line in log if "img" in line]
    assert all(line.isprintable() for line in log)
    assert not [line for line in log if "::group::" in line and "img" in line]
    airflow.tells_nothing_of(b"by-hand-secret")


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
        *("stop", f"dry run: {sum(plan.actions.values())} messages would be moved or discarded; nothing was done"),
    )


def test_a_question_that_nobody_can_answer_any_more_is_none(airflow: Airflow) -> None:
    """A person marks the run, or the task that asks, or deletes the run. No page asks, each says what happened, and the
    next run of the queue is not kept waiting."""
    airflow.manager.mqsc("DEFINE QLOCAL(ENDED)")
    airflow.manager.put("ENDED", [({}, b"x")])
    before = airflow.open_questions()
    planned, _plan = airflow.planned()

    def asked() -> Run:
        run = airflow.run("qm1_dlq_rules", "alice", dry_run=False)
        run.has(planned)
        assert run.task("approve") == "awaiting_input"
        return run

    def is_told(run: Run, state: str) -> None:
        words = f"as {state} in Airflow before anybody answered"
        airflow.comes_to_open(before)
        story = run_story(run.files())
        assert (story.line.state, story.line.asks) == ("unanswered", False)
        assert words in story.unapproved
        for page in ("plan", "run"):
            told = run.page("operator", page)
            assert words in told, page
            assert "Approve</button>" not in told
            assert "Ask again</button>" in told
            assert "Ask again</button>" not in run.page("viewer", page)

    def is_noted(run: Run, state: str) -> None:
        note = run.call("carol", "GET", "")["note"]
        assert f"Nothing was moved: a person marked the run, or its task approve, as {state} in Airflow" in note
        assert note.endswith("To ask again, clear the task approve and what is behind it.")

    first = airflow.asks("ENDED")
    airflow.comes_to_open(before + 1)
    assert '<button type="submit" value="Approve" class="good">Approve</button>' in first.page("approver", "plan")
    first.call("carol", "PATCH", "", {"state": "failed"})
    is_told(first, "failed")
    is_noted(first, "failed")
    second = airflow.asks("ENDED")
    second.call("carol", "PATCH", "", {"state": "success"})
    is_told(second, "success")
    is_noted(second, "success")
    third, deleted = asked(), asked()
    airflow.comes_to_open(before + 2)
    third.mark("carol", "approve", "failed")
    airflow.say("call", "carol", "DELETE", f"/dags/{deleted.dag}/dagRuns/{deleted.key}", None)
    is_told(third, "failed")
    third.call("carol", "PATCH", "", {"state": "failed"})
    # asked again, and approved
    second.clear("approve", "act", "prove")
    assert second.task("approve") == "awaiting_input"
    airflow.comes_to_open(before + 1)
    assert [second.answer("bob"), *second.tasks("act", "prove")] == ["success"] * 3
    assert airflow.manager.depth("ENDED") == 0


def test_an_approval_that_is_refused_is_told_as_refused(airflow: Airflow) -> None:
    airflow.manager.mqsc("DEFINE QLOCAL(REFUSED)")
    airflow.manager.put("REFUSED", [({}, b"x")])
    run = airflow.asks("REFUSED")
    assert "NotAllowed: alice started this run" in run.answer("alice")
    run.mark("carol", "act", "failed")
    why = "the approval by alice was refused: alice started this run; the estate asks for another person's approval"
    failed = airflow.say("counted", "mq_recover").get("airflow.mqops.runs_failed", 0)
    assert f"ActUnfinished: Nothing was moved: {why}" in run.task("prove")
    assert airflow.say("counted", "mq_recover")["airflow.mqops.runs_failed"] == failed + 1
    assert run.xcom("prove", outcome_text.KEY).replace("`", "").startswith(f"Nothing was moved: {why}")
    assert run_line(run.files()).state == "refused"
    for page in ("plan", "run"):
        told = run.page("operator", page)
        assert why.removeprefix("the ") in told, page
        assert "Ask again</button>" in told
    run.call("carol", "PATCH", "", {"state": "failed"})


def test_P08_P13_one_press_stops_a_loop_where_the_policy_of_the_estate_allows_it(airflow: Airflow) -> None:
    """The form chooses no destination, so the policy counts for a run by hand, too; beyond it a person is asked."""
    manager = airflow.manager
    manager.mqsc("DEFINE QLOCAL(LOOP.BO)\nDEFINE QLOCAL(LOOP) BOTHRESH(1) BOQNAME(LOOP.BO)\n")
    manager.mqsc("DEFINE QLOCAL(BARE) BOTHRESH(1)\n")
    for queue in ("LOOP", "BARE"):
        manager.put(queue, [({}, b"poison"), ({}, b"good")])
        with manager.connected() as program:
            handle = pymqi.Queue(program, queue, CMQC.MQOO_INPUT_SHARED)
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            program.backout()
            handle.close()
    form = {"queue_manager": "QM1", "dry_run": False}
    run = airflow.run("qm1_poison_guard", "operator", **form, queues=["LOOP"])
    assert run.tasks("plan", "route", "act", "prove") == ["success"] * 4
    assert run.xcom("route", "verdict")["why"] == "1 message, FWD: approved by the estate's policy"
    assert (manager.bodies("LOOP"), manager.bodies("LOOP.BO")) == ([b"good"], [b"poison"])
    asks = airflow.run("qm1_poison_guard", "operator", **form, queues=["BARE"])
    assert asks.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert asks.xcom("route", "verdict")["why"] == "DEADLETTER is not approved automatically"
    assert "behind an MQDLH with MQRC_BACKOUT_THRESHOLD_REACHED" in asks.question()["body"]
    before = manager.depth(DLQ)
    assert asks.answer("carol") == "success"
    assert asks.tasks("act", "prove") == ["success"] * 2
    assert (manager.bodies("BARE"), manager.depth(DLQ)) == ([b"good"], before + 1)
    idle = airflow.run("qm1_poison_guard", "operator", **form)
    assert idle.tasks("plan") == ["success"]
    assert idle.states("route", "prove") == ["skipped", "skipped"]
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\nDELETE QLOCAL(LOOP) PURGE\nDELETE QLOCAL(BARE) PURGE\n")


def cleaning() -> list[str]:
    """The command of the page on a year of running, for what is older than now."""
    (line,) = re.findall(r"^airflow (db clean .*)$", (ROOT / "docs" / "a_year.md").read_text(), re.MULTILINE)
    words = shlex.split(line)
    words[words.index("--clean-before-timestamp") + 1] = datetime.now(UTC).isoformat()
    return words


def test_what_airflow_has_cleaned_away_is_told_and_everything_else_goes_on(airflow: Airflow) -> None:
    """`airflow db clean` takes a run that is done, and one whose question is open."""
    manager = airflow.manager
    manager.mqsc("DEFINE QLOCAL(YEAR.1)\nDEFINE QLOCAL(YEAR.2)")
    manager.put("YEAR.1", [({}, b"x")])
    manager.put("YEAR.2", [({}, b"x")])
    done, waits = airflow.asks("YEAR.1"), airflow.asks("YEAR.2")
    assert [done.answer("bob"), *done.tasks("act", "prove")] == ["success"] * 3
    at_a = manager.depth("A")
    assert "In Airflow" in done.page("operator", "run")
    airflow.are_begun()
    airflow.say("command", *cleaning())
    for run in (done, waits):
        assert airflow.say("status", "carol", "GET", f"/dags/{run.dag}/dagRuns/{run.key}", None)[0] == 404
        for page in ("run", "plan"):
            told = run.page("operator", page)
            since = r"any more \(`airflow db clean` ran last at \d{4}-\d\d-\d\d"
            assert re.search(f"Airflow has no record of this run of mq_recover {since}", told), told
            assert "In Airflow" not in told
            assert "Approve</button>" not in told
    for page in ("estate", "messages"):
        airflow.say("page", "viewer", f"/mqops/{page}")
    told = done.page("operator", "run")
    assert all(one in told for one in ("alice", "bob", "1 moved"))  # by the lake
    again = airflow.run("mq_recover", "alice", **waits.form)  # it waits for no question that nobody can answer
    assert (again.task("plan"), again.files().plan_json.exists()) == ("success", True)
    undo = airflow.run("mq_undo", "alice", queue_manager="QM1", run=done.key, dry_run=False)
    assert undo.tasks("plan", "route", "approve") == ["success", "success", "awaiting_input"]
    assert [undo.answer("bob"), *undo.tasks("act", "prove")] == ["success"] * 3
    assert (manager.depth("YEAR.1"), manager.depth("YEAR.2"), manager.depth("A")) == (1, 1, at_a - 1)
