"""An evening on call, in real Airflow: expiries, poison, a full dead-letter queue, a replay whose canary is not read,
an approval that nobody gives, an undo, and a message found and moved by hand. At the end the ledger accounts for each
message. And answers as quick as a person can give them."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, dead_letter, let_expire, until
from pymqi import CMQC

from mqops.cli import main
from mqops.poison_consumer import PoisonAwareConsumer
from mqops_demo.airflow_client import RunResult
from mqops_demo.airflow_processes import AirflowFailed

QUICK = int(os.environ.get("MQOPS_QUICK_ANSWERS", "1"))
"""Runs that are answered after each time of `SOON`."""
SOON = (0.2, 0.5)
"""Seconds between a question and its answer."""
AT_ONCE = 4
PATIENCE = 600.0
QUEUES = (DLQ, "BACK.AGAIN", "APP", "APP.BOQ", "NEW.NAME", "REALLY.DEAD.QUEUE")


def depths(manager: Manager) -> Counter[str]:
    return Counter({queue: manager.depth(queue) for queue in QUEUES})


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """All files below a folder, without those that Airflow and Spark remove meanwhile."""
    for place, _folders, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):
                if path.is_file():
                    yield path, path.read_bytes()


def requeued(manager: Manager, queue: str) -> list[str]:
    """What the guard of an application that cannot process a message does with it."""

    def cannot(_delivery: object) -> None:
        raise ValueError("this message cannot be processed")

    with manager.connected() as connection, PoisonAwareConsumer(connection, queue) as consumer:
        return [one.what for one in consumer.run(cannot)]


def run_of_all(site: Any, dag_id: str, **form: Any) -> RunResult:
    """A run of a DAG for all queue managers, started by an operator, whose plan an approver approves."""
    site.client.wait_for_dag(dag_id)
    site.client.unpause(dag_id)
    run_id = site.as_user("operator").trigger(dag_id, queue_manager="EVENING", dry_run=False, **form)
    return site.as_user("approver").follow(dag_id, run_id, approve=lambda _question: True)


def test_an_evening_is_accounted_for_to_the_last_message(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = site.manager("EVENING")
    manager.mqsc("DEFINE QLOCAL(APP.BOQ)\nDEFINE QLOCAL(APP) BOTHRESH(2) BOQNAME(APP.BOQ)\n")
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(site.folder / "lake"))

    def mqops(*words: str) -> Any:
        done = CliRunner().invoke(main, [*words, "--json"])
        assert done.exit_code in {0, 1}, done.output
        assert done.stdout, done.exception
        return json.loads(done.stdout)

    secret = b"evening-secret"
    to_replay = manager.put(
        DLQ, [dead_letter("BACK.AGAIN", b"%s %d" % (secret, n), dest_q_mgr="EVENING") for n in range(3)]
    )
    (short,) = manager.put(DLQ, [dead_letter("LEAVE.IT", secret, Expiry=100)])
    assert mqops("message", "replay", DLQ, "--all", "-m", "EVENING", "--dry-run")["plan"]["rows"] == 4
    (poison,) = manager.put("APP", [({}, secret)])
    assert requeued(manager, "APP") == ["redelivered", "requeued"]
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXDEPTH(4)")
    with pytest.raises(pymqi.MQMIError) as full:
        manager.put(DLQ, [dead_letter("BACK.AGAIN", b"one too many")])
    assert full.value.reason == CMQC.MQRC_Q_FULL
    everything = [*to_replay, short, poison]
    assert depths(manager) == Counter({DLQ: 4, "APP.BOQ": 1})

    let_expire(100)
    timed_out = site.run("EVENING", dry_run=False)  # nobody answers within ten seconds
    assert (timed_out.state, timed_out.tasks["act"]) == ("success", "skipped")
    assert site.summary(timed_out)["moved"] == 0
    assert "rejected by the time-out" in site.log(timed_out, "approve")
    assert site.note(timed_out).startswith("Nothing was moved: nobody answered in time, which counts as Reject.")
    until(lambda: len(manager.bodies(DLQ)) == 3)

    replay = {"action": "replay", "queue": DLQ, "where": "DESTQ(BACK.AGAIN)", "canary": 1, "canary_wait": 1}
    canary = run_of_all(site, "mq_recover", **replay)
    found = site.summary(canary)
    assert (found["balanced"], found["moved"]) == (True, 1)
    assert found["canaries"][0]["why"]
    assert depths(manager) == Counter({DLQ: 2, "BACK.AGAIN": 1, "APP.BOQ": 1})

    undone = run_of_all(site, "mq_undo", run=canary.run_id)
    assert (site.summary(undone)["balanced"], site.summary(undone)["moved"]) == (True, 1)
    assert depths(manager) == Counter({DLQ: 3, "APP.BOQ": 1})

    listed = mqops("message", "find", "APP.BOQ", "-m", "EVENING")["messages"]
    assert [one["msg_id"] for one in listed] == [poison.hex()]
    move = {"action": "move", "queue": "APP.BOQ", "message_ids": [poison.hex()], "destination": "NEW.NAME"}
    moved = run_of_all(site, "mq_recover", **move)
    assert (moved.state, site.summary(moved)["moved"]) == ("success", 1)
    assert depths(manager) == Counter({DLQ: 3, "NEW.NAME": 1})

    told = {one: mqops("ledger", "show", one.hex()) for one in everything}
    assert {one["became"] for one in told[short]["seen"]} == {"expired"}
    assert [one["action"] for one in told[poison]["events"]] == ["FWD"]
    for one in to_replay:
        assert told[one]["events"] or told[one]["seen"]
    events = [one for each in to_replay for one in told[each]["events"] if one["outcome"] == "acted"]
    assert sorted(one["action"] for one in events) == ["RETRY", "RETURN"]
    for folder in (site.folder / "lake" / "EVENING", site.client.home.folder):
        for path, content in files(folder):
            assert secret not in content or "snapshot" in path.parts, path


def pressed(approver: Any, run_id: str) -> bool:
    """Press Approve; False where Airflow could not write the answer, as another program had SQLite locked: then nothing
    is recorded, and a person presses again."""
    try:
        approver.call(
            "PATCH",
            f"/dags/mq_recover/dagRuns/{run_id}/taskInstances/approve/-1/hitlDetails",
            json={"chosen_options": ["Approve"], "params_input": {}},
        )
    except AirflowFailed as failed:
        if "Database error" not in str(failed):
            raise
        return False
    return True


def test_an_answer_within_a_second_of_its_question_counts(site: Any) -> None:
    """Airflow's scheduler fails most of these tasks: it takes the end of the process that asked for one of the process
    that has the answer. Their next try goes on with the answer."""
    manager = site.manager("EVENING")
    delays = SOON * QUICK
    queues = [f"QUICK.{number}" for number in range(len(delays))]
    manager.mqsc("\n".join(f"DEFINE QLOCAL({queue})" for queue in queues))
    for queue in queues:
        manager.put(queue, [({}, b"x")])
    site.client.wait_for_dag("mq_recover")
    site.client.unpause("mq_recover")
    one_by_one = Lock()  # SQLite, which Airflow has here, refuses writers that come at the same moment

    def answered(queue: str, delay: float) -> RunResult:
        form = {"action": "move", "queue": queue, "all_messages": True, "destination": "NEW.NAME", "dry_run": False}
        with one_by_one:
            run_id = site.as_user("operator").trigger("mq_recover", queue_manager="EVENING", **form)
        approver = site.as_user("approver")
        until(
            lambda: approver.task_instances("mq_recover", run_id)["approve"]["state"] == "awaiting_input",
            PATIENCE,
            pause=0.05,
        )
        time.sleep(delay)  # what is tested
        with one_by_one:
            until(lambda: pressed(approver, run_id), PATIENCE, pause=0.05)
        return approver.follow("mq_recover", run_id)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(answered, queues, delays))
    assert len(results) == 2 * QUICK
    for result in results:
        assert result.state == "success", result
        assert (site.summary(result)["balanced"], site.summary(result)["moved"]) == (True, 1)
        assert site.note(result).startswith(
            "EVENING: Approved by approver: 1 moved + 0 discarded + 0 left + 0 gone of 1 message."
        )
    assert {manager.depth(queue) for queue in queues} == {0}
