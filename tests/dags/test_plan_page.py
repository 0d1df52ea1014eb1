"""The page of a plan: groups, destinations, problems, the question and what became of it."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from click.testing import CliRunner
from ledger_opened import act, prove
from mq_support import DLQ, create, dead_letter, until
from runs_on_pages import DAG, QUESTION, TABLE, letters, link_of, of_dag, planned, take, task_of, undo_planned, words_of

from mqops.cli import main
from mqops.decide import counts
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.files import write_json
from mqops.lake.pruned import PRUNED
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.look.plan_view import plan_view
from mqops.rules import parse
from mqops_airflow.approval.permission import POLICY
from mqops_airflow.approval.plan_text import THIS_PLAN_ONLY
from mqops_airflow.pages import chosen
from mqops_airflow.pages import estate as estate_page
from mqops_airflow.pages import plan as plan_page


def test_a_plan_stands_beside_the_last_one_with_room_and_problems(manager, estate_folder, client):
    lake = estate_folder / "lake"
    letters(manager, "A")
    first = planned(manager, lake)
    letters(manager, "A", "FULL", "FULL")
    stop(first.lake_folder, Stop(by="carol", at="2026-11-21T12:00:00Z"))
    view = plan_view(planned(manager, lake))
    assert view.last is not None
    assert view.last.run == first.run
    assert [(one.count.dest_q, one.count.messages, one.before) for one in view.groups] == [
        ("A", 2, 1),
        ("FULL", 2, None),
    ]
    assert (view.new, view.gone) == (1, ())
    page = client("/plan", queue_manager="QM1", run=view.line.run)
    assert page.status_code == 200, page.text
    assert "room for 1 of 2 messages" in page.text
    assert THIS_PLAN_ONLY in page.text
    assert ">room for 1 of 2</span>" in page.text
    assert "1 new group, 0 groups gone" in page.text
    assert ">2026-11-21 12:00:00 UTC</time>: nothing of an approved plan is done before it is resumed" in page.text
    assert page.text.count("nothing of an approved plan is done before it is resumed") == 1
    assert '<a href="/estate?queue_manager=QM1">Resume all runs, on the estate</a>' in page.text
    assert "secret" not in page.text
    assert "xxxxxx xx 9" in page.text
    assert "A@QM1, FULL@QM1: no program has it open for input" in page.text  # once, not once a destination
    question = {"dag_id": DAG, "run_id": "r", "digest": "d", "text": "t"}
    made = RunFolder(lake / "QM1" / "runs" / view.line.run)
    write_json(made.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
    lift(made.lake_folder)
    waits = client("/run", queue_manager="QM1", run=view.line.run).text
    assert "So far nothing was moved or discarded. The plan has 4 messages, and acts on 4 of them." in waits
    assert "still on the queue" not in waits  # once for all, not once a message
    assert "<h2>What the plan would do</h2>" in waits
    assert "4 planned = 3 would be moved + 0 would be discarded + 1 would stay. 1 message would stay because" in waits
    assert 'aria-label="The plan by rule"' in waits
    (estate_folder / "qm1.rules").write_text(TABLE)
    assert ">would stay<" in client("/dead_letters", queue_manager="QM1").text  # in the chart


def test_a_plan_with_many_groups_says_how_many_it_leaves_off_and_where_their_messages_are(
    manager, estate_folder, client, monkeypatch
):
    """One is left off by the page, and one by the plan. So does the result of a dry run of chosen messages."""
    monkeypatch.setattr(chosen, "MOST", 1)
    monkeypatch.setattr(counts, "MOST_GROUPS", 2)
    monkeypatch.setattr(plan_page, "GROUPS", 1)
    letters(manager, "A", "A", "A", "FULL", "FULL", "OTHER")
    run = of_dag(planned(manager, estate_folder / "lake", text="ACTION(RETRY)\n"), "first")
    for path, query in (
        ("/plan", {"queue_manager": "QM1", "run": run.run}),
        ("/chosen", {"dag_id": DAG, "run_id": "first"}),
    ):
        page = client(path, **query).text
        assert "… and 2 more groups with 3 messages. Messages lists all messages of this plan" in words_of(page)
        assert f'<a href="/messages?queue_manager=QM1&amp;run={run.run}">Messages</a>' in page


def prune(run: RunFolder, parts: str) -> None:
    """Remove these parts of a run, as soon as it is old enough."""

    def pruned() -> bool:
        command = ["lake", "prune", "QM1", parts, "1s", "--lake", str(run.lake_folder.parent)]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        return PRUNED.exists(run)

    until(pruned, pause=0.2)


def test_a_plan_with_many_groups_whose_messages_were_pruned_says_so(manager, estate_folder, client):
    letters(manager, "A", "A", "A", *(f"OTHER{number}" for number in range(plan_page.GROUPS)))
    lake = estate_folder / "lake"
    run, _newest = (planned(manager, lake, text="ACTION(RETRY)\n") for _run in range(2))  # the newest keeps its files
    prune(run, "--snapshots")
    page = words_of(client("/plan", queue_manager="QM1", run=run.run).text)
    assert "… and 1 more group with 1 message. The snapshot of this run was removed by `mqops lake prune` at 20" in page
    assert f", for {PRUNED.read(run).by}: its messages are not shown." in page
    assert "Messages lists" not in page


def test_dead_letters_show_what_would_stay_in_the_chart_and_in_the_table(manager, estate_folder, client):
    (estate_folder / "qm1.rules").write_text(TABLE)
    letters(manager, "A", "FULL", "FULL")
    manager.put(DLQ, [({}, b"without an MQDLH")] * 3)
    run = planned(manager, estate_folder / "lake")
    dead = client("/dead_letters", queue_manager="QM1").text
    chart, _end, table = dead.partition('aria-label="Messages by reason')[2].partition("</figure>")
    assert re.search(r'messages: 3; group: no MQDLH [^"]*; part: would stay;', chart), "what stays has its bar"
    assert "messages: 1; group: MQRC_Q_FULL · FULL" in chart
    why = f'<a href="/plan?queue_manager=QM1&amp;run={run.run}">why</a>'
    assert f'<span class="badge warn">1 would stay</span>: {why}' in table


def test_destinations_are_those_of_now_only_while_somebody_is_asked(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    """Later, what the run moved is on them itself."""
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(plan_page.ANSWERS, "kept", 0.0)
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'first'""")
    letters(manager, "A", "FULL")
    run = of_dag(planned(manager, estate_folder / "lake", text="DESTQ(FULL) ACTION(RETRY)\n"), "first")
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "run": run.run})

    def page() -> str:
        return client("/plan", queue_manager="QM1", run=run.run).text.replace("<wbr>", "")

    manager.put("FULL", [({}, b"in the way")])
    for said in (f">QM1: move 1 to FULL@QM1 (of 2 messages of {DLQ})?</h1>", ">room for 0 of 1</span>", "As of <time"):
        assert said in page()
    assert "Since the plan was made: FULL@QM1: room for 0 of 1 message" in page()
    letters(manager, "A", "A", "A")
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    for address in ("/plan", "/plan/answer"):
        answer = re.sub("<[^>]*>", "", client(address, queue_manager="QM1", run=run.run).text)
        taken = r"The snapshot of this plan is \d+ s old: it was taken [^,]* UTC, with 2 messages\."
        assert re.search(rf"{taken} {DLQ} has 5 now\.", answer.replace("<wbr>", ""))
    take(manager, "FULL", 1)
    runs_of_airflow("UPDATE task_instance SET state = 'success' WHERE run_id = 'first'")
    answer = {"approved": True, "by_id": "7", "by": "olga", "at": "2026-11-21T12:00:00Z"}
    write_json(run.path.joinpath("approval.json"), {"question": QUESTION, "task_instance": "i", "answer": answer})
    act(manager.connection, run)
    prove(manager.connection, run)
    for said in (
        f">QM1: plan to move 1 to FULL@QM1 (of 2 messages of {DLQ})</h1>",
        "As they were for this plan, at <time",
    ):
        assert said in page()
    assert "Approved by olga at " in re.sub("<[^>]*>", "", client("/run", queue_manager="QM1", run=run.run).text)
    for wrong in ("room for 0", "Since the plan was made", "The snapshot of this plan is"):
        assert wrong not in page()


