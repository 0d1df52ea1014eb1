"""The page of a run: who may see it, hostile names, runs of Airflow without files, scans."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from ledger_opened import act, observe
from mq_support import DLQ
from runs_on_pages import DAG, HOSTILE, letters, of_dag, planned, task_of, words_of

from mqops.clock import utc_now
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.lake.stop import Stop, lift, stop
from mqops.message_checks import CheckResult, QualitySummary
from mqops_airflow.operators.quality import in_words
from mqops_airflow.pages import shared
from mqops_airflow.roles import ROLES
from mqops_airflow.runs.run_folder import run_key
from mqops_airflow.ui import views


def test_who_may_see_a_run(manager, estate_folder, client):
    letters(manager, "A")
    run = planned(manager, estate_folder / "lake", key=run_key(DAG, "manual__1"))
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": "manual__1", "found": {}})
    for path in ("/run", "/run/live", "/plan"):
        for query in ({"queue_manager": "QM1", "run": run.run}, {"dag_id": DAG, "run_id": "manual__1"}):
            assert client(path, "", **query).status_code == 401
            assert client(path, "stranger", **query).status_code == 403
            for role in ROLES:
                assert client(path, role, **query).status_code == 200, (path, role)
    assert client("/run", dag_id=DAG, run_id="none").status_code == 404
    assert client("/run", queue_manager="QM1", run="none").status_code == 404
    assert client("/run", queue_manager="QM9", run=run.run).status_code == 403
    assert client("/run", queue_manager="QM1", run="../../etc").status_code == 404


def test_a_run_of_a_dag_that_a_person_may_not_read_is_refused(manager, estate_folder, client, monkeypatch):
    from mqops_airflow.roles import RolesAuthManager  # noqa: PLC0415

    letters(manager, "A")
    run = planned(manager, estate_folder / "lake", key=run_key("mq_undo", "manual__1"))
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": "mq_undo", "run_id": "manual__1", "found": {}})
    every = RolesAuthManager.is_authorized_dag

    def but_undo(self: Any, *, details: Any = None, **asked: Any) -> bool:
        return (details is None or details.id != "mq_undo") and every(self, details=details, **asked)

    queries: list[dict[str, str]] = [
        {"queue_manager": "QM1", "run": run.run},
        {"dag_id": "mq_undo", "run_id": "manual__1"},
    ]
    assert [client("/run", **query).status_code for query in queries] == [200, 200]
    monkeypatch.setattr(RolesAuthManager, "is_authorized_dag", but_undo)
    for path in ("/run", "/run/live", "/plan"):
        assert [client(path, **query).status_code for query in queries] == [403, 403]


def test_text_of_others_never_becomes_markup(manager, estate_folder, client):
    letters(manager, "A", PutApplName=HOSTILE)
    run = planned(manager, estate_folder / "lake")
    plan = json.loads(run.plan_json.read_text())
    plan["remarks"] = [HOSTILE]
    plan["table_source"] = plan["counts"][0]["dest_q"] = plan["counts"][0]["origin_q"] = HOSTILE
    plan["table_text"] = plan["table_text"].replace("DESTQ(A)", f"USERID('{HOSTILE}')")
    write_json(run.plan_json, plan)
    for path in ("/plan", "/run", "/run/live"):
        page = client(path, "admin", queue_manager="QM1", run=run.run)
        assert page.status_code == 200, page.text
        assert HOSTILE not in page.text
        assert "<img" not in page.text
    assert "&lt;script&gt;" in client("/plan", queue_manager="QM1", run=run.run).text


def test_a_run_that_is_queued_names_the_runs_that_it_waits_for(estate_folder, client, runs_of_airflow):
    def said(run_id: str) -> str:
        answer = client("/run", dag_id=DAG, run_id=run_id)
        assert answer.status_code == 404
        return str(answer.text)

    assert "Airflow has 1 run of qm1_dlq_rules at work at a time. It starts when one of these ends." in said("second")
    link = '<a class="name" href="/run?dag_id=qm1_dlq_rules&amp;run_id=first">first</a>'
    assert f"{link}: it waits for an answer</li>" in said("second")
    assert "The run waits for its first task: Airflow starts it in a moment." in said("first")
    assert "it ended before it read a message, or they were removed.</p>" in said("ended")
    assert '<h1 class="name">The run failed: qm1_<wbr>dlq_<wbr>rules</h1>' in said("ended")
    assert '<h1 class="name">No such run</h1>' in said("none")
    assert "There is no such run, or its files were removed" in said("none")
    ways = {run_id: "data-awaited" in said(run_id) for run_id in ("first", "second", "ended", "none")}
    assert ways == {"first": True, "second": True, "ended": False, "none": False}
    runs_of_airflow("UPDATE dag SET is_paused = 1")
    assert "the DAG qm1_dlq_rules is paused" in said("second")
    runs_of_airflow("UPDATE dag SET is_paused = 0, max_active_runs = 2")
    assert "Airflow starts it in a moment" in said("second")


@pytest.mark.parametrize("state", ["success", "failed", "running", "up_for_retry"])
def test_a_run_whose_files_the_page_does_not_see_is_told_as_a_lake_that_is_not_shared(
    estate_folder, client, runs_of_airflow, state
):
    def said() -> str:
        return str(client("/run", dag_id=DAG, run_id="ended").text)

    runs_of_airflow(task_of("ended", "observe", "upstream_failed"))
    assert "it ended before it read a message" in said()
    runs_of_airflow(task_of("ended", "act", state))
    assert "its task act needs them: the lake that Airflow&#39;s API server sees is not the one of the tasks" in said()
    assert "Mount the same folder" in said()
    assert "it ended before" not in said()


def test_the_estate_says_that_it_sees_another_lake_than_the_tasks(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    monkeypatch.setattr(shared, "KEPT", 0.0)
    other = "the lake of Airflow&#39;s API server is not the one of the tasks"
    runs_of_airflow(task_of("second", "check", "success"))  # it had nothing to do
    assert other not in client("/estate").text
    runs_of_airflow(task_of("ended", "decide", "success"))
    text = client("/estate").text
    assert f"do not see the files of run ended of {DAG}, with which its tasks have worked: {other}" in text
    assert "Mount the same folder" in text
    letters(manager, "A")
    of_dag(planned(manager, estate_folder / "lake"), "ended")
    assert other not in client("/estate").text


def test_a_run_that_ended_without_files_shows_its_note_first_and_leads_back_to_its_form(
    estate_folder, client, runs_of_airflow
):
    number = "SELECT id FROM dag_run WHERE run_id = 'ended'"
    plan = views.address("plan", dag_id=DAG, run_id="a (b) c")
    note = f"check: MQOPEN on {HOSTILE} failed: [its <plan>]({plan}) and [another](javascript:x)\nand more"
    runs_of_airflow(
        "INSERT INTO dag_run_note (dag_run_id, content, created_at, updated_at) "
        f"VALUES (({number}), '{note}', '2026-11-24', '2026-11-24')"
    )
    page = client("/run", dag_id=DAG, run_id="ended").text
    link = f'<a href="/mqops/plan?dag_id={DAG}&amp;run_id=a%20%28b%29%20c">its &lt;plan&gt;</a>'
    reason = f"check: MQOPEN on &lt;script&gt;alert(1)&lt;/script&gt; failed: {link} and [another](javascript:x)</p>"
    assert page.index("<h1 ") < page.index(reason) < page.index(">and more</p>") < page.index("This run has no files")
    form = '<a href="/dead_letters?queue_manager=QM1#handle">The dead letters of QM1, with the form of this run</a>'
    assert form in page
    assert 'id="handle"' in client("/dead_letters", "operator", queue_manager="QM1").text
    assert f'href="/dags/{DAG}/runs/ended" data-airflow-page>The run in Airflow</a>' in page
    assert '<nav aria-label="MQ pages">' in page
    assert "Nothing to show yet" not in page
    assert "The run in Airflow" not in client("/run", dag_id=DAG, run_id="none").text
    scans = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n    expiry_scan: {}\n"
    (estate_folder / "estate.yaml").write_text(scans)
    runs_of_airflow("UPDATE dag_run SET dag_id = 'qm1_expiry_scan' WHERE run_id = 'ended'")
    page = client("/run", "admin", dag_id="qm1_expiry_scan", run_id="ended").text
    assert '<a href="/expiry?queue_manager=QM1">What expires on QM1</a>' in page
    for name, known in (("QM1", True), ("QM2", False)):
        conf = json.dumps({"queue_manager": name})
        runs_of_airflow(f"UPDATE dag_run SET dag_id = 'mq_recover', conf = '{conf}' WHERE run_id = 'ended'")
        page = client("/run", dag_id="mq_recover", run_id="ended").text
        assert ('<a href="/estate?queue_manager=QM1">Estate: QM1</a>' in page) is known
        assert 'href="/dags/mq_recover" data-airflow-page>' in page


def test_the_note_of_a_run_that_succeeded_and_keeps_no_files_is_shown_as_markdown(
    estate_folder, client, runs_of_airflow, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://127.0.0.1:8080")
    table = f"| condition | state |\n| --- | --- |\n| a | **fails** {HOSTILE} |"
    links = f"[page]({views.address('estate', queue_manager='QM1')}) [x](javascript:x) [y](//elsewhere/mqops/)"
    note = f"`A` of `QM1`: {links} ![z](/mqops/z)\n\n{table}"
    runs_of_airflow(
        "INSERT INTO dag_run_note (dag_run_id, content, created_at, updated_at) "
        f"VALUES ((SELECT id FROM dag_run WHERE run_id = 'ended'), '{note}', '2026-11-24', '2026-11-24')"
    )
    conf = json.dumps({"queue_manager": "QM1", "queue": "A"})
    of = f"dag_id = 'mq_trigger_explain', state = 'success', conf = '{conf}'"
    runs_of_airflow(f"UPDATE dag_run SET {of} WHERE run_id = 'ended'")
    page = client("/run", dag_id="mq_trigger_explain", run_id="ended").text
    assert '<h1 class="name">The run has ended: mq_<wbr>trigger_<wbr>explain</h1>' in page
    assert "<code>A</code> of <code>QM1</code>: " in page
    assert "<td><strong>fails</strong> &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'aria-label="Table of the note" tabindex="0"><table>' in page
    assert '<a href="/mqops/estate?queue_manager=QM1">page</a>' in page
    assert not re.search(r'href="(javascript|//)|<img|<script>alert', page)
    assert "it ended before it read a message" not in page
    assert "its DAG keeps none, or they were removed" in page
    link = '<a href="/triggers?queue_manager=QM1&amp;queue=A">All conditions of A as they are now</a>'
    assert link in page


def test_between_two_tasks_a_run_is_at_work(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "first")
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "run": run.run})
    runs_of_airflow("UPDATE task_instance SET state = NULL WHERE run_id = 'first'")
    runs_of_airflow("UPDATE dag_run SET triggering_user_name = 'olga' WHERE run_id = 'first'")

    def said() -> str:
        page = client("/run/live", dag_id=DAG, run_id="first").text
        assert "asked by olga" in page
        return re.sub(r"<[^>]*>", "", page)

    assert "at work in Airflow the run goes on to its next task: nothing was moved." in said()
    act(manager.connection, run)
    assert "at work in Airflow the run goes on to its next task." in said()
    runs_of_airflow("UPDATE dag_run SET state = 'failed' WHERE run_id = 'first'")
    assert "begun not proved: a process is at work on it, or ended too early." in said()
    runs_of_airflow("UPDATE dag_run SET triggering_user_name = NULL, run_type = 'scheduled' WHERE run_id = 'first'")
    assert "asked by its schedule" in client("/run/live", dag_id=DAG, run_id="first").text
    assert '<span class="badge quiet">not begun</span>' in client("/run/live", dag_id=DAG, run_id="first").text
    runs_of_airflow("UPDATE task_instance SET state = 'awaiting_input' WHERE run_id = 'first'")
    asks = client("/run/live", dag_id=DAG, run_id="first").text
    assert '<span class="badge warn">waits for an answer</span>' in asks


def test_that_an_approved_run_is_not_carried_out_is_a_problem(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    """As after a stop that was taken back: its act failed, and nothing was moved."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "first")
    question = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
    answer = {"approved": True, "by_id": "7", "by": "bob", "at": utc_now()}
    write_json(run.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": answer})
    with_act = task_of("first", "act", "queued")
    runs_of_airflow(with_act)

    def said() -> tuple[bool, str]:
        text = "it was approved, and it has moved nothing: nothing is at work on it"
        page = client("/run/live", dag_id=DAG, run_id="first").text
        return text in client("/estate", queue_manager="QM1").text, re.sub(r"<[^>]*>", "", page)

    found, page = said()
    assert not found
    assert "at work in Airflow the task act is on its way: nothing was moved." in page
    runs_of_airflow("UPDATE task_instance SET state = 'failed' WHERE run_id = 'first'")
    runs_of_airflow("UPDATE dag_run SET state = 'failed' WHERE run_id = 'first'")
    found, page = said()
    assert found
    assert "approved the task act failed before it moved anything." in page
    stop(run.path, Stop(by="carol", at=utc_now()))
    lift(run.path, by="bob")
    assert "approved a stop, which was taken back, ended the task act before it moved anything." in said()[1]


def test_a_run_of_a_workflow_that_makes_no_plan_is_not_waited_for_to_make_one(
    manager, estate_folder, client, runs_of_airflow
):
    letters(manager, "A")
    run = RunFolder(estate_folder / "lake" / "QM1" / "runs" / run_key(DAG, "first"))
    observe(manager.connection, run, [DLQ])
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": "first", "found": {}})
    runs_of_airflow(task_of("first", "scan", "running"))
    page = client("/run", dag_id=DAG, run_id="first").text
    assert "This workflow makes no plan." in page
    assert "Not planned yet" not in page


def test_a_quality_run_says_what_its_checks_found(manager, estate_folder, client, runs_of_airflow, monkeypatch):
    monkeypatch.setattr(shared, "KEPT", 0.0)
    letters(manager, "A")
    manager.put("A", [({}, b"x")])
    run = RunFolder(estate_folder / "lake" / "QM1" / "runs" / run_key(DAG, "ended"))
    observe(manager.connection, run, [DLQ, "A"])
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": "ended", "found": {}})

    def said(path: str = "/run/live", **query: str) -> str:
        return client(path, queue_manager="QM1", **query).text.replace("<wbr>", "")

    runs_of_airflow(task_of("ended", "quality", "running"))
    page = said(run=run.run)
    assert re.search(r"<h1 class=.name.>Quality checks of QM1, [^<]*: 2 queues</h1>", page)
    assert f'<summary>2 queues</summary><div class="name">{DLQ}</div><div class="name">A</div></details>' in page
    assert "the task quality is on its way" in page
    assert "Nothing was moved: quality checks only read." in page
    runs_of_airflow("UPDATE task_instance SET state = 'failed' WHERE task_id = 'quality'")
    assert 'bad">not checked</span> the task quality has not checked the messages: its log' in said(run=run.run)
    runs_of_airflow("UPDATE task_instance SET state = 'success' WHERE task_id = 'quality'")
    check = CheckResult(suite="s", expectation="e", expect="x", columns=(), severity="critical", met=True)
    link = f'<a href="/quality?queue_manager=QM1&amp;run={run.run}">'
    for critical, warning, state, words in (
        (1, 0, 'bad">not in order', "1 critical check is not met, in 60 messages"),
        (
            2,
            1,
            'bad">not in order',
            "2 critical checks are not met, in 120 messages; 1 warning check is not met, in 1 message",
        ),
        (0, 2, 'good">checked', "2 warning checks are not met, in 2 messages"),
        (0, 0, 'good">checked', "1 check is met, in 1,234 messages"),
    ):
        failed = {"critical": critical, "warning": warning, "info": 0}
        found = QualitySummary(run=run.run, queue_manager="QM1", queue="", found=1234, failed=failed, checks=(check,))
        messages = {"critical": 60 * critical, "warning": warning, "info": 0}
        run.quality_json.parent.mkdir(exist_ok=True)
        write_json(run.quality_json, found.to_json() | {"messages": messages})
        os.utime(run.path)  # as a check does
        note = in_words(
            Checked(QualitySummary).of(found.to_json() | {"messages": messages}, run.quality_json), "http://docs"
        )
        docs = "[Data Docs](http://docs) have each check's figures"
        assert note == f"{words}. The page Quality names the messages that failed; {docs}."
        page = said(run=run.run)
        assert f'<span class="badge {state}</span> {words}.' in page
        assert f"{link}Look at the checks</a>" in page
        assert "nothing was planned" not in page.lower()
        assert '<th scope="row">prove</th>' not in page  # it has none of these steps
        (row,) = re.findall(r"<tr>.*?quality checks of QM1.*?</tr>", said("/estate/live"), re.DOTALL)
        assert f"badge {state}</span>" in row
        short = words.partition(", in ")[0]
        assert f'{link.removesuffix(">")} title="{words}">{short}</a>' in row
    write_json(run.quality_json, found.to_json() | {"balanced": False})
    assert '<span class="badge bad">not in order</span> the counts of the checks do not add up.' in said(run=run.run)


def test_the_page_of_a_snapshot_leads_to_what_has_changed_since_the_one_before(
    manager, estate_folder, client, monkeypatch
):
    from mqops_airflow.roles import RolesAuthManager  # noqa: PLC0415

    lake = estate_folder / "lake"
    letters(manager, "A", PutApplName=HOSTILE)
    observe(manager.connection, RunFolder.at(lake, "QM1", "first"), [DLQ])
    page = client("/snapshot_diff", queue_manager="QM1", run="first")
    assert "There is no earlier snapshot of these queues" in page.text
    observe(manager.connection, RunFolder.at(lake, "QM1", "second"), [DLQ])
    letters(manager, "A", PutApplName=HOSTILE)
    observe(manager.connection, RunFolder.at(lake, "QM1", "third"), [DLQ])
    link = re.search(r'href="[^"]*/(snapshot_diff[^"]*)"', client("/run", queue_manager="QM1", run="third").text)
    assert link, "no link"
    assert "run=third" in link[1]
    page = client("/snapshot_diff", queue_manager="QM1", run="third")
    text = words_of(page.text)
    assert "1 message arrived, 0 left, 1 stayed, and of these 0 have another BackoutCount" in text
    assert "MQRC_Q_FULL" in text
    assert HOSTILE not in page.text
    assert "run=third&amp;old=first" in page.text
    same = client("/snapshot_diff", queue_manager="QM1", run="second", old="first")
    assert "No message arrived, left or was backed out" in same.text
    planned(manager, lake, key="dead-letters")
    last = client("/snapshot_diff", queue_manager="QM1", run="dead-letters")
    assert "0 messages arrived, 0 left, 2 stayed" in words_of(last.text), "a snapshot of any workflow is compared"
    assert "run=dead-letters&amp;old=second" in last.text
    other = RunFolder.at(lake, "QM1", "dead-letters")
    write_json(other.path / "handed_on.json", {"dag_id": "mq_undo", "run_id": "manual__1", "found": {}})
    planned(manager, lake, key="again")
    again = {"queue_manager": "QM1", "run": "again"}
    assert "run=again&amp;old=dead-letters" in client("/snapshot_diff", **again).text
    every = RolesAuthManager.is_authorized_dag

    def but_undo(self: Any, *, details: Any = None, **asked: Any) -> bool:
        return (details is None or details.id != "mq_undo") and every(self, details=details, **asked)

    monkeypatch.setattr(RolesAuthManager, "is_authorized_dag", but_undo)
    unseen = client("/snapshot_diff", **again).text
    assert "dead-letters" not in unseen, "a snapshot of a DAG that the person may not read"
    assert "run=again&amp;old=second" in unseen
    for asked, who, status in (("none", "admin", 404), ("first", "stranger", 403), ("first", "", 401)):
        assert client("/snapshot_diff", who, queue_manager="QM1", run="third", old=asked).status_code == status
