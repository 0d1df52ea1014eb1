"""Backout reprocessing and the expiry scan by real Airflow, real Spark and the embedded queue manager."""

from __future__ import annotations

from typing import Any

import pytest
from mq_support import Manager, let_expire
from pymqi import CMQC

from mqops.poison_consumer import PoisonAwareConsumer
from mqops_demo.airflow_client import RunResult

BACKOUT = ("check", "observe", "decide", "route", "approve", "act", "prove")
EXPIRY = ("check", "scan", "report")
LETTERS = {"success": "S", "failed": "F", "skipped": "K", "upstream_failed": "U"}


def states(result: RunResult, tasks: tuple[str, ...]) -> str:
    """The tasks' last states in the order of the workflow: Success, Failed, sKipped, Upstream failed."""
    return "".join(LETTERS[result.tasks[task]] for task in tasks)


def run(site: Any, name: str, workflow: str, *, approve: bool | None = None, **params: Any) -> RunResult:
    dag_id, run_id = site.trigger(name, workflow=workflow, **params)
    answer = None if approve is None else lambda _question: bool(approve)
    result: RunResult = site.client.follow(dag_id, run_id, approve=answer)
    return result


def with_queues(site: Any, name: str, **queues: str) -> Manager:
    """The queue manager with these queues, empty, whatever the tests before have left there."""
    made: Manager = site.manager(name)
    made.mqsc(
        "".join(f"DEFINE QLOCAL({queue}) REPLACE {how}\nCLEAR QLOCAL({queue})\n" for queue, how in queues.items())
    )
    return made


@pytest.fixture
def backout(site: Any) -> Manager:
    queues = {
        "IN": "BOTHRESH(1) BOQNAME(IN.BOQ)",
        "IN.BOQ": "",
        "WRONG": "BOTHRESH(2)",
        "ONE": "BOTHRESH(1) BOQNAME(BOTH.BOQ)",
        "TWO": "BOTHRESH(1) BOQNAME(BOTH.BOQ)",
        "BOTH.BOQ": "",
        "NEW.NAME": "",
    }
    return with_queues(site, "BACKOUT", **queues)


@pytest.fixture
def expiry(site: Any) -> Manager:
    return with_queues(site, "EXPIRY", **dict.fromkeys(("A", "B", "REPORTS"), ""))


def fail_all(manager: Manager) -> None:
    """An application that bears nothing."""

    def fail(_delivery: object) -> None:
        raise ValueError

    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:
        list(consumer.run(fail))


def test_P11_empty_backout_queues_end_the_run_without_a_jvm(site: Any, backout: Manager) -> None:
    result = run(site, "BACKOUT", "backout_reprocess", dry_run=False)
    assert (result.state, states(result, BACKOUT)) == ("success", "SKKKKKK")
    assert "misconfigured: WRONG: BOTHRESH(2)" in site.log(result, "check")


def test_P08_K08_backed_out_messages_go_back_and_beyond_the_cap_to_quarantine(site: Any, backout: Manager) -> None:
    bodies = [b"order %03d" % number for number in range(40)]
    backout.put("IN", [({}, body) for body in bodies])
    backout.put("BOTH.BOQ", [({}, b"whose am I?")])
    fail_all(backout)
    assert backout.bodies("IN.BOQ") == bodies
    result = run(site, "BACKOUT", "backout_reprocess", approve=True, dry_run=False)
    assert (result.state, states(result, BACKOUT)) == ("success", "SSSSSSS")
    summary = site.summary(result)
    assert {name: summary[name] for name in ("planned", "moved", "left", "balanced")} == {
        **{"planned": 41, "moved": 40, "left": 1, "balanced": True},
    }
    ambiguous, misconfigured = sorted(summary["remarks"])
    assert ambiguous.startswith("BOTH.BOQ: 1 message of ambiguous origin. This row would decide, ")
    assert misconfigured.startswith(
        "misconfigured: WRONG: BOTHRESH(2) BOQNAME( ): no backout queue: poisonous messages go to the dead-letter queue"
        ". To mend it: "
    )
    assert (backout.bodies("IN"), backout.bodies("BOTH.BOQ")) == (bodies, [b"whose am I?"])
    fail_all(backout)
    again = run(site, "BACKOUT", "backout_reprocess", approve=True, dry_run=False)
    assert (again.state, site.summary(again)["moved"]) == ("success", 40)
    assert (backout.bodies("NEW.NAME"), backout.depth("IN"), backout.depth("IN.BOQ")) == (bodies, 0, 0)


