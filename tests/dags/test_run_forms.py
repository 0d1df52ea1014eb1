"""Which forms the page of a run has, what they say, and who may answer."""

from __future__ import annotations

import json
import re

from ledger_opened import prove
from mq_support import DLQ
from runs_on_pages import DAG, QUESTION, letters, of_dag, planned

from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, stop
from mqops_airflow.pages import estate as estate_page
from mqops_airflow.pages import shared


def test_each_form_says_whether_the_estate_asks_for_four_eyes(manager, estate_folder, client):
    """`asks`: of the workflow. mq_recover is of all queue managers: it wants them where any workflow does."""
    msg_id = manager.put(DLQ, [({}, b"raw")])[0].hex()
    run = planned(manager, estate_folder / "lake")
    told = "The estate asks for four eyes: that is another person than you."
    estate = (estate_folder / "estate.yaml").read_text()
    for asks in (False, True):
        eyes = "\n      approval: {four_eyes: true}" if asks else ""
        (estate_folder / "estate.yaml").write_text(estate.rstrip() + eyes)
        for form in (
            client("/dead_letters", "operator", queue_manager="QM1"),
            client("/run", "operator", queue_manager="QM1", run=run.run),
            client("/messages/one", "operator", queue_manager="QM1", run=run.run, queue=DLQ, msg_id=msg_id),
        ):
            assert (told in form.text) == asks
            assert "Where the estate asks" not in form.text


def test_a_dry_run_offers_the_real_one_with_the_same_form(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "ended", requested_by="olga")
    form = json.dumps({"dry_run": True, "limit": 7, "queue": None})
    runs_of_airflow(f"UPDATE dag_run SET conf = '{form}' WHERE run_id = 'ended'")
    prove(manager.connection, RunFolder(run.path))
    fixed = 'data-fixed="{&#34;dry_run&#34;: false, &#34;limit&#34;: 7, &#34;queue&#34;: null}"'
    for path in ("/run", "/run/live", "/plan"):
        page = client(path, "operator", dag_id=DAG, run_id="ended").text
        assert f'data-starts="{DAG}" {fixed}' in page.replace("&amp;#34;", "&#34;"), path
        assert "nothing is moved before somebody approves the plan" in page, path
        assert "Start the real run" not in client(path, dag_id=DAG, run_id="ended").text  # a viewer may not
    assert "asked by olga" in client("/run", dag_id=DAG, run_id="ended").text
    page = client("/plan", dag_id=DAG, run_id="ended").text
    assert "This is the plan of a dry run: nobody is asked about it" in page
    assert f'<h1 class="name">QM1: would move 1 to A@QM1 (of 1 message of {DLQ})</h1>' in page.replace("<wbr>", "")
    assert "Watch the run" not in page
    assert "task approve" not in page
    plan = json.loads(run.plan_json.read_text())
    write_json(run.plan_json, {**plan, "rules": [{**plan["rules"][0], "action": "IGNORE"}]})  # which acts on nothing
    for path in ("/run", "/plan"):
        assert "Start the real run" not in client(path, "operator", dag_id=DAG, run_id="ended").text
    write_json(run.plan_json, plan)
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'ended'""")
    for path in ("/run", "/plan"):
        assert "Start the real run" not in client(path, "operator", dag_id=DAG, run_id="ended").text
    page = client("/plan", dag_id=DAG, run_id="ended").text.replace("<wbr>", "")
    assert f'<h1 class="name">QM1: plan to move 1 to A@QM1 (of 1 message of {DLQ})</h1>' in page
    assert "See the run" in page  # which is proved
    assert "Watch the run" not in page


def test_a_real_run_that_would_wait_for_an_open_question_says_so_before_it_is_started(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    lake = estate_folder / "lake"
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(shared, "KEPT", 0.0)
    letters(manager, "A", "FULL", "FULL")
    manager.put(DLQ, [({}, b"without an MQDLH")])
    waits = of_dag(planned(manager, lake), "first")
    question = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
    write_json(waits.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
    dry = of_dag(planned(manager, lake), "ended")
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": true}' WHERE run_id = 'ended'""")
    prove(manager.connection, dry)
    link = f'<a href="/plan?queue_manager=QM1&amp;run={waits.run}">Look at that plan and its question</a>'
    pages: list[tuple[str, dict[str, str]]] = [
        *((path, {"dag_id": DAG, "run_id": "ended"}) for path in ("/run", "/run/live", "/plan")),
        ("/dead_letters", {"queue_manager": "QM1"}),
    ]

    def said() -> list[bool]:
        found = [client(path, "operator", **query).text.replace("<wbr>", "") for path, query in pages]
        assert all("Start the real run" in page for page in found)
        for page in found:
            if link in page:
                assert f'<span class="name">{DLQ}</span> waits for an answer' in page
                assert page.index(link) < page.index("Start the real run")
                assert page.count(link) == 1, "not again above the form for the message without an MQDLH"
        assert 'id="move-' in found[0]
        return [link in page for page in found]

    def on_estate() -> list[bool]:
        """Whether its question says so, and the row of the queue, which has a link to the plan."""
        page = client("/estate", queue_manager="QM1").text.replace("<wbr>", "")
        row = page.split(f'id="queue-QM1-{DLQ}"')[1].split("</tr>")[0]
        plan = f'<a href="/plan?queue_manager=QM1&amp;run={waits.run}">a plan waits for an answer</a>'
        question = "Until it is answered, a real run of dlq_rules or mq_recover on this queue plans nothing."
        assert ("which acts on 3 of 4 messages, waits for an approval; its snapshot is" in page) == (question in page)
        _line, _more, folded = page.partition(f'<details id="do-needs-NOW-QM1-{waits.run}"')
        stay = "<p>1 message of these would stay, as the destinations were when the plan was made.</p>"
        assert [stay in folded.partition("</details>")[0]] == [question in page]
        assert (question in folded.partition("</details>")[0]) == (question in page)
        assert ("<strong>1</strong> open question<" in page) == (question in page)
        return [question in page, f"{plan}: until then a real run plans nothing" in row]

    assert said() == [True] * 4
    assert on_estate() == [True] * 2
    stopped = "The run is stopped: nothing that is approved is done before it is resumed."
    assert stopped not in client("/estate", queue_manager="QM1").text
    stop(waits.path, Stop(by="carol", at="2026-11-21T12:00:00Z"))  # its question stays open
    assert said() == [True] * 4
    assert on_estate() == [True] * 2
    assert stopped in client("/estate", queue_manager="QM1").text
    runs_of_airflow("UPDATE task_instance SET state = 'skipped' WHERE run_id = 'first'")  # rejected or timed out
    assert said() == [False] * 4
    assert on_estate() == [False] * 2