def test_what_was_wrong_when_the_plan_was_made_is_not_told_again(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'first'""")
    letters(manager, "UNHEARD.OF")
    run = of_dag(planned(manager, estate_folder / "lake", text="ACTION(RETRY)\n"), "first")
    page = client("/plan", queue_manager="QM1", run=run.run).text
    assert "As of <time" in page
    assert "2085" in page
    assert "Since the plan was made" not in page
    assert "There is no earlier plan of this workflow for this queue to compare with." in page


def test_a_destination_that_is_storage_misses_no_reader(manager, estate_folder, client):
    """As the pre-flight has it, which does not warn of it."""
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXDEPTH(100)\nDEFINE QLOCAL(PARKED)\n")
    manager.put("PARKED", [dead_letter("A", b"x")])
    text = f"ACTION(FWD) FWDQ({DLQ})\n"
    table = parse(text).table
    assert table
    lake = estate_folder / "lake"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text=text, queue="PARKED")
    run, _plan = plan_run(DEAD_LETTERS, request)
    page = client("/plan", queue_manager="QM1", run=run.run).text
    assert "storage: a person reads it" in page
    assert "no reader" not in page
    assert "no program has it open" not in page


def test_the_page_of_a_message_says_why_it_is_in_quarantine(tmp_path, estate_folder, client):
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(BACK)\nDEFINE QLOCAL(A) BOQNAME(BACK)\n")
    manager.mqsc("DEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    table = parse("ACTION(RETRY)", origins=True).table
    assert table
    fixed = {"connection": manager.connection, "lake": estate_folder / "lake", "table": table, "text": "ACTION(RETRY)"}
    request, msg_id, summaries = BackoutRequest(**fixed, replay_cap=1, origins=()), b"again and again".ljust(24), []
    for _ in range(2):
        manager.put("BACK", [({"MsgId": msg_id}, b"poison")])
        summaries.append(carry_out(BACKOUT, request, *plan_run(BACKOUT, request)))
    assert (manager.depth("A"), manager.depth("MQOPS.QUARANTINE")) == (1, 1)
    _first, second = (summary.run for summary in summaries)
    asked = {"queue_manager": "QM1", "run": second, "queue": "BACK", "msg_id": msg_id.hex()}
    page = " ".join(re.sub(r"<[^>]*>", "", client("/messages/one", **asked).text).split())
    assert "In quarantine on MQOPS.QUARANTINE since" in page
    assert "It had been put back 1 time and came again each time:" in page
    assert "on A by line 1 of the rules of run &#34;backed-out messages of QM1, " in page


def test_an_ambiguous_origin_is_told_with_what_moves_the_message(tmp_path, estate_folder, client):
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(BACK)\nDEFINE QLOCAL(A) BOQNAME(BACK)\n")
    manager.mqsc("DEFINE QLOCAL(B) BOQNAME(BACK)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    manager.put("BACK", [({}, b"whence")])
    text = "ACTION(RETRY)\n"
    table = parse(text, origins=True).table
    assert table
    request = BackoutRequest(connection=manager.connection, lake=estate_folder / "lake", table=table, text=text)
    run, plan = plan_run(BACKOUT, request)
    assert plan.actions == {"AMBIGUOUS": 1}
    said = "Nothing says from which queue a message came to BACK: it can be A or B, which name it as BOQNAME. A rule"
    page = client("/plan", queue_manager="QM1", run=run.run).text
    assert said in page
    assert "or mq_recover, where a person names the destination" in page
    assert '<td class="name">ambiguous</td>' in page
    link = re.search(r'href="(/messages/one\?[^"]*)"', page)
    assert link
    assert f"Its origin is ambiguous. {said}" in client(unescape(link[1])).text
    (msg_id,) = re.findall(r"msg_id=([0-9a-f]{48})", link[1])
    fixed = {"queue_manager": "QM1", "action": "move", "queue": "BACK", "message_ids": [msg_id]}
    for address in (f"/run?queue_manager=QM1&run={run.run}", unescape(link[1])):
        form = re.findall(r'data-starts="mq_recover" data-fixed="([^"]*)"', client(address, "operator").text)
        assert [json.loads(unescape(one)) for one in form] == [fixed]
        assert re.search('name="destination"[^>]* list="could-BACK-origin"', client(address, "operator").text)
        assert '<option value="A"></option><option value="B"></option>' in client(address, "operator").text
        assert "data-starts" not in client(address, "viewer").text
    words = "The form of mq_recover for messages that no rule can place"
    there = f'<a href="/run?queue_manager=QM1&run={run.run}#actions">{words}</a>'
    assert there in unescape(client("/plan", "operator", queue_manager="QM1", run=run.run).text)
    assert "#actions" not in page


def test_a_plan_with_an_ambiguous_origin_is_shown_when_its_messages_were_pruned(tmp_path, estate_folder, client):
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(BACK)\nDEFINE QLOCAL(A) BOQNAME(BACK)\n")
    manager.mqsc("DEFINE QLOCAL(B) BOQNAME(BACK)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    manager.put("BACK", [({}, b"whence")])
    table = parse("ACTION(RETRY)", origins=True).table
    assert table
    fixed = {"connection": manager.connection, "lake": estate_folder / "lake", "table": table, "text": "ACTION(RETRY)"}
    (run, plan), _newest = (plan_run(BACKOUT, BackoutRequest(**fixed)) for _run in range(2))
    assert plan.actions == {"AMBIGUOUS": 1}
    prune(run, "--plans")
    pages = {path: client(path, "operator", queue_manager="QM1", run=run.run) for path in ("/plan", "/run")}
    assert {page.status_code for page in pages.values()} == {200}, [words_of(page.text) for page in pages.values()]
    said = "The snapshot and the plan of this run were removed by `mqops lake prune` at "
    assert said in words_of(pages["/run"].text)
    assert '<td class="name">ambiguous</td>' in pages["/plan"].text
    assert "The form of mq_recover" not in pages["/plan"].text, "the page of the run has none without the plan's rows"


@pytest.mark.parametrize(("place", "shown"), [("{}/rules/t.rules", "rules/t.rules"), ("/else/t.rules", "t.rules")])
def test_a_rules_file_is_named_without_the_place_of_the_estate(manager, estate_folder, client, place, shown):
    letters(manager, "A")
    run = planned(manager, estate_folder / "lake")
    source = place.format(estate_folder)
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "table_source": source})
    (msg_id,) = re.findall("msg_id=([0-9a-f]{48})", client("/plan", queue_manager="QM1", run=run.run).text)
    message = client("/messages/one", queue_manager="QM1", run=run.run, msg_id=msg_id).text
    assert f'"What each rule of {shown} as its run read it says of it"' in message
    assert f"Rules: {shown}. Run <" in client("/plan", queue_manager="QM1", run=run.run).text
    for path in ("/plan", "/run", "/messages/one"):
        page = client(path, queue_manager="QM1", run=run.run, msg_id=msg_id).text.replace("<wbr>", "")
        assert shown in page
        assert source not in page


def test_the_question_of_an_undo_names_the_run(manager, estate_folder, client, runs_of_airflow):
    run, undo = undo_planned(manager, estate_folder / "lake")
    undo = of_dag(undo, "first")
    question = {"dag_id": "mq_undo", "run_id": "r", "digest": "d", "text": "t"}
    write_json(undo.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
    page = client("/estate", queue_manager="QM1").text.replace("<wbr>", "")
    assert f"the undo of {link_of(run)}, which puts back 1 of 1 message, waits for an approval; its snapshot is" in page
    assert "a plan waits for an answer" not in page  # no run waits for an undo
    manager.mqsc("ALTER QLOCAL(A) PUT(DISABLED)")
    _run, nothing = undo_planned(manager, estate_folder / "lake")  # of a run that left the message where it was
    page = client("/plan", queue_manager="QM1", run=nothing.run).text
    assert "There is nothing to put back: the run moved no message and discarded none." in page
    assert "There was no message on" not in page  # it is there


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("failed", r"The task approve failed: nothing of this plan is done until it is cleared\. "),
        ("upstream_failed", "Nobody is asked about this plan, because a task before approve failed."),
        ("skipped", "The task approve was skipped: nobody is asked about this plan."),
        ("success", "Nobody has answered: to mark the task approve as success approves nothing."),
        ("removed", r"Nobody is asked about this plan\.<"),
        ("none", "Nobody is asked about this plan yet."),
    ],
)
def test_a_plan_that_nobody_has_answered_says_what_became_of_its_question(  # noqa: PLR0917
    manager, estate_folder, client, runs_of_airflow, state, said
):
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "ended")
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'ended'""")
    runs_of_airflow(task_of("ended", "approve", state))
    link = f'<a href="/dags/{DAG}/runs/ended/tasks/approve" data-airflow-page>Its log in Airflow</a> says why'
    for path in ("/plan", "/plan/answer"):
        page = client(path, queue_manager="QM1", run=run.run).text
        assert re.search(said, page)
        assert (link in page) == (state == "failed")
        assert ("data-over" in page) == (path == "/plan/answer" and state != "none") or path == "/plan"
    if state == "failed":  # an approval that permits nothing
        answer = {"approved": True, "by_id": "7", "by": "olga", "at": "2026-11-21T12:00:00Z"}
        write_json(run.path.joinpath("approval.json"), {"question": QUESTION, "task_instance": "i", "answer": answer})
        page = client("/plan/answer", queue_manager="QM1", run=run.run).text
        assert "Approved by" in page
        assert "Watch the run" in page
        assert re.search(said, page)
        write_json(
            run.path.joinpath("approval.json"),
            {"question": QUESTION, "task_instance": "i", "answer": {**answer, "approved": False}},
        )
        assert "See the run" in client("/plan/answer", queue_manager="QM1", run=run.run).text


def test_a_plan_that_needs_no_answer_says_why(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "NO.RULE", "A")
    run = of_dag(planned(manager, estate_folder / "lake", text="DESTQ(B) ACTION(RETRY)\n"), "ended")
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'ended'""")
    runs_of_airflow(task_of("ended", "approve", "skipped"))
    page = client("/plan", queue_manager="QM1", run=run.run).text
    assert "Nobody is asked about this plan: it moves and discards nothing." in page
    other = of_dag(planned(manager, estate_folder / "lake"), "second")
    runs_of_airflow(task_of("second", "approve", "skipped"))
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'second'""")
    write_json(other.plan_json, {**json.loads(other.plan_json.read_text()), "run": other.run})
    act(manager.connection, other, about={"approved_by": POLICY})
    page = client("/plan", queue_manager="QM1", run=other.run).text
    assert "Nobody was asked about this plan, and the run has begun to act." in page
    prove(manager.connection, other)
    page = client("/plan", queue_manager="QM1", run=other.run).text
    assert f"Nobody was asked about this plan: {POLICY} approved it." in page