def test_unknown_backout_queue_is_told(site: Any, backout: Manager) -> None:
    backout.put("BOTH.BOQ", [({}, b"whose am I?")])
    result = run(site, "BACKOUT", "backout_reprocess", queues=["NO.SUCH"])
    assert (result.state, states(result, BACKOUT)[0]) == ("failed", "F")
    assert "NO.SUCH of BACKOUT failed: MQRC_UNKNOWN_OBJECT_NAME" in site.log(result, "check")
    assert backout.bodies("BOTH.BOQ") == [b"whose am I?"]


def test_E16_expiry_scan_discards_what_has_expired_and_then_has_nothing_to_do(site: Any, expiry: Manager) -> None:
    manager = expiry
    wants = {"Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "REPORTS"}
    manager.put("A", [({"Expiry": 1, **wants}, b"x")] * 6 + [({}, b"stays")] * 4)
    manager.put("B", [({"Expiry": 36_000}, b"later")])
    let_expire(1)
    result = run(site, "EXPIRY", "expiry_scan")
    assert (result.state, states(result, EXPIRY)) == ("success", "SSS")
    document = site.client.xcom(result.dag_id, result.run_id, "report")
    assert {name: document[name] for name in ("found", "done", "left", "balanced")} == {
        **{"found": 11, "done": 6, "left": 5, "balanced": True},
    }
    assert "A: there 10 = discarded 6 + left 4 + in flight 0; next expires none" in site.log(result, "report")
    assert site.note(result) == "2 queues: 11 messages found = 6 discarded because expired + 5 left."
    assert (manager.depth("A"), manager.depth("B"), manager.depth("REPORTS")) == (4, 1, 6)
    manager.mqsc("CLEAR QLOCAL(REPORTS)\n")
    again = run(site, "EXPIRY", "expiry_scan")
    assert (again.state, states(again, EXPIRY)) == ("success", "SKK")
    assert "Nothing to do" in site.log(again, "check")


def test_E18_refresh_by_hand(site: Any, expiry: Manager) -> None:
    expiry.put("B", [({"Expiry": 1}, b"gone"), ({"Expiry": 36_000}, b"later")])
    expiry.put("A", [({"Expiry": 1}, b"not named")])
    let_expire(1)
    site.client.wait_for_dag("mq_refresh_expiry")
    site.client.unpause("mq_refresh_expiry")
    run_id = site.client.trigger("mq_refresh_expiry", queue_manager="EXPIRY", name="B*")
    result = site.client.follow("mq_refresh_expiry", run_id)
    assert result.state == "success"
    document = site.client.xcom("mq_refresh_expiry", run_id, "refresh")
    assert (document["by"], document["queue"], document["found"], document["done"], document["left"]) == (
        "scan",
        "B",
        2,
        1,
        1,
    )


def test_T09_the_note_of_a_run_explains_why_a_queue_does_not_trigger(site: Any) -> None:
    with_queues(site, "EXPIRY", TRIGGERED="NOTRIGGER INITQ(IQ) PROCESS(P)", IQ="")
    site.client.wait_for_dag("mq_trigger_explain")
    site.client.unpause("mq_trigger_explain")
    run_id = site.client.trigger("mq_trigger_explain", queue_manager="EXPIRY", queue="TRIGGERED")
    result = site.client.follow("mq_trigger_explain", run_id)
    assert result.state == "success"
    assert "| T09 | **fails** | `NOTRIGGER` | `ALTER QLOCAL(TRIGGERED) TRIGGER` |" in site.note(result).split("\n")
    assert site.client.xcom("mq_trigger_explain", run_id, "explain")["would_trigger"] is False