def test_a_run_that_waits_says_who_may_answer_and_where(manager, estate_folder, client, runs_of_airflow, monkeypatch):
    letters(manager, "A", "NO.RULE")
    monkeypatch.setattr(shared, "KEPT", 0.0)
    run = of_dag(planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n"), "first")
    write_json(run.path.joinpath("approval.json"), {"question": QUESTION, "task_instance": "i", "answer": None})
    runs_of_airflow("UPDATE task_instance SET trigger_timeout = '2026-11-24 20:00:00' WHERE run_id = 'first'")
    runs_of_airflow("UPDATE dag_run SET triggering_user_name = 'Operator' WHERE run_id = 'first'")
    address = f'<a href="/plan?queue_manager=QM1&amp;run={run.run}">Look at the plan'

    def said(role: str) -> str:
        found = []
        link = f"{address}{' and answer' if role == 'approver' else ''}</a>"
        for path in ("/run/live", "/estate/live", "/plan/answer"):
            page = client(path, role, queue_manager="QM1", run=run.run).text.replace("<wbr>", "")
            assert (link in page) == (path != "/plan/answer"), (path, role)
            if path == "/estate/live":
                assert (
                    f'the plan of dlq_rules for <span class="name">{DLQ}</span>, which acts on 1 of 2 messages, '
                    in page
                )
                assert page.index("Question:</strong>") < page.index("Problem:</strong>")
            question = page.split("A person with")[1].split("</p>")[0].replace(link, "")
            found.append(" ".join(re.sub(r"<[^>]*>", "", f"A person with{question}").split()))
        assert found[0] == found[1] == found[2]
        buttons = re.findall(r'<button type="submit" value="(\w+)"', page)
        return f"{found[0]} {'|'.join(buttons)}".strip()

    anybody = (
        "the role approver or admin in Airflow can answer until 2026-11-24 20:00:00 UTC; no answer is a rejection."
    )
    assert said("approver") == f"A person with {anybody} Approve|Reject"
    assert said("viewer") == f"A person with {anybody} You may not answer."
    eyes = "    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}\n"
    (estate_folder / "estate.yaml").write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n{eyes}")
    for path in ("/estate/live", "/plan/answer"):
        assert re.search(
            r'Asked by <span class="name">Operator</span>\.\s+A person with',
            client(path, queue_manager="QM1", run=run.run).text,
        )
    not_he = "The estate asks for four eyes: Operator started the run and may not approve"
    assert said("approver") == f"A person with {anybody} {not_he} it. Approve|Reject"
    runs_of_airflow("UPDATE dag_run SET triggering_user_name = 'Approver' WHERE run_id = 'first'")
    assert said("approver").endswith("That is you: you may reject it, and another person must approve it. Reject")
    runs_of_airflow("UPDATE dag_run SET triggering_user_name = NULL WHERE run_id = 'first'")
    assert said("approver") == f"A person with {anybody} Approve|Reject"  # a schedule started it
    runs_of_airflow("UPDATE dag_run SET run_type = 'scheduled' WHERE run_id = 'first'")
    assert 'Asked by <span class="name">its schedule</span>. ' in client("/estate/live", queue_manager="QM1").text
    viewer = re.sub("<[^>]*>", "", client("/estate/live", queue_manager="QM1").text)
    assert re.search(r"old\.\s+Look at the plan", viewer)
    assert "You may not answer." in viewer
    runs_of_airflow("UPDATE task_instance SET state = 'failed' WHERE run_id = 'first'")
    assert address not in client("/run/live", queue_manager="QM1", run=run.run).text
