"""The dead-letter queue workflow by real Airflow, real Spark and the embedded queue manager, as an operator runs it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psutil
import pymqi
import pytest
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.clock import utc_now
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of
from mqops_demo.airflow_client import FINISHED, POLL, AirflowClient, RunResult
from mqops_demo.airflow_processes import AirflowFailed, running

SCHEDULED = "scheduled_dlq_rules"
PROTECTED = "SYSTEM.PROTECTION.ERROR.QUEUE"
TASKS = ("check", "observe", "decide", "route", "approve", "act", "prove")


def states(result: RunResult) -> str:
    """The tasks' last states in the order of the workflow: Success, Failed, sKipped, Upstream failed."""
    letters = {"success": "S", "failed": "F", "skipped": "K", "upstream_failed": "U"}
    return "".join(letters[result.tasks[task]] for task in TASKS)


def pause(client: AirflowClient, dag_id: str) -> None:
    """No further run of the DAG starts."""
    client.call("PATCH", f"/dags/{dag_id}", json={"is_paused": True})


@pytest.fixture(scope="module", autouse=True)
def scheduled(site: Any) -> Iterator[Manager]:
    """A queue manager with ten dead letters, for which a run starts each minute, while the other tests go on.

    Two more stand for messages that Advanced Message Security could not open, which mqlite does not have.
    """
    manager = site.manager("SCHEDULED")
    manager.mqsc(f"DEFINE QLOCAL({PROTECTED})\n")
    sealed = [dead_letter("BACK.AGAIN", b"PDMQ%d" % n, reason=2063, dest_q_mgr="SCHEDULED") for n in range(2)]
    manager.put(PROTECTED, sealed)
    manager.put(DLQ, [dead_letter("BACK.AGAIN", b"message %06d" % n, dest_q_mgr="SCHEDULED") for n in range(10)])
    site.client.wait_for_dag(SCHEDULED)
    site.client.unpause(SCHEDULED)
    yield manager
    pause(site.client, SCHEDULED)


def everything(manager: Manager) -> list[bytes]:
    """The bodies of all messages, wherever they are, without their MQDLH."""
    queues = (DLQ, "BACK.AGAIN", "NEW.NAME", "REALLY.DEAD.QUEUE")
    return sorted(body[body.index(b"message ") :] for queue in queues for body in manager.bodies(queue))


def test_an_incident_is_planned_approved_acted_on_and_proved(site: Any) -> None:
    """A destination is deleted between plan and act: its messages stay, and they hold back nothing."""
    manager = site.in_trouble("QM1", 300)
    manager.put(DLQ, [dead_letter("SOON.GONE", b"message without a home", reason=2085)] * 3)
    asked: list[dict[str, Any]] = []

    def approve(question: dict[str, Any]) -> bool:
        asked.append(question)
        assert manager.depth(DLQ) == 303  # law 2: nothing moves before the answer
        manager.put(DLQ, [({}, b"message that came later")])  # law 3: and this one never does
        manager.mqsc("DELETE QLOCAL(TEMPORARY)\n")
        return True

    dag_id, run_id = site.trigger("QM1", dry_run=False)
    result = site.client.follow(dag_id, run_id, approve=approve)
    assert (result.state, states(result)) == ("success", "SSSSSSS")
    (question,) = asked
    assert question["subject"].startswith("QM1: move 60 to ")
    assert question["subject"].endswith(f", discard 60 (of 303 messages of {DLQ})?")
    digest = site.client.xcom(dag_id, run_id, "decide")["digest"]
    assert digest in question["body"]
    waits = f"Plan {digest} waits for an answer within 8:00:00; no answer is a Reject."
    assert f"{question['subject']}: {waits}" in site.told()
    summary = site.summary(result)
    counts = {name: summary[name] for name in ("planned", "moved", "discarded", "left", "gone", "failed", "arrived")}
    assert counts == {
        **{"planned": 303, "moved": 180, "discarded": 60, "left": 63},
        **{"gone": 0, "failed": 3, "arrived": 1},
    }
    assert summary["reasons"] == {"MQRC_UNKNOWN_OBJECT_NAME": 3}
    assert (summary["balanced"], summary["finished"], summary["plan"]) == (True, True, digest)
    depths = {queue: manager.depth(queue) for queue in (DLQ, "BACK.AGAIN", "NEW.NAME", "REALLY.DEAD.QUEUE")}
    assert depths == {DLQ: 64, "BACK.AGAIN": 60, "NEW.NAME": 60, "REALLY.DEAD.QUEUE": 60}
    (issued,) = [
        entry for entry in LedgerFile(site.folder / "lake" / "QM1", str).entries() if entry["kind"] == "issued"
    ]
    assert (issued["about"]["requested_by"], issued["about"]["approved_by"]) == ("admin", "admin")
    wanted = [b"message %06d" % number for number in range(300) if number % 5 != 2]
    assert everything(manager) == sorted([*wanted, b"message that came later", *[b"message without a home"] * 3])
    assert "planned 303 = moved 180 + discarded 60 + left 63 + gone 0" in site.log(result, "prove")
    assert "failed tries: MQRC_UNKNOWN_OBJECT_NAME 3" in site.log(result, "prove")


