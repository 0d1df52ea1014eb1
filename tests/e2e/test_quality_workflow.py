"""The data quality workflow by real Airflow, real Spark and the embedded queue manager, as an operator runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx
import pyarrow.parquet as pq
import pytest
from mq_support import DLQ, dead_letter

from mqops_demo.airflow_client import RunResult

WORKFLOW = "snapshot_quality"
TASKS = ("check", "observe", "quality", "report")
TEXT = {"Format": "MQSTR", "CodedCharSetId": 1208}
SECRET = b"TOPSECRET-4711"


def run(site: Any, name: str, **params: Any) -> RunResult:
    dag_id, run_id = site.trigger(name, workflow=WORKFLOW, **params)
    result: RunResult = site.client.follow(dag_id, run_id)
    return result


def states(result: RunResult) -> str:
    """The tasks' last states in the order of the workflow: Success, Failed, sKipped, Upstream failed."""
    letters = {"success": "S", "failed": "F", "skipped": "K", "upstream_failed": "U"}
    return "".join(letters[result.tasks[task]] for task in TASKS)


def summary_of(site: Any, result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = site.client.xcom(result.dag_id, result.run_id, "report")
    return found


@pytest.fixture(scope="module")
def manager(site: Any) -> Any:
    made = site.manager("QUALITY")
    made.mqsc("DEFINE QLOCAL(PAYMENTS.IN)\nDEFINE QLOCAL(CLOSED)\nDEFINE QLOCAL(FEED)\n")
    return made


def test_without_messages_the_run_ends_before_a_jvm_starts(site: Any, manager: Any) -> None:
    result = run(site, "QUALITY")
    assert (result.state, states(result)) == ("success", "SKKK")
    assert "Nothing to do" in site.log(result, "check")


def test_without_messages_a_suite_that_expects_some_is_not_met(site: Any, manager: Any) -> None:
    """As `mqops quality check` finds it in a snapshot of the empty queue; so does a suite that fits no queue."""
    suites = ["expectations/expected.yaml", "dead_letters.yaml"]
    result = run(site, "QUALITY", queues=["FEED"], suites=suites)
    assert (result.state, states(result)) == ("failed", "FUUU")
    note = site.note(result)
    assert note.startswith("2 critical checks are not met")
    assert "critical: expected.some: found 0 (the feed has stopped)" in site.log(result, "check")
    assert "suite dead_letters: looked at no message: no queue that was looked at fits *DEAD* or *.DLQ" in note
    page = site.client.page("/mqops/quality?queue_manager=QUALITY").text.replace("<wbr>", "")
    assert "expected.some</th>" in page
    assert "looked at no message: no queue that was looked at fits *DEAD* or *.DLQ" in page


def test_warnings_are_told_and_the_run_succeeds(site: Any, manager: Any) -> None:
    manager.put("PAYMENTS.IN", [(TEXT, b'{"secret": "%s"}' % SECRET)] * 3 + [({**TEXT, "Format": "PAYM"}, SECRET)])
    manager.put(DLQ, [dead_letter("PAYMENTS.IN", SECRET, CodedCharSetId=1208)])
    before = [manager.messages(queue) for queue in ("PAYMENTS.IN", DLQ)]
    result = run(site, "QUALITY")
    assert (result.state, states(result)) == ("success", "SSSS")
    document = summary_of(site, result)
    assert {key: document[key] for key in ("workflow", "found", "done", "left", "balanced")} == {
        "workflow": WORKFLOW,
        "found": 5,
        "done": 4,
        "left": 1,
        "balanced": True,
    }
    assert document["failed"] == {"critical": 0, "warning": 1, "info": 0}
    log = site.log(result, "report")
    assert "warning: messages.format_known: 1 of 5 messages" in log
    assert "PAYMENTS.IN: found 4 = good 3 + with findings 1" in log
    assert Path(document["docs"]).is_file()
    assert_the_data_docs_are_found(site, result)
    assert [manager.messages(queue) for queue in ("PAYMENTS.IN", DLQ)] == before  # law: looking changes nothing
    events = site.client.call("GET", "/assets/events", params={"order_by": "-timestamp", "limit": 50})["asset_events"]
    report = next(event for event in events if event["name"] == "quality_snapshot_quality_report")
    assert report["extra"]["left"] == 1


def assert_the_data_docs_are_found(site: Any, result: RunResult) -> None:
    """By the task's link and by the run's note; shown to who may see the task's log, and to nobody else."""
    row = f"/dags/{result.dag_id}/dagRuns/{result.run_id}/taskInstances/report/links"
    address = site.client.call("GET", row)["extra_links"]["Data Docs"]
    assert site.note(result).startswith("1 warning check is not met, in 1 message. ")
    assert f"[Data Docs]({address})" in site.note(result)
    first = site.as_user("viewer").page(address)
    assert first.status_code == 200
    assert "script-src" not in first.headers["content-security-policy"]
    assert "default-src 'none'" in first.headers["content-security-policy"]
    (found,) = re.findall(r'href="(validations/messages/[^"]+)"', first.text)
    assert "format_known (warning)" in site.client.page(urljoin(address, found)).text
    nobody = httpx.Client()
    assert nobody.get(address).status_code == 401
    assert nobody.get(urljoin(address, found)).status_code == 401
    other = address.replace("quality_snapshot_quality", "badsuite_snapshot_quality")
    assert site.client.page(other).status_code == 404
    for outside in ("../quality.json", "..%2Fquality.json", "%2E%2E/quality.json", "%2Fetc%2Fpasswd"):
        assert site.client.page(address.replace("index.html", outside)).status_code == 404, outside


def test_a_critical_failure_fails_the_run_and_the_table_says_which_message(site: Any, manager: Any) -> None:
    (empty,) = manager.put("PAYMENTS.IN", [(TEXT, b"")])
    result = run(site, "QUALITY")
    assert (result.state, states(result)) == ("failed", "SSSF")
    log = site.log(result, "report")
    assert "QualityFailed" in log
    assert "critical: messages.body_not_empty: 1 of 6 messages" in log
    document = summary_of(site, result)  # the report is there although the run failed
    rows = pq.read_table(document["failures"]).to_pylist()
    assert [row["msg_id"] for row in rows if row["expectation"] == "body_not_empty"] == [empty.hex()]
    page = site.client.page("/mqops/quality?queue_manager=QUALITY").text.replace("<wbr>", "")
    assert "messages.body_not_empty</th>" in page
    assert "1 of 6</td>" in page
    assert f"queue=PAYMENTS.IN&amp;msg_id={empty.hex()}" in page
    assert "Data Docs of this run" in page
    assert SECRET.decode() not in page
    page = site.client.page(f"/mqops/run?{urlencode({'dag_id': result.dag_id, 'run_id': result.run_id})}").text
    assert ": 2 queues</h1>" in page
    assert (
        'bad">not in order</span> 1 critical check is not met, in 1 message; 1 warning check is not met, in 1 message.'
        in page
    )
    for task in TASKS:
        assert SECRET.decode() not in site.log(result, task)
    for path in Path(document["failures"]).parent.rglob("*"):
        assert not path.is_file() or SECRET not in path.read_bytes()


def test_the_form_chooses_queues_and_closed_ones_are_told(site: Any, manager: Any) -> None:
    manager.put("CLOSED", [(TEXT, b"x")])
    manager.put("PAYMENTS.IN", [(TEXT, b"x")] * 3)
    manager.mqsc("ALTER QLOCAL(CLOSED) GET(DISABLED)\n")
    result = run(
        site, "QUALITY", queues=["PAY*", "CLOSED"], suites=["expectations/expected.yaml", "dead_letters.yaml"], limit=2
    )
    assert (result.state, states(result)) == ("failed", "SSSF")  # nothing that it looks at is a dead-letter queue
    assert "CLOSED is not looked at: GET(DISABLED)" in site.log(result, "check")
    document = summary_of(site, result)
    assert (document["queue"], document["found"]) == ("PAYMENTS.IN", 2)
    assert document["suites"] == ["expected", "dead_letters"]
    unseen = [one for one in document["checks"] if one["suite"] == "dead_letters"]
    assert {one["skipped"] for one in unseen} == {
        "looked at no message: no queue that was looked at fits *DEAD* or *.DLQ"
    }
    assert "suite dead_letters: no queue fits *DEAD*" in document["told"]
    assert "CLOSED is not checked: it could not be read (GET(DISABLED))" in document["told"]
    assert "CLOSED is not checked" in site.note(result)


def test_an_unknown_queue_and_a_broken_suite_are_told_by_name(site: Any, manager: Any) -> None:
    result = run(site, "QUALITY", queues=["NO.SUCH.QUEUE"])
    assert (result.state, states(result)) == ("failed", "FUUU")
    assert "on NO.SUCH.QUEUE failed: MQRC_UNKNOWN_OBJECT_NAME (2085)" in site.log(result, "check")
    site.manager("BADSUITE")
    result = run(site, "BADSUITE")
    assert (result.state, states(result)) == ("failed", "FUUU")
    log = site.log(result, "check")
    assert "bad.yaml:3: expectations.0.column: there is no column 'bdy'" in log
    assert "bad.yaml:4: expectations.1.expect: is required" in log


def test_a_snapshot_of_a_queue_is_an_event_of_its_asset(site: Any, manager: Any) -> None:
    manager.mqsc("DEFINE QLOCAL(CHOSEN)\n")
    manager.put("CHOSEN", [(TEXT, b"good"), (TEXT, SECRET), ({}, b"no text")])
    dag_id, run_id = site.trigger("QUALITY", workflow="snapshot")
    result = site.client.follow(dag_id, run_id)
    assert (result.state, result.tasks) == ("success", {"check": "success", "observe": "success"})
    events = site.client.call("GET", "/assets/events", params={"order_by": "-timestamp", "limit": 50})["asset_events"]
    (taken,) = (event for event in events if event["uri"] == "x-mqops://quality/snapshot/snapshot")
    assert (taken["extra"]["messages"], taken["extra"]["queue_manager"]) == (3, "QUALITY")


def test_an_approver_reads_what_the_gate_holds_back_and_it_goes_to_quarantine(site: Any, manager: Any) -> None:
    asked: list[str] = []
    site.client.wait_for_dag("mq_recover")
    site.client.unpause("mq_recover")
    form = {"queue_manager": "QUALITY", "action": "move", "queue": "CHOSEN", "all_messages": True}
    operator = site.as_user("operator")  # mq_recover asks for four eyes
    run_id = operator.trigger("mq_recover", **form, destination="BACK.AGAIN", dry_run=False)
    result = site.client.follow("mq_recover", run_id, approve=lambda question: not asked.append(str(question)))
    assert result.state == "success"
    assert "1 message to NEW.NAME: orders:small" in asked[0].replace("\\", "").replace("`", "")
    assert SECRET.decode() not in asked[0]
    assert any("the gate of CHOSEN" in line and "1 message left: orders:text" in line for line in site.told())
    proved = site.client.xcom("mq_recover", run_id, "prove")
    assert (proved["moved"], proved["left"], proved["balanced"]) == (2, 1, True)
    assert (manager.bodies("BACK.AGAIN"), manager.bodies("NEW.NAME")) == ([b"good"], [SECRET])
    assert manager.depth("CHOSEN") == 1
