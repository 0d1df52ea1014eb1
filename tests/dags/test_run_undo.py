"""The page of a run that was undone, and of an undo."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pymqi
import pytest
from ledger_opened import act, act_undo, look, prove
from mq_support import DLQ
from pymqi import CMQC
from runs_on_pages import DAG, letters, of_dag, planned, take, undo_planned, words_of

from mqops.clock import utc_now
from mqops.deciders.message_load import MESSAGE_LOAD, LoadRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.errors import Stopped
from mqops.lake.files import write_json
from mqops.lake.stop import Stop, stop
from mqops.look.run_row import run_line
from mqops.look.run_view import latest_view
from mqops.look.words.state import RunState


def test_an_undo_that_was_not_begun_tells_what_is_gone_from_where_it_would_take_it(manager, estate_folder, client):
    letters(manager, "A")
    run, _undo = undo_planned(manager, estate_folder / "lake")
    take(manager, "A", 1)
    request = UndoRequest(connection=manager.connection, lake=estate_folder / "lake", undoes=run)
    undo, plan = plan_run(UNDO, request)
    assert plan.actions == {"CONSUMED": 1, "RETURN": 1}
    prove(manager.connection, undo)
    page = client("/run", queue_manager="QM1", run=undo.run).text
    assert "is gone" not in page  # it was when the undo was planned
    assert "<td>gone</td>" not in page
    assert "<h3>1 message would not be put back</h3>" in page
    assert "<li>1 would not be put back (it was consumed where it had gone)</li>" in page
    take(manager, "A", 1)
    prove(manager.connection, undo)
    page = client("/run", queue_manager="QM1", run=undo.run).text
    assert "</time>: 1 is gone: another program took it, or it expired. <a" in page
    assert page.count("<td>gone</td>") == 1
    assert "<h3>1 message would not be put back, 1 is gone</h3>" in page


def test_a_stopped_undo_says_where_the_messages_are_whose_turn_has_not_come(manager, estate_folder, client):
    """What its run discarded is on no queue; what its run moved is where it was put."""
    lake = estate_folder / "lake"
    letters(manager, "NO", "A", "A", "NO", "NO")
    run = planned(manager, lake, text="DESTQ(NO) ACTION(DISCARD)\nDESTQ(A) ACTION(RETRY)\n")
    act(manager.connection, run)
    prove(manager.connection, run)
    undo, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=lake, undoes=run))

    def halting() -> datetime:
        stop(undo.path, Stop(by="carol", at=utc_now()))
        return datetime.now(UTC)

    with pytest.raises(Stopped):
        act_undo(manager.connection, undo, unit_size=1, now=halting)
    prove(manager.connection, undo)
    assert (manager.depth("A"), manager.depth(DLQ)) == (2, 1)
    page = client("/run", queue_manager="QM1", run=undo.run).text
    reasons = page.split("4 messages are not put back</h3>")[1].split("</ul>")[0]
    assert sorted(re.findall("<li>(.*?)</li>", reasons)) == [
        "2 not put back yet (its turn has not come: it is where the run that is undone put it)",
        "2 not put back yet (its turn has not come: the run that is undone discarded it, so it is on no queue; the "
        "lake has it)",
    ]
    listed = page.split("4 messages are not put back</h3>")[1].split("<h2>Steps")[0]
    assert "The same in all 4 rows. Became: not put back yet." in listed
    assert "still on the queue" not in page


def test_a_look_that_was_before_the_proof_of_the_undo_says_so(manager, estate_folder, client):
    """A run of more messages than are looked for of itself is looked at by a person only."""
    run, undo = undo_planned(manager, estate_folder / "lake")
    look(manager.connection, run)
    later = "Its undo was proved after that, at <time"

    def page() -> str:
        return client("/run", queue_manager="QM1", run=run.run).text.split("<h3>Later</h3>")[1]

    assert "<li>1 message is still where the run put it</li>" in page()
    assert later not in page()
    act_undo(manager.connection, undo, unit_size=10)
    assert later not in page()
    prove(manager.connection, undo)
    assert later in page()
    assert f"mqops ledger outcomes {run.run} -m QM1 Copy looks again" in words_of(page())
    look(manager.connection, run)
    assert "<li>1 message came back to the queue that it was taken from</li>" in page()
    prove(manager.connection, undo)
    assert later not in page(), "what came back is not looked for again"


def test_an_undo_is_offered_again_as_long_as_messages_were_hidden(manager, estate_folder, client):
    """Rule 4 of `mqops.undo`: a later undo puts them back."""
    lake = estate_folder / "lake"
    letters(manager, "A", "A")
    run = planned(manager, lake)
    act(manager.connection, run)
    prove(manager.connection, run)
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=run)

    def undone() -> Any:
        undo, plan = plan_run(UNDO, request)
        carry_out(UNDO, request, undo, plan)
        assert run_line(undo).state is RunState.DONE
        return plan.actions, "Undo this run" in client("/run", "operator", queue_manager="QM1", run=run.run).text

    with manager.connected() as application:
        handle = pymqi.Queue(application, "A", CMQC.MQOO_INPUT_SHARED)
        handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        assert undone() == ({"HIDDEN": 1, "RETURN": 1}, True)
        application.backout()
        handle.close()
    assert undone() == ({"RETURN": 1, "UNDONE": 1}, False)


def test_an_undo_is_offered_again_where_its_markers_name_messages_as_left(manager, estate_folder, client):
    lake = estate_folder / "lake"
    run, undo = undo_planned(manager, lake)
    act_undo(manager.connection, undo, unit_size=10)
    prove(manager.connection, undo)
    assert "Undo this run" not in client("/run", "operator", queue_manager="QM1", run=run.run).text
    summary = json.loads(undo.path.joinpath("summary.json").read_text())
    write_json(undo.path.joinpath("summary.json"), {**summary, "left_because": {"why": 1}})
    assert "Undo this run" in client("/run", "operator", queue_manager="QM1", run=run.run).text


def test_only_an_undo_that_was_begun_undoes_a_run(manager, estate_folder, client):
    """A plan of it, which is all that a dry run makes, puts nothing back."""
    run, undo = undo_planned(manager, estate_folder / "lake")
    assert latest_view(run).undos == ()
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "Undo this run" in page
    assert f'put nothing back: <a class="name" href="/run?queue_manager=QM1&amp;run={undo.run}"' in page
    assert "(planned only: nothing was moved)" in page
    page = client("/run", queue_manager="QM1", run=undo.run).text.replace("<wbr>", "")
    assert re.search("<title>Undo of QM1, [^<]*: ", page)
    assert "It undoes <a" in page
    assert re.search(r"<h1 class=.name.>Undo of QM1, [^<]*: ", page)
    act_undo(manager.connection, undo, unit_size=10)
    assert latest_view(run).undos == (
        (undo.run, "begun and not proved: a process is at work on it, or ended too early; 1 of 1 put back"),
    )
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "Its undo is <a" in page
    assert "It is undone by" not in page
    prove(manager.connection, undo)
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "It is undone by" in page
    assert "Its undo is" not in page
    assert "not begun" not in page
    assert "Undo this run" not in page


def test_a_dry_run_of_an_undo_does_not_count_as_put_back_what_its_queue_does_not_take(manager, estate_folder, client):
    letters(manager, "A")
    run, _undo = undo_planned(manager, estate_folder / "lake", text="ACTION(RETRY)\n")
    manager.mqsc(f"ALTER QLOCAL({DLQ}) PUT(DISABLED)")
    undo, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=estate_folder / "lake", undoes=run))
    prove(manager.connection, undo)
    words = words_of(client("/run", queue_manager="QM1", run=undo.run).text)
    assert "2 planned = 0 would be put back + 2 would not be put back. 2 messages would not be put back beca" in words
    assert "2 would not be put back (the destination has PUT(DISABLED))" in words
    assert act_undo(manager.connection, undo).moved == 0


def test_a_dry_run_of_an_undo_says_what_it_would_put_back(manager, estate_folder, client):
    letters(manager, "WORTHLESS")
    text = "DESTQ(A) ACTION(RETRY)\nDESTQ(WORTHLESS) ACTION(DISCARD)\n"
    run, undo = undo_planned(manager, estate_folder / "lake", text=text)
    assert latest_view(run).story.recorded == {"moved": 1, "discarded": 1, "failed": 0}
    prove(manager.connection, undo)  # as the last task of a dry run
    page = client("/run", queue_manager="QM1", run=undo.run).text
    planned = "1 message to put back from the lake (RESTORE): the run discarded them; 1 message to bring back"
    assert f"Nothing was put back. The undo has planned: {planned} from where the run put them (RETURN)" in page
    assert "<h2>What the undo would do</h2>" in page
    assert "<p>2 planned = 2 would be put back + 0 would not be put back.</p>" in page
    chart = page.split('aria-label="What the plan would do with')[1].split("</figure>")[0]
    assert "part: would be put back" in chart
    assert re.search('<th class="number"[^>]*>Would be put back</th>', page)
    assert "would be moved" not in page
    assert "discarded</th>" not in page
    assert "<td>undo: RETURN</td>" in page
    assert "no rule" not in page
    assert "still on the queue" not in page
    assert "no rule" not in client("/plan", queue_manager="QM1", run=undo.run).text


def test_the_real_run_after_the_dry_run_of_an_undo_is_called_one(manager, estate_folder, client, runs_of_airflow):
    _run, undo = undo_planned(manager, estate_folder / "lake")
    write_json(undo.path.joinpath("handed_on.json"), {"dag_id": "mq_undo", "run_id": "ended", "found": {}})
    prove(manager.connection, undo)
    runs_of_airflow("UPDATE dag_run SET dag_id = 'mq_undo' WHERE run_id = 'ended'")

    def page() -> str:
        return str(client("/run", "operator", queue_manager="QM1", run=undo.run).text)

    assert "Start the real undo" in page()
    asks = "Then it waits: nothing is moved before somebody approves the plan."
    assert asks in page()
    assert "four eyes" not in page()
    eyes = "    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}\n"
    (estate_folder / "estate.yaml").write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n{eyes}")
    assert (
        "its page says how long it still takes. The estate asks for four eyes: that is another person than you.</p>"
        in page()
    )


@pytest.mark.parametrize("dag_id", ["mq_recover", "mq_undo"])
def test_a_recovery_waits_for_the_questions_of_all_dags_and_an_undo_for_none(
    manager, estate_folder, client, runs_of_airflow, dag_id
):
    lake = estate_folder / "lake"
    _run, undo = undo_planned(manager, lake)
    letters(manager, "A")
    dry = undo if dag_id == "mq_undo" else planned(manager, lake)
    write_json(dry.path.joinpath("handed_on.json"), {"dag_id": dag_id, "run_id": "ended", "found": {}})
    write_json(dry.plan_json, {**json.loads(dry.plan_json.read_text()), "queue": DLQ})
    prove(manager.connection, dry)
    waits = of_dag(planned(manager, lake), "first")
    question = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
    write_json(waits.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
    runs_of_airflow(f"UPDATE dag_run SET dag_id = '{dag_id}' WHERE run_id = 'ended'")
    page = client("/run", "operator", queue_manager="QM1", run=dry.run).text
    assert "Start the real " in page
    assert ("Look at that plan and its question" in page) == (dag_id == "mq_recover")


def test_no_undo_is_offered_of_a_run_that_moved_and_discarded_nothing(manager, estate_folder, client):
    manager.put("FULL", [({}, b"x")])
    letters(manager, "FULL", "FULL")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    prove(manager.connection, run)
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "0 moved + 0 discarded + 2 left" in page
    assert "Undo this run" not in page


def test_no_undo_is_offered_for_a_load(manager, estate_folder, client):
    """What a load put are ordinary messages: an undo of it is refused."""
    file = estate_folder / "file"
    file.write_text("* DMPMQMSG Version:9.3.0.0\n\nA VER 1\nA FMT MQSTR\nT text\n")
    load = LoadRequest(connection=manager.connection, lake=estate_folder / "lake", file=file, queue="A")
    run, plan = plan_run(MESSAGE_LOAD, load)
    carry_out(MESSAGE_LOAD, load, run, plan)
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "it balances" in page
    assert "Undo this run" not in page