def test_law1_the_task_of_act_is_killed_and_its_next_try_finishes_the_work(site: Any) -> None:
    """SIGKILL for the task's own process and all it has started, dead letters partly moved; Airflow tries again.

    The job that is killed goes by spark-submit, all others to the warm Spark Connect server: the connection's type
    alone chooses.
    """
    manager = site.in_trouble("KILLED", 1500)
    dag_id, run_id = site.trigger("KILLED", dry_run=False, unit_of_work=5)
    wait_for(site.client, dag_id, run_id, "approve", "awaiting_input")
    site.use_spark_submit("spark_killed")
    site.client.answer(dag_id, run_id, "approve", "Approve")
    wait_for(site.client, dag_id, run_id, "act", "running")
    task = task_process(site.client, dag_id, run_id, "act")
    with looked_at(manager, DLQ) as depth:
        while depth() > 1400:
            assert task.is_running()
            time.sleep(0.002)
        killed = kill_all(task)
    site.use_warm_spark("spark_killed")
    assert "java" in killed
    assert 0 < manager.depth("MQOPS.LEDGER") < 1200 / 5  # units of work that were done, and not all of them
    wait_for(site.client, dag_id, run_id, "act", "up_for_retry")
    result = site.client.follow(dag_id, run_id)
    assert (result.state, states(result)) == ("success", "SSSSSSS")
    assert site.client.task_instances(dag_id, run_id)["act"]["try_number"] == 2
    summary = site.summary(result)
    counts = {name: summary[name] for name in ("planned", "moved", "discarded", "left", "gone", "failed", "arrived")}
    assert counts == {
        **{"planned": 1500, "moved": 900, "discarded": 300, "left": 300},
        **{"gone": 0, "failed": 0, "arrived": 0},
    }
    assert (summary["balanced"], summary["finished"]) == (True, True)
    assert everything(manager) == [b"message %06d" % number for number in range(1500) if number % 5 != 2]
    depths = {queue: manager.depth(queue) for queue in (DLQ, "BACK.AGAIN", "NEW.NAME", "REALLY.DEAD.QUEUE")}
    assert set(depths.values()) == {300}
    entries = LedgerFile(site.folder / "lake" / "KILLED", str).entries()  # the chain is checked while it is read
    acted = [row[0] for entry in entries if entry["kind"] == "acted" for row in entry["rows"]]
    assert (len(acted), len(set(acted))) == (1200, 1200)


def test_law5_a_run_that_does_not_balance_is_told_by_the_estates_notifier(site: Any) -> None:
    """The ledger says twice that the messages of the run before were moved, and its last task proves it again."""
    dag_id = "killed_dlq_rules"
    (run,) = site.client.call("GET", f"/dags/{dag_id}/dagRuns")["dag_runs"]
    lake = site.folder / "lake" / "KILLED"
    markers = [one for one in LedgerFile(lake, str).markers() if one.kind == "acted"]
    with writer_of(LedgerFile(lake, utc_now)) as writer:
        writer.add([replace(markers[0], unit="ab" * 24)])
    again = {"dry_run": False, "dag_run_id": run["dag_run_id"], "task_ids": ["prove"], "only_failed": False}
    site.client.call("POST", f"/dags/{dag_id}/clearTaskInstances", json=again)
    result = site.client.follow(dag_id, run["dag_run_id"])
    assert (result.state, states(result)) == ("failed", "SSSSSSF")
    (told,) = (line for line in site.told() if line.startswith("KILLED: a run does not balance: "))
    assert "was recorded as acted on twice" in told
    assert site.note(result).strip("`") in told


def wait_for(client: AirflowClient, dag_id: str, run_id: str, task: str, state: str) -> None:
    """Wait until a task is in a state; it must not end otherwise."""
    while (now := client.task_instances(dag_id, run_id)[task]["state"]) != state:
        assert now not in {*FINISHED, "skipped", "upstream_failed"}, client.log(dag_id, run_id, task)
        time.sleep(POLL)


def task_process(client: AirflowClient, dag_id: str, run_id: str, task: str) -> psutil.Process:
    """The process that runs a task: started by a worker of the scheduler, named after the task instance."""
    name = f"airflow worker -- {client.task_instances(dag_id, run_id)[task]['id']}"
    scheduler = psutil.Process(running(client.home)["scheduler"])
    while True:
        for process in scheduler.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if " ".join(process.cmdline()).strip() == name:
                    return process
        time.sleep(POLL)


def kill_all(process: psutil.Process) -> set[str]:
    """SIGKILL a process and what it has started, itself first; returns the names of all when they have ended."""
    family = [process, *process.children(recursive=True)]
    names = set()
    for one in family:
        with suppress(psutil.NoSuchProcess):
            names.add(one.name())
            one.kill()
    psutil.wait_procs(family)
    return names


@contextmanager
def looked_at(manager: Manager, queue: str) -> Iterator[Callable[[], int]]:
    """Gives what tells the depth of a queue, at once."""
    with manager.connected() as queue_manager:
        handle = pymqi.Queue(queue_manager, queue, CMQC.MQOO_INQUIRE)
        yield lambda: int(handle.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
        handle.close()


def test_the_assets_tell_others_of_the_run(site: Any) -> None:
    events = site.client.call("GET", "/assets/events", params={"order_by": "-timestamp", "limit": 50})["asset_events"]
    report = next(event for event in events if event["name"] == "qm1_dlq_rules_report")
    assert (report["extra"]["moved"], report["extra"]["balanced"]) == (180, True)
    assert {"qm1_dlq_rules_snapshot", "qm1_dlq_rules_plan"} <= {event["name"] for event in events}


def test_a_run_by_hand_is_dry_unless_told_otherwise(site: Any) -> None:
    manager = site.manager("QM1")
    before = everything(manager)
    with pytest.raises(AirflowFailed, match="'a b' is not a 'name of a queue: 1 to 48 letters, digits and"):
        site.run("QM1", queue="a b")
    result = site.run("QM1", limit=5)
    assert (result.state, states(result)) == ("success", "SSSSKKS")
    assert "dry run: " in site.log(result, "route")
    assert site.client.xcom(result.dag_id, result.run_id, "observe")["messages"] == 5
    assert everything(manager) == before


def test_four_eyes_and_a_rejection_move_nothing(site: Any) -> None:
    manager = site.in_trouble("FOUREYES")
    dag_id = "foureyes_dlq_rules"
    site.client.wait_for_dag(dag_id)
    site.client.unpause(dag_id)
    operator, approver = site.as_user("operator"), site.as_user("approver")
    run_id = site.client.trigger(dag_id, dry_run=False)
    result = site.client.follow(dag_id, run_id, approve=lambda _question: True)
    assert (result.state, states(result)) == ("failed", "SSSSFUF")
    refused = "NotAllowed: admin started this run; the estate asks for another person's approval"
    assert refused in site.log(result, "approve")
    # marking the task as success is no approval
    operator.call("PATCH", f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/approve", json={"new_state": "success"})
    result = operator.follow(dag_id, run_id)
    assert (result.state, states(result)) == ("failed", "SSSSSFF")
    assert refused in site.log(result, "act")
    again = {"dry_run": False, "dag_run_id": run_id, "task_ids": ["approve"], "include_downstream": True}
    operator.call("POST", f"/dags/{dag_id}/clearTaskInstances", json=again | {"only_failed": False})
    result = approver.follow(dag_id, run_id, approve=lambda _question: False)
    assert (result.state, states(result)) == ("success", "SSSSSKS")
    assert "rejected by approver" in site.log(result, "approve")
    assert site.note(result) == "Nothing was moved: the plan was rejected by approver. Start a new run to ask again."
    assert manager.depth(DLQ) == 12


def test_a_failed_check_fails_check_alone_and_the_note_says_why(site: Any) -> None:
    site.in_trouble("RULES")
    result = site.run("RULES", dry_run=False)
    assert (result.state, states(result)) == ("failed", "FUUUUUK")
    assert site.note(result).startswith("The task check failed: `bad.rules is not valid: 2 errors, at ")


def test_scheduled_runs_act_under_the_policy_and_an_empty_queue_starts_no_jvm(site: Any, scheduled: Manager) -> None:
    runs = scheduled_runs(site.client, SCHEDULED)  # two may begin at the same moment: one of them then steps aside
    worked = (run for run in runs if "is at work on" not in site.log(run, "check"))
    results = [next(worked), next(worked)]
    pause(site.client, SCHEDULED)
    assert [(result.state, states(result)) for result in results] == [("success", "SSSSKSS"), ("success", "SKKKKKK")]
    assert "approved by the estate's policy" in site.log(results[0], "route")
    assert "Nothing to do" in site.log(results[1], "check")
    last = json.loads((site.folder / "lake" / "SCHEDULED" / "anatomy" / f"{DLQ}.json").read_text())
    assert (last["messages"], last["run"]) == (0, "")  # the next run tells its growth since then
    assert (scheduled.depth(DLQ), scheduled.depth(PROTECTED), scheduled.depth("BACK.AGAIN")) == (0, 0, 12)
    assert {b"PDMQ0", b"PDMQ1"} < set(scheduled.bodies("BACK.AGAIN"))
    plan = site.client.xcom(SCHEDULED, results[0].run_id, "decide")
    assert (plan["queue"], plan["rows"]) == (f"{DLQ},{PROTECTED}", 12)
    assert f"Nothing to do: {DLQ}, {PROTECTED} are empty" in site.log(results[1], "check")


def scheduled_runs(client: AirflowClient, dag_id: str) -> Iterator[RunResult]:
    """The runs that the schedule starts, each watched to its end."""
    seen = 0
    while True:
        runs = client.call("GET", f"/dags/{dag_id}/dagRuns", params={"order_by": "run_after"})["dag_runs"]
        for run in runs[seen:]:
            assert run["run_type"] == "scheduled"
            yield client.follow(dag_id, run["dag_run_id"])
        seen = len(runs)
        time.sleep(POLL)


@pytest.mark.parametrize(
    ("name", "task", "messages"),
    [
        ("GONE", "check", ["PermanentMQError: MQCONNX on GONE failed: MQRC_Q_MGR_NAME_ERROR (2058)"]),
        ("PASSWORD", "check", ["MQCONNX on PASSWORD failed: MQRC_NOT_AUTHORIZED (2035)", "Check user and password"]),
        ("RULES", "check", ["bad.rules:1:", "bad.rules:2:", "RulesError: bad.rules is not valid: 2 errors"]),
        ("LAKE", "check", ["LakeError: ", "is not a folder, or it is a link to one: remove it"]),
        ("SPARK", "observe", ["SparkUnreachable: no Spark master answers at spark://127.0.0.1:1"]),
    ],
)
def test_each_trouble_is_told_in_the_task_log_and_loses_nothing(
    site: Any, name: str, task: str, messages: list[str]
) -> None:
    if name != "GONE":
        manager = site.in_trouble(name)
        there = manager.depth(DLQ)
    if name == "PASSWORD":
        manager.mqlite("user", "add", name, "app", text="the-password\n")
        manager.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKLOCL(REQUIRED)\n")
    if name == "LAKE":
        site.client.home.lake.mkdir(exist_ok=True)
        (site.client.home.lake / name).write_text("a file where the folder should be")
    dag_id, run_id = site.trigger(name, dry_run=False)
    first_try_ended(site.client, dag_id, run_id, task)
    site.client.call("PATCH", f"/dags/{dag_id}/dagRuns/{run_id}", json={"state": "failed"})  # no need to see retries
    text = site.client.log(dag_id, run_id, task)
    for message in messages:
        assert message in text
    assert "not-the-password" not in text
    if name == "PASSWORD":
        manager.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKLOCL(OPTIONAL)\n")
    if name != "GONE":
        assert manager.depth(DLQ) == there


def first_try_ended(client: AirflowClient, dag_id: str, run_id: str, task: str) -> None:
    """Wait until the first try of a task has failed, for good or not."""
    while client.task_instances(dag_id, run_id)[task]["state"] not in ("failed", "up_for_retry"):
        time.sleep(POLL)
