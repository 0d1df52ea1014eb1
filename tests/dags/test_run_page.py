"""The pages of a run and of its plan, by their routes: real runs, Airflow's own login and roles, hostile names."""

from __future__ import annotations

import json
import os
import pickle
import re
import sqlite3
import uuid
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pymqi
import pytest
from airflow.sdk import DAG as SdkDag
from mq_support import DLQ, create, dead_letter, let_expire
from pymqi import CMQC

from mqops.act.core.progress import Tally
from mqops.act.in_process import act
from mqops.actions import Action
from mqops.clock import utc_now
from mqops.decide.core.pacing import Pacing
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.message_load import MESSAGE_LOAD, LoadRequest
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.errors import Stopped
from mqops.expiry.queue_manager import dead_letters_now, dead_letters_since, scan_queue
from mqops.expiry.scan import write_summary
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.lake.stop import Stop, lift, stop
from mqops.look.core.criteria import criteria
from mqops.look.core.run_state import RunLine, RunState
from mqops.look.plan_view import plan_view
from mqops.look.run_story import MOST_BY_HAND, WHY_LEFT, run_story
from mqops.look.run_view import run_view
from mqops.look.runs import run_line
from mqops.model import RuleBalance
from mqops.mq.connection import connect
from mqops.observe.in_process import observe
from mqops.prove.outcomes import look
from mqops.prove.prove import prove
from mqops.quality.summary import CheckResult, QualitySummary
from mqops.rules import parse
from mqops.undo.in_process import act_undo
from mqops_airflow.approval.permission import POLICY
from mqops_airflow.approval.plan_text import THIS_PLAN_ONLY
from mqops_airflow.notices.outcome_text import Ending, outcome_text
from mqops_airflow.operators.quality import in_words
from mqops_airflow.pages import answers, shared
from mqops_airflow.pages import estate as estate_page
from mqops_airflow.pages import plan as plan_page
from mqops_airflow.pages.run_balance import rule_name
from mqops_airflow.pages.run_words import state_in_words
from mqops_airflow.pages.which_run import ORDER, Task
from mqops_airflow.pages.who_answers import asks_for_four_eyes
from mqops_airflow.roles import ROLES
from mqops_airflow.runs.run_folder import run_key
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui import views

HOSTILE = "<script>alert(1)</script>"
TABLE = """\
DESTQ(A) ACTION(RETRY)
DESTQ(FULL) ACTION(RETRY)
APPLNAME('<img src=x>') ACTION(DISCARD)
"""
DAG = "qm1_dlq_rules"


@pytest.fixture
def manager(tmp_path: Path) -> Any:
    return create(tmp_path / "home", "QM1", "DEFINE QLOCAL(A)\nDEFINE QLOCAL(FULL) MAXDEPTH(1)\n")


def planned(manager: Any, lake: Path, *, key: str = "", text: str = TABLE) -> RunFolder:
    parsed = parse(text)
    assert parsed.table, parsed.errors
    what = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parsed.table, text=text, queue=DLQ, pacing=Pacing()
    )
    run, _plan = plan_run(DEAD_LETTERS, what)
    if key:
        run.path.rename(run.path.parent / key)
    return RunFolder(run.path.parent / (key or run.run))


def undo_planned(manager: Any, lake: Path, *, text: str = TABLE) -> tuple[RunFolder, RunFolder]:
    """A run that moved one message, and an undo of it that was planned and not begun."""
    letters(manager, "A")
    run = planned(manager, lake, text=text)
    act(manager.connection, run)
    prove(manager.connection, run)
    undo, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=lake, undoes=run))
    return run, undo


def take(manager: Any, queue: str, number: int) -> None:
    """As an application does."""
    with manager.connected() as application:
        handle = pymqi.Queue(application, queue, CMQC.MQOO_INPUT_SHARED)
        for _ in range(number):
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT))
        handle.close()


def letters(manager: Any, *names: str, **fields: Any) -> None:
    manager.put(DLQ, [dead_letter(name, b"secret of %d" % number, **fields) for number, name in enumerate(names)])


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


def test_destinations_are_those_of_now_only_while_somebody_is_asked(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    """Later, what the run moved is on them itself."""
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(plan_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'first'""")
    letters(manager, "A", "FULL")
    run = of_dag(planned(manager, estate_folder / "lake", text="DESTQ(FULL) ACTION(RETRY)\n"), "first")
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "run": run.run})

    def page() -> str:
        return client("/plan", queue_manager="QM1", run=run.run).text.replace("<wbr>", "")

    manager.put("FULL", [({}, b"in the way")])
    for said in (f">QM1: act on 1 of 2 messages of {DLQ}?</h1>", ">room for 0 of 1</span>", "As of <time"):
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
    answer = {"approved": True, "by": "olga", "at": "2026-11-21T12:00:00Z"}
    write_json(
        run.path.joinpath("approval.json"), {"question": {"digest": "d"}, "task_instance": "i", "answer": answer}
    )
    act(manager.connection, run)
    prove(manager.connection, run)
    for said in (f">QM1: plan to act on 1 of 2 messages of {DLQ}</h1>", "As they were for this plan, at <time"):
        assert said in page()
    for wrong in ("room for 0", "Since the plan was made", "The snapshot of this plan is"):
        assert wrong not in page()


def test_what_was_wrong_when_the_plan_was_made_is_not_told_again(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(answers, "WAIT", 60.0)
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
        assert re.search('name="destination"[^>]* list="could-BACK-origin">', client(address, "operator").text)
        assert '<option value="A"></option><option value="B"></option>' in client(address, "operator").text
        assert "data-starts" not in client(address, "viewer").text
    words = "The form of mq_recover for messages that no rule can place"
    there = f'<a href="/run?queue_manager=QM1&run={run.run}#actions">{words}</a>'
    assert there in unescape(client("/plan", "operator", queue_manager="QM1", run=run.run).text)
    assert "#actions" not in page


def test_messages_that_a_person_must_place_are_chosen_one_by_one(tmp_path, estate_folder, client):
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(BACK)\nDEFINE QLOCAL(A) BOQNAME(BACK)\n")
    manager.mqsc("DEFINE QLOCAL(B) BOQNAME(BACK)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    context = {"PutApplName": HOSTILE, "PutDate": "20261101", "PutTime": "08000950"}
    two = [(context, b"whence"), ({**context, "PutTime": ""}, b"from where")]
    manager.put("BACK", two, options=CMQC.MQOO_SET_ALL_CONTEXT)
    text = "ACTION(RETRY)\n"
    table = parse(text, origins=True).table
    assert table
    request = BackoutRequest(connection=manager.connection, lake=estate_folder / "lake", table=table, text=text)
    run, _plan = plan_run(BACKOUT, request)
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text.replace("<wbr>", "")
    (form,) = re.findall('<form class="starts" id="move-BACK-origin".*?</form>', page, re.DOTALL)
    assert "message_ids" not in form.split(">")[0]
    ticks = re.findall('<input type="checkbox" name="message_ids" value="([0-9a-f]{48})" data-listed ([^>]*)>', form)
    assert len(ticks) == 2
    when = '<time datetime="2026-11-01T08:00:09.500000+00:00">2026-11-01 08:00:09 UTC</time>'
    by = '</td><td class="name">&lt;script&gt;alert(1)&lt;/script&gt;</td><td class="number">'
    assert f"<td>{when}{by}6</td>" in form
    assert f"<td>–{by}10</td>" in form
    for msg_id, others in ticks:
        assert "checked" not in others
        assert f'msg_id={msg_id}">{msg_id[:8]}…{msg_id[-12:]}</a>' in form
        assert client("/messages/one", queue_manager="QM1", run=run.run, queue="BACK", msg_id=msg_id).status_code == 200


def test_messages_without_an_mqdlh_have_a_form_wherever_they_are_shown(manager, estate_folder, client):
    manager.put(DLQ, [({}, b"raw")] * 2)
    letters(manager, *["A"] * 60)
    manager.put(DLQ, [({}, b"behind the first page of the run")])
    run = planned(manager, estate_folder / "lake")
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text.replace("<wbr>", "")
    (form,) = re.findall(f'<form class="starts" id="move-{DLQ}-header".*?</form>', page, re.DOTALL)
    assert "3 messages without an MQDLH that can be read: no rule can move them" in form
    _one, _two, msg_id = re.findall('name="message_ids" value="([0-9a-f]{48})"', form)
    said = "A person who may start mq_recover in Airflow finds a form here that moves them."
    assert said in client("/run", "viewer", queue_manager="QM1", run=run.run).text
    message = client("/messages/one", "operator", queue_manager="QM1", run=run.run, queue=DLQ, msg_id=msg_id).text
    assert "A person says where it belongs" in message
    (fixed,) = re.findall('data-starts="mq_recover" data-fixed="([^"]*)"', message)
    assert json.loads(unescape(fixed)) == {
        **{"queue_manager": "QM1", "action": "move", "queue": DLQ},
        "message_ids": [msg_id],
    }
    dead = client("/dead_letters", "operator", queue_manager="QM1", queue=DLQ).text
    assert "no MQDLH can be read, so it stays" in dead
    assert f'href="/run?queue_manager=QM1&amp;run={run.run}#actions">the form of mq_recover moves it' in dead
    prove(manager.connection, run)
    balance = client("/run", queue_manager="QM1", run=run.run).text
    assert "<td>no MQDLH can be read, so it stays</td>" in balance
    assert "no rule ERROR" not in balance


def test_messages_that_a_later_run_has_moved_are_offered_no_more(manager, estate_folder, client):
    """Until an undo has put them back."""
    lake = estate_folder / "lake"
    ids = [one.hex() for one in manager.put(DLQ, [({}, b"one"), ({}, b"two"), ({}, b"three")])]
    run = planned(manager, lake)
    address = {"queue_manager": "QM1", "run": run.run}

    def offered() -> set[str]:
        page = client("/run", "operator", **address).text
        forms = re.findall('data-starts="mq_recover" data-fixed="([^"]*)"', page)
        one = [msg_id for form in forms for msg_id in json.loads(unescape(form)).get("message_ids", ())]
        return {*one, *re.findall('name="message_ids" value="([0-9a-f]{48})"', page)}

    def moved(*msg_ids: str) -> RunFolder:
        what = RecoverRequest(connection=manager.connection, lake=lake, do=Do.MOVE, queue=DLQ, msg_ids=msg_ids, to="A")
        later, plan = plan_run(RECOVER, what)
        carry_out(RECOVER, what, later, plan)
        return later

    assert offered() == set(ids)
    assert "<h3>Move messages to a queue</h3>" in client("/run", "operator", **address).text
    first = moved(ids[0])
    page = client("/run", "operator", queue_manager="QM1", run=first.run).text
    assert "<li>2 left (it was not chosen)</li>" in page
    assert "<h3>Undo this run</h3>" in page
    assert offered() == set(ids[1:])
    page = unescape(client("/run", "operator", **address).text)
    by = f'by <a class="name" href="/run?queue_manager=QM1&run={first.run}">'
    assert f"1 message that a person had to place was taken from the queue since, {by}" in page
    message = unescape(client("/messages/one", "operator", **address, queue=DLQ, msg_id=ids[0]).text)
    assert f"It was taken from the queue since, {by}" in message
    assert "data-starts" not in message
    assert "data-starts" in client("/messages/one", "operator", **address, queue=DLQ, msg_id=ids[1]).text
    moved(*ids[1:])
    assert offered() == set()
    assert "A person who may start mq_recover" not in client("/run", "viewer", **address).text
    what = UndoRequest(connection=manager.connection, lake=lake, undoes=first)
    undo, plan = plan_run(UNDO, what)
    carry_out(UNDO, what, undo, plan)
    assert offered() == {ids[0]}


def test_the_sums_of_a_run_by_hand_are_of_the_chosen_messages(manager, estate_folder, client):
    """Its plan has all of the queue. Another program takes one of the chosen and one of the others meanwhile."""
    ids = [one.hex() for one in manager.put("A", [({}, b"%d" % number) for number in range(7)])]
    manager.mqsc("ALTER QLOCAL(FULL) MAXDEPTH(2)")
    chosen = (ids[1], *ids[3:6])
    what = RecoverRequest(
        connection=manager.connection, lake=estate_folder / "lake", do=Do.MOVE, queue="A", msg_ids=chosen, to="FULL"
    )
    run, plan = plan_run(RECOVER, what)

    def said() -> str:
        return words_of(client("/run", queue_manager="QM1", run=run.run).text)

    assert "Not proved yet. 4 messages chosen; the ledger has" in said()
    prove(manager.connection, run)
    dry = said()
    assert "4 chosen = 2 would be moved + 0 would be discarded + 2 would stay. 3 other messages were not chosen." in dry
    assert "A chosen: FWD 4 2 0 2 Nothing was" in dry
    assert ", 4 chosen messages were still on the queue." in dry
    assert "2 chosen messages would stay, 3 others were not chosen" in dry
    take(manager, "A", 2)
    summary = carry_out(RECOVER, what, run, plan)
    assert (summary.planned, summary.moved, summary.left, summary.gone) == (7, 2, 3, 2)
    done = said()
    assert "4 chosen = 2 moved + 0 discarded + 1 left + 1 gone. 3 other messages were not chosen." in done
    assert "A chosen: FWD 4 2 0 1 1 1 " in done
    assert "not chosen: IGNORE" not in done
    assert "2 chosen messages were not moved or discarded, 3 others were not chosen 2 left (it was not chosen)" in done
    ending = Ending(acted="success", approved="success")
    assert outcome_text(ending, summary).endswith(
        ": 2 moved + 0 discarded + 1 left + 1 gone of 4 chosen messages. This balances."
    )


def test_a_page_whose_forms_have_nothing_left_says_that_others_may_be_left(manager, estate_folder, client):
    """A page keeps the first 200 messages that a person must place."""
    lake = estate_folder / "lake"
    ids = [one.hex() for one in manager.put(DLQ, [({}, b"raw")] * (MOST_BY_HAND + 3))]
    run = planned(manager, lake)

    def said(role: str) -> str:
        page = unescape(client("/run", role, queue_manager="QM1", run=run.run).text)
        return " ".join(page.split())

    address = f'<a href="/messages?queue_manager=QM1&run={run.run}&action=ERROR">all that its plan has with ERROR</a>'
    more = f"This page keeps the first 200 messages that a person must place; its plan has 3 more: {address}."
    assert more in said("operator")
    assert "Later runs have taken" not in said("operator")
    request = {"connection": manager.connection, "lake": lake, "do": Do.MOVE, "queue": DLQ, "to": "A"}
    what = RecoverRequest(**request, msg_ids=tuple(ids[:MOST_BY_HAND]))
    carry_out(RECOVER, what, *plan_run(RECOVER, what))
    for role in ("operator", "viewer"):
        assert f"{more} Later runs have taken all 200, and others may be left:" in said(role), role
        assert "a new dry run finds them, and its page has the form that moves them." in said(role)
    page = client("/messages", "operator", queue_manager="QM1", run=run.run, action="ERROR").text
    assert "Next page" in page
    few = planned(manager, lake)
    assert "This page keeps" not in client("/run", "operator", queue_manager="QM1", run=few.run).text


def test_what_a_run_did_to_a_message_counts_more_than_an_earlier_look(manager, estate_folder, client, monkeypatch):
    """A run looks at the queue while another one waits to move the message."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    lake = estate_folder / "lake"
    msg_id = manager.put(DLQ, [({}, b"one")])[0].hex()
    what = RecoverRequest(connection=manager.connection, lake=lake, do=Do.MOVE, queue=DLQ, msg_ids=(msg_id,), to="A")
    run, of_run = plan_run(RECOVER, what)
    other = planned(manager, lake)

    def page() -> str:
        answer = client("/messages/one", queue_manager="QM1", run=other.run, queue=DLQ, msg_id=msg_id)
        return unescape(answer.text).replace("<wbr>", "")

    assert "it was there, and nobody has looked since" in page()
    carry_out(RECOVER, what, run, of_run)
    assert "nobody has looked since" not in page()
    link = f'<a class="name" href="/run?queue_manager=QM1&run={run.run}">{run.run}</a>'
    moved = r'</strong> moved <time [^>]*>[^<]*</time> to <span class="name">A</span> by run\n'
    assert re.search(rf"Since then:{moved}{re.escape(link)}\.</p>\s*<h2>Data</h2>", page())


def test_messages_are_looked_for_where_most_are_and_the_page_says_where(manager, estate_folder, client, monkeypatch):
    """Not in the snapshot of a run for messages that a person chose, though it is the newest."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    lake = estate_folder / "lake"
    letters(manager, "A", "A", "FULL")
    most = planned(manager, lake)
    ids = [one.hex() for one in manager.put("A", [({}, b"x")])]
    what = RecoverRequest(connection=manager.connection, lake=lake, do=Do.MOVE, queue="A", msg_ids=(ids[0],), to="FULL")
    chosen, _plan = plan_run(RECOVER, what)

    def page(**query: str) -> str:
        return unescape(client("/messages", queue_manager="QM1", **query).text).replace("<wbr>", "")

    def of(run: RunFolder, queue: str, workflow: str) -> str:
        link = f'<a class="name" href="/run?queue_manager=QM1&run={run.run}">run {run.run}</a> of {workflow}.</p>'
        taken = "taken <time [^>]*>[^<]*</time> by"
        return f'in one snapshot: of <span class="name">{queue}</span>, {taken} {re.escape(link)}'

    assert re.search(of(most, DLQ, "dlq_rules"), page(dest_q="A"))
    assert "3 of 3 messages looked at" in page()
    assert "Snapshots of other runs" not in page()
    text = page(run=chosen.run, dest_q="A")
    assert re.search(of(chosen, "A", "recover"), text)
    assert "No message fits. 1 message looked at." in text
    (link,) = re.findall('<li><a href="(/messages[^"]*)">dlq_rules of SYSTEM.DEAD.LETTER.QUEUE</a>, 3 messages', text)
    assert f"run={most.run}" in link
    assert "2 of 2" not in (found := client(link).text)
    assert len(re.findall('href="/messages/one', found)) == 2


@pytest.mark.parametrize(("place", "shown"), [("{}/rules/t.rules", "rules/t.rules"), ("/else/t.rules", "t.rules")])
def test_a_rules_file_is_named_without_the_place_of_the_estate(manager, estate_folder, client, place, shown):
    letters(manager, "A")
    run = planned(manager, estate_folder / "lake")
    source = place.format(estate_folder)
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "table_source": source})
    (msg_id,) = re.findall("msg_id=([0-9a-f]{48})", client("/plan", queue_manager="QM1", run=run.run).text)
    message = client("/messages/one", queue_manager="QM1", run=run.run, msg_id=msg_id).text
    assert f'"What each rule of {shown} as run {run.run} read it says of it"' in message
    assert f"Rules: {shown}. Run" in client("/plan", queue_manager="QM1", run=run.run).text
    for path in ("/plan", "/run", "/messages/one"):
        page = client(path, queue_manager="QM1", run=run.run, msg_id=msg_id).text.replace("<wbr>", "")
        assert shown in page
        assert source not in page


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


@pytest.mark.parametrize(
    ("line", "action", "workflow", "words"),
    [
        (3, "RETRY", "dlq_rules", "line 3 RETRY"),
        (None, "IGNORE", "dlq_rules", "no rule: IGNORE"),
        (None, "ERROR", "dlq_rules", "no MQDLH can be read, so it stays"),
        (None, "FWD", "recover", "chosen: FWD"),
        (None, "IGNORE", "recover", "not chosen: IGNORE"),
        (None, "RETURN", "undo", "undo: RETURN"),
    ],
)
def test_what_decided_is_told_in_words(line, action, workflow, words):
    one = RuleBalance(queue=DLQ, rule_line=line, rule_key=None, action=action, planned=1)
    assert rule_name(one, workflow=workflow) == words


def test_a_run_that_waits_has_left_nothing_yet(manager, estate_folder, client):
    letters(manager, "A", "NO.RULE")
    run = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n")
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "So far nothing was moved or discarded. The plan has 2 messages, and acts on 1 of them." in page
    assert "the table leaves it" not in page
    answer = {"approved": False, "by": "olga", "at": "2026-11-21T12:00:00Z"}
    write_json(
        run.path.joinpath("approval.json"), {"question": {"digest": "d"}, "task_instance": "i", "answer": answer}
    )
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "Nothing was moved or discarded: the run leaves the 2 messages of its plan as they are." in page


def test_what_a_run_leaves_is_told_when_it_is_proved(manager, estate_folder, client):
    letters(manager, "A", "FULL", "FULL", "NO.RULE")
    run = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\nDESTQ(FULL) ACTION(RETRY)\n")
    act(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "3 of 3 messages</strong> dealt with" in page
    assert "2 moved, 0 discarded, 1 failed, 0 gone." in page
    assert "The plan leaves 1 other message as it is." in page
    assert "What was left or is gone, and why, is told when the task prove has looked." in page
    for wrong in ("not moved or discarded</h3>", "still on the queue", "by row of the plan"):
        assert wrong not in page
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "2 messages were not moved or discarded" in page
    assert '<td>left</td><td class="text">the table leaves it' in page
    assert "when the task prove has looked" not in page


def test_the_messages_of_a_run_are_counted_by_reason_and_folded(manager, estate_folder, client):
    letters(manager, "A", *["FULL"] * 2, *["NO.RULE"] * 60)
    run = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\nDESTQ(FULL) ACTION(RETRY)\n")
    act(manager.connection, run)
    prove(manager.connection, run)

    def said(**query: str) -> str:
        return client("/run", queue_manager="QM1", run=run.run, **query).text

    page = said()
    assert "<h3>61 messages were not moved or discarded</h3>" in page
    reasons = page.split("not moved or discarded</h3>")[1].split("</ul>")[0]
    assert re.findall("<li>(.*?)</li>", reasons) == [
        "60 left (the table leaves it: ACTION(IGNORE), no rule matches, or all tries have failed)",
        "1 left: its try failed (MQRC_Q_FULL)",
    ]
    folded = '<details id="unmoved" data-keeps="open"'
    assert f'{folded}><summary id="unmoved-summary">50 of them, by row of the plan</summary>' in page
    more = re.search(r'<a href="([^"]*)">11 more messages</a>', page)
    assert more
    assert more[1].endswith("#unmoved")
    rest = said(after=re.findall(r"after=(\d+)", more[1])[0])
    assert f'{folded} open><summary id="unmoved-summary">11 of them' in rest
    assert "<h3>61 messages were not moved or discarded</h3>" in rest


def test_a_dry_run_names_the_messages_that_its_proof_found_gone(manager, estate_folder, client):
    letters(manager, "A", "A", "A")
    run = planned(manager, estate_folder / "lake")
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert re.search(
        r"discarded\. At <time [^>]*>[^<]* UTC</time>, 3 messages of the plan were still on the queue\. <a", page
    )
    assert "Messages that were left, gone or failed" not in page
    take(manager, DLQ, 2)
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "<p>3 planned = 3 would be moved + 0 would be discarded + 0 would stay.</p>" in page
    assert "<h3>0 messages would stay, 2 are gone</h3>" in page
    said = r"</time>, 1 message of the plan was still on the queue\. 2 are gone: another program took them, or they exp"
    assert re.search(said, page)
    assert page.count("<td>gone</td>") == 2


def test_a_dry_run_shows_what_would_be_done(manager, estate_folder, client):
    """It has left nothing, and nothing has failed: only the messages that would stay are listed, with why."""
    letters(manager, *["A"] * 60, "NO.RULE", "WORTHLESS")
    text = "DESTQ(A) ACTION(RETRY)\nDESTQ(WORTHLESS) ACTION(DISCARD)\n"
    run = planned(manager, estate_folder / "lake", text=text)
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "<h2>What the plan would do</h2>" in page
    assert "What became of" not in page
    chart = page.split('aria-label="What the plan would do with the messages of each rule')[1].split("</figure>")[0]
    for part in ("part: would be moved", "part: would be discarded", "part: would stay"):
        assert part in chart
    assert "<p>62 planned = 60 would be moved + 1 would be discarded + 1 would stay.</p>" in page
    heads = "".join(
        f'<th class="number" scope="col">Would {fate}</th>' for fate in ("be moved", "be discarded", "stay")
    )
    assert f'<th class="number" scope="col">Planned</th>{heads}</tr>' in page
    assert "<h3>1 message would stay</h3>" in page
    assert f"<ul><li>1 would stay ({WHY_LEFT[Action.IGNORE]})</li></ul>" in page
    table = page.split("Messages that would stay</span>")[1].split("</table>")[0]
    assert f'<td>would stay</td><td class="text">{WHY_LEFT[Action.IGNORE]}</td><td class="name">IGNORE' in table
    assert table.count("<tr>") == 2
    said = page.split("<h2>What the plan would do")[1].split("<h2>Steps")[0].replace(WHY_LEFT[Action.IGNORE], "")
    for wrong in (" left", "failed", "Failed", "not moved", "gone", "Gone"):
        assert wrong not in re.sub("<[^>]*>", "", said)
    act(manager.connection, run)
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "<h2>What became of the messages</h2>" in page
    assert "62 planned = 60 moved + 1 discarded + 1 left + 0 gone." in page
    assert "would" not in page.split("<h2>Steps")[0]


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.replace("<wbr>", ""))).split())


def test_a_dry_run_says_what_stands_in_the_way_of_its_plan(manager, estate_folder, client):
    """What no destination takes is not counted as moved: in the sum, by rule, in the chart, in the list."""
    letters(manager, "NOT.THERE")
    run = planned(manager, estate_folder / "lake", text="ACTION(RETRY)\n")
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    said = page.split("<h2>What the plan would do</h2>")[1]
    assert said.startswith('\n<p class="problem bad"><strong>Problem:</strong> NOT.THERE@QM1: MQOPEN for puts fails')
    words = words_of(said)
    assert (
        "1 planned = 0 would be moved + 0 would be discarded + 1 would stay. 1 message would stay because of" in words
    )
    assert "<li>1 would stay (the destination does not exist)</li>" in said
    assert "line 1 RETRY 1 0 0 1 " in words
    chart = said.split("</figure>")[0]
    assert "part: would stay" in chart
    assert "part: would be moved" not in chart
    assert client("/run/live", queue_manager="QM1", run=run.run).text.count("the destination does not exist") == 2
    act(manager.connection, run)
    prove(manager.connection, run)
    assert "MQOPEN for puts fails" not in client("/run", queue_manager="QM1", run=run.run).text


@pytest.mark.parametrize("spark_order", [False, True], ids=["in order", "as Spark writes plans"])
def test_a_dry_run_counts_what_finds_no_room_as_staying(manager, estate_folder, client, spark_order):
    """Two rules put on one queue with room for 3: together they get no more. The first rows get the room."""
    manager.mqsc(
        "ALTER QLOCAL(FULL) MAXDEPTH(3)\nDEFINE QALIAS(FULL.TOO) TARGET(FULL)\nDEFINE QLOCAL(SHUT) PUT(DISABLED)"
    )
    letters(manager, "FULL", "FULL.TOO", "A", "FULL", "FULL.TOO", "SHUT", "WORTHLESS", "FULL.TOO")
    text = "DESTQ(WORTHLESS) ACTION(DISCARD)\nDESTQ(FULL.TOO) ACTION(RETRY)\nACTION(RETRY)\n"
    run = planned(manager, estate_folder / "lake", text=text)
    if spark_order:
        (file,) = run.plan.glob("*.parquet")
        rows = pq.read_table(file)
        pq.write_table(rows.take([*range(rows.num_rows)][::-1]), file)
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text.split("<h2>What the plan would do</h2>")[1]
    words = words_of(page)
    assert (
        "8 planned = 4 would be moved + 1 would be discarded + 3 would stay. 3 messages would stay because of" in words
    )
    assert "line 2 RETRY 3 1 0 2 " in words
    assert "line 3 RETRY 4 3 0 1 " in words
    assert "2 would stay (FULL has room for 3 of 5 messages)" in words
    assert "1 would stay (the destination has PUT(DISABLED))" in words
    assert [(one.row, one.dest_q) for one in run_story(run).messages] == [(4, "FULL.TOO"), (5, "SHUT"), (7, "FULL.TOO")]
    summary = act(manager.connection, run)
    assert (summary.moved, summary.discarded, summary.failed) == (4, 1, 3)


def test_a_queue_that_is_no_dead_letter_queue_any_more_is_not_said_to_be_empty(
    manager, estate_folder, client, monkeypatch
):
    """The queue manager's figures have no other queue SYSTEM.*."""
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    letters(manager, "A", "A")
    planned(manager, estate_folder / "lake")

    def cards() -> str:
        page = client("/dead_letters", queue_manager="QM1", queue=DLQ).text
        return " ".join(re.sub("<[^>]*>", "", page.split('<ul class="cards">')[1].split("</ul>")[0]).split())

    assert "2 messages then" in cards()
    assert "2 now" in cards()
    manager.mqsc("ALTER QMGR DEADQ(A)")
    assert "2 messages then" in cards()
    assert " now" not in cards()


def test_a_run_that_met_a_full_queue_says_what_to_do_as_the_estate_does(manager, estate_folder, client, monkeypatch):
    """By the figures of now: as long as the queue is full, then what goes on."""
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    letters(manager, "A", "FULL", "FULL", "FULL")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    prove(manager.connection, run)

    def said(path: str, **query: str) -> str:
        page = client(path, queue_manager="QM1", **query).text.replace("<wbr>", "")
        return " ".join(page.split())

    page = said("/run", run=run.run)
    text = (
        "FULL is 100 % full (CURDEPTH 1, MAXDEPTH 1): let it be emptied (no program has it open for input: check that "
        "its application runs), or raise MAXDEPTH: ALTER QLOCAL(FULL) MAXDEPTH(2)"
    )
    assert f'<h3>What to do about MQRC_Q_FULL</h3><p class="problem note"><strong>Note:</strong> {text}</p>' in page
    assert text in said("/estate")
    link = (
        f'<p>Then <a href="/dead_letters?queue_manager=QM1&amp;queue={DLQ}#handle">make a dry run</a>: it shows which'
    )
    assert link in page
    assert "mq_recover with Action = replay puts them where each MQDLH says.</p>" in page
    assert "data-starts" not in page  # of a person who may start nothing
    page = unescape(" ".join(client("/run", "operator", queue_manager="QM1", run=run.run).text.split()))
    assert "puts them where each MQDLH says, by the form below.</p>" in page
    form = page.split("<summary>Replay the dead letters for FULL</summary>")[1].split("</form>")[0]
    assert 'data-starts="mq_recover"' in form
    assert '<input type="checkbox" name="dry_run" checked>' in form
    fixed = json.loads(form.split('data-fixed="')[1].split('">')[0])
    assert fixed == {"queue_manager": "QM1", "action": "replay", "queue": DLQ}
    where = criteria(form.split('name="where" value="')[1].split('"')[0])
    request = RecoverRequest(
        connection=manager.connection, lake=estate_folder / "lake", do=Do(fixed["action"]), queue=DLQ, wanted=where
    )
    _run, plan = plan_run(RECOVER, request)
    assert plan.actions["RETRY"] == 2
    manager.mqsc("ALTER QLOCAL(FULL) MAXDEPTH(50)")
    page = said("/run", run=run.run)
    assert "</strong> FULL was full, and has room now (CURDEPTH 1, MAXDEPTH 50)</p>" in page
    assert link in page
    take(manager, "FULL", 1)
    assert "</strong> FULL was full, and is empty now</p>" in said("/run", run=run.run)
    manager.mqsc("DELETE QLOCAL(FULL)")
    assert "FULL was full when the run put messages there: let it be emptied, or" in said("/run", run=run.run)
    other = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n")
    carried = act(manager.connection, other)
    assert carried.moved == 0
    prove(manager.connection, other)
    assert "What to do" not in said("/run", run=other.run)


def test_later_runs_that_took_messages_are_named_where_something_is_left_to_do(manager, estate_folder, client):
    letters(manager, "A", "FULL", "FULL")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    prove(manager.connection, run)
    dry = planned(manager, estate_folder / "lake")
    prove(manager.connection, dry)

    def said(run: RunFolder) -> str:
        return " ".join(client("/run", queue_manager="QM1", run=run.run).text.replace("<wbr>", "").split())

    assert "Since then" not in said(run) + said(dry)
    moved = RecoverRequest(
        connection=manager.connection, lake=estate_folder / "lake", do=Do.MOVE, queue=DLQ, everything=True, to="A"
    )
    later, plan = plan_run(RECOVER, moved)
    carry_out(RECOVER, moved, later, plan)
    link = f'by <a class="name" href="/run?queue_manager=QM1&amp;run={later.run}">run {later.run}</a>. '
    since = f"<strong>Since then:</strong> messages of this queue were moved or discarded {link}"
    assert f"{since}What was left here may be there no more." in said(run)
    assert f"{since}The figures below are those before; a new run looks again." in said(dry)
    assert "Since then" not in said(later)


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
    assert page.count("<td>not put back yet</td>") == 4
    assert "still on the queue" not in page


def test_a_look_that_was_before_the_proof_of_the_undo_says_so(manager, estate_folder, client):
    """A run of more messages than are looked for of itself is looked at by a person only."""
    run, undo = undo_planned(manager, estate_folder / "lake")
    look(manager.connection, run)
    later = "Its undo was proved after that, at <time"

    def page() -> str:
        return client("/run", queue_manager="QM1", run=run.run).text.split("<h3>Later</h3>")[1]

    assert "<li>1 there: still where it was put</li>" in page()
    assert later not in page()
    UNDO.act(manager.connection, undo, approved=None, unit_size=10, about={})
    assert later not in page()
    prove(manager.connection, undo)
    assert later in page()
    assert f"<code>mqops ledger outcomes {run.run} -m QM1</code> looks again" in page()
    look(manager.connection, run)
    assert "<li>1 returned: came back to the queue that it was taken from</li>" in page()
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
    UNDO.act(manager.connection, undo, approved=None, unit_size=10, about={})
    prove(manager.connection, undo)
    assert "Undo this run" not in client("/run", "operator", queue_manager="QM1", run=run.run).text
    summary = json.loads(undo.path.joinpath("summary.json").read_text())
    write_json(undo.path.joinpath("summary.json"), {**summary, "left_because": {"why": 1}})
    assert "Undo this run" in client("/run", "operator", queue_manager="QM1", run=run.run).text


def test_a_run_tells_who_stopped_it_after_it_went_on(manager, estate_folder, client):
    letters(manager, "A", "A", "OTHER")
    run = planned(manager, estate_folder / "lake")
    page = client("/run/live", queue_manager="QM1", run=run.run).text
    assert '<th scope="row">decide</th><td><time' in page
    stop(run.lake_folder, Stop(by="eve", at="2020-01-01T00:00:00Z"))
    lift(run.lake_folder, by="eve", at="2020-01-02T00:00:00Z")  # before this run
    stop(run.lake_folder, Stop(by="carol", at=utc_now(), why="the site is down"))
    assert "all runs of QM1 are stopped by carol" in client("/run/live", queue_manager="QM1", run=run.run).text
    lift(run.lake_folder, by="dave", at=utc_now())
    act(manager.connection, run)
    prove(manager.connection, run)
    page = client("/run/live", queue_manager="QM1", run=run.run).text
    assert "all runs of QM1 were stopped by carol at <time" in page
    assert "(the site is down); taken back by dave at <time" in page
    assert "stopped by eve" not in page


def test_a_stop_that_came_after_the_end_of_a_run_holds_nothing_back(manager, estate_folder, client):
    letters(manager, "A")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    prove(manager.connection, run)
    stop(run.path, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", queue_manager="QM1", run=run.run).text
    assert "this run was stopped by carol at <time" in page
    assert ": it has done all of its plan, so this holds nothing back" in page
    assert "this run is stopped" not in page
    assert "Resume this run" not in page
    assert "data-over" in page
    stop(run.lake_folder, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", queue_manager="QM1", run=run.run).text
    assert "all runs of QM1 are stopped by carol" in page
    assert "Resume all runs" in page


def test_the_question_of_an_undo_names_the_run(manager, estate_folder, client, runs_of_airflow):
    run, undo = undo_planned(manager, estate_folder / "lake")
    undo = of_dag(undo, "first")
    question = {"dag_id": "mq_undo", "run_id": "r", "digest": "d", "text": "t"}
    write_json(undo.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
    page = client("/estate", queue_manager="QM1").text.replace("<wbr>", "")
    assert f'the undo of <a class="name" href="/run?queue_manager=QM1&amp;run={run.run}">run {run.run}</a>' in page
    assert "</a>, which puts back 1 of 1 message, waits for an approval; its snapshot is" in page
    assert "a plan waits for an answer" not in page  # no run waits for an undo


def test_only_an_undo_that_was_begun_undoes_a_run(manager, estate_folder, client):
    """A plan of it, which is all that a dry run makes, puts nothing back."""
    run, undo = undo_planned(manager, estate_folder / "lake")
    assert run_view(run).undos == ()
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "Undo this run" in page
    assert f'put nothing back: <a class="name" href="/run?queue_manager=QM1&amp;run={undo.run}"' in page
    assert "(planned only: nothing was moved)" in page
    page = client("/run", queue_manager="QM1", run=undo.run).text.replace("<wbr>", "")
    assert f"<title>Undo of run {run.run}" in page
    assert f"QM1: undo of run {run.run}</h1>" in page
    UNDO.act(manager.connection, undo, approved=None, unit_size=10, about={})
    assert run_view(run).undos == (
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
    assert run_view(run).story.recorded == {"moved": 1, "discarded": 1, "failed": 0}
    prove(manager.connection, undo)  # as the last task of a dry run
    page = client("/run", queue_manager="QM1", run=undo.run).text
    planned = "1 message to put back from the lake (RESTORE): the run discarded them; 1 message to bring back"
    assert f"Nothing was put back. The undo has planned: {planned} from where the run put them (RETURN)" in page
    assert "<h2>What the undo would do</h2>" in page
    assert "<p>2 planned = 2 would be put back + 0 would not be put back.</p>" in page
    chart = page.split('aria-label="What the plan would do with')[1].split("</figure>")[0]
    assert "part: would be put back" in chart
    assert '<th class="number" scope="col">Would be put back</th>' in page
    assert "would be moved" not in page
    assert "discarded</th>" not in page
    assert "<td>undo: RETURN</td>" in page
    assert "no rule" not in page
    assert "still on the queue" not in page
    assert "no rule" not in client("/plan", queue_manager="QM1", run=undo.run).text


@pytest.mark.parametrize("state", ["incomplete", "observed", "planned"])
def test_a_run_that_has_just_begun_is_at_work(state):
    """Its files are those of a run that ended too early."""

    def said(of: str, task: str, its_state: str) -> tuple[str, str, str]:
        line = RunLine(run="r", queue_manager="QM1", state=RunState(of))
        return state_in_words(line, {task: Task(name=task, state=its_state, began=None, ended=None, tries=1)})

    assert said(state, "observe", "running")[0] == "at work"
    assert said(state, "observe", "failed")[0] == state
    assert said("begun", "act", "running") == ("at work", "in Airflow the task act is on its way", "note")
    assert said("begun", "observe", "failed")[0] == "begun"


def test_a_run_shows_its_balance_its_failures_and_how_far_it_came(manager, estate_folder, client):
    lake = estate_folder / "lake"
    letters(manager, "A", "FULL", "FULL", "OTHER")
    run = planned(manager, lake)
    before = client("/run/live", queue_manager="QM1", run=run.run)
    assert "Not proved yet" in before.text
    again = {"queue_manager": "QM1", "run": run.run, "known": before.headers["ETag"]}
    assert (client("/run/live", **again).status_code, client("/run/live", **again).text) == (304, "")
    act(manager.connection, run)
    acted = client("/run/live", **again).text
    assert "2 moved, 0 discarded, 1 failed" in acted
    assert "nothing was moved" not in acted
    prove(manager.connection, run)
    view = run_view(run)
    assert [(one.reason, one.dest_q, one.messages) for one in view.story.failures] == [("MQRC_Q_FULL", "FULL", 1)]
    assert view.story.progress is not None
    assert (view.story.progress.overall, view.story.progress.planned) == (3, 3)
    assert list(view.story.progress.tally.held.values()) == ["MQRC_Q_FULL"]
    assert view.over
    page = client("/run", "operator", queue_manager="QM1", run=run.run)
    assert page.status_code == 200, page.text
    assert '<span class="badge good">done</span> proved: it balances.' in page.text
    parts = ("it balances", "4 planned = ", "Undo this run", "<h2>Steps</h2>")
    assert sorted(parts, key=page.text.index) == list(parts)
    assert "4 planned = 2 moved + 0 discarded + 2 left + 0 gone" in page.text
    assert '<td>left: its try failed</td><td class="text">MQRC_Q_FULL</td>' in page.text
    assert "<svg" in page.text
    assert "Undo this run" in page.text
    assert "Undo this run" not in client("/run", "viewer", queue_manager="QM1", run=run.run).text
    assert "data-over" in client("/run/live", queue_manager="QM1", run=run.run).text


def test_a_run_that_has_just_begun_to_act_tells_of_no_unit_of_work(manager, estate_folder, client):
    letters(manager, "A", "FULL", "FULL")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    assert "Last unit of work 0 s ago." in client("/run/live", queue_manager="QM1", run=run.run).text
    for reached, said in (({}, "done yet."), ({"0": 1}, "done yet since the run went on.")):
        tally = Tally(reached=reached).to_json()
        write_json(run.path.joinpath("progress.json"), {"at": utc_now(), "planned": 3, "seconds": 1.0, "tally": tally})
        page = client("/run/live", queue_manager="QM1", run=run.run).text
        assert f"No unit of work is {said}" in page
        assert "Last unit of work" not in page


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


def task_of(run_id: str, task: str, state: str) -> str:
    """The statement that adds a task to a run in Airflow's database."""
    names = "id, task_id, dag_id, run_id, map_index, try_number, state, pool, pool_slots, executor_config"
    values = f"'{uuid.uuid4().hex}', '{task}', '{DAG}', '{run_id}', -1, 1, '{state}', 'p', 1"
    return f"INSERT INTO task_instance ({names}) VALUES ({values}, X'{pickle.dumps({}).hex()}')"


@pytest.fixture
def runs_of_airflow(airflow_database):
    """Runs of the DAG in Airflow's database: `first` is at work and asks a question, `second` is queued behind it."""
    from airflow._shared.timezones import timezone  # noqa: PLC0415
    from airflow.models.dag import DagModel  # noqa: PLC0415
    from airflow.models.dagbundle import DagBundleModel  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    dag = DagModel(dag_id=DAG, bundle_name="dags", max_active_runs=1, is_paused=False)
    runs = [
        DagRun(dag_id=DAG, run_id=run_id, run_type="manual", state=state, run_after=timezone.utcnow())
        for run_id, state in (("first", "running"), ("second", "queued"), ("ended", "failed"))
    ]
    with create_session() as session:
        session.merge(DagBundleModel(name="dags"))
        session.flush()
        session.add(dag)
        session.flush()
        session.add_all(runs)
    with sqlite3.connect(airflow_database) as database:
        database.execute(task_of("first", "approve", "awaiting_input"))
    database.close()

    def change(statement: str) -> None:
        with sqlite3.connect(airflow_database) as database:
            database.execute(statement)
        database.close()

    yield change
    change("DELETE FROM dag_run_note")
    for table in ("task_instance", "dag_run", "dag"):
        change(f"DELETE FROM {table} WHERE dag_id IN ('{DAG}', 'mq_undo', 'mq_recover', 'mq_trigger_explain')")


def test_a_run_that_is_queued_names_the_runs_that_it_waits_for(estate_folder, client, runs_of_airflow):
    def said(run_id: str) -> str:
        answer = client("/run", dag_id=DAG, run_id=run_id)
        assert answer.status_code == 404
        return str(answer.text)

    assert "Airflow has 1 run of qm1_dlq_rules at work at a time. It starts when one of these ends." in said("second")
    link = '<a class="name" href="/run?dag_id=qm1_dlq_rules&amp;run_id=first">first</a>'
    assert f"{link}: it waits for an answer</li>" in said("second")
    assert "its first task has not finished" in said("first")
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


def of_dag(run: RunFolder, run_id: str, **found: str) -> RunFolder:
    """A run of the lake as one that a DAG has made."""
    key = run.path.parent / run_key(DAG, run_id)
    run.path.rename(key)
    write_json(RunFolder(key).path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": run_id, "found": found})
    return RunFolder(key)


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


def test_that_an_approved_run_is_not_carried_out_is_a_problem(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    """As after a stop that was taken back: its act failed, and nothing was moved."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "first")
    question = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
    answer = {"approved": True, "by": "bob", "at": utc_now()}
    write_json(run.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": answer})
    with_act = task_of("first", "act", "queued")
    runs_of_airflow(with_act)

    def said() -> tuple[bool, str]:
        text = f"Run {run.run} was approved, and it has moved nothing: nothing is at work on it"
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


def test_a_stopped_run_is_resumed_on_its_page_and_goes_on_there(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A", "A", "FULL")
    run = of_dag(planned(manager, estate_folder / "lake"), "first")
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "run": run.run})
    act(manager.connection, run, unit_size=1)
    summary = prove(manager.connection, run)
    write_json(run.path.joinpath("summary.json"), {**summary.to_json(), "finished": False, "moved": 1, "left": 2})
    stop(run.path, Stop(by="carol", at=utc_now()))
    runs_of_airflow("UPDATE dag_run SET state = 'failed' WHERE run_id = 'first'")
    runs_of_airflow("DELETE FROM task_instance WHERE run_id = 'first'")
    for task in ("act", "prove"):
        runs_of_airflow(task_of("first", task, "failed"))

    def page(role: str) -> str:
        return re.sub(r"\s+", " ", unescape(client("/run/live", role, dag_id=DAG, run_id="first").text))

    assert "it balances. The task prove ended as failed because the run was stopped and is not finished<" in page(
        "viewer"
    )
    cleared = json.dumps({"dag_id": DAG, "run_id": "first", "task_ids": ["act", "prove"]})
    once = f'data-clears="{cleared}"'
    assert '"run": "' + run.run in page("operator")
    form = re.findall('<form class="starts" id="resume-on".*?</form>', page("operator"))
    assert [(' data-starts="mq_stop"' in one, once in one) for one in form] == [(True, True)]
    assert ">Resume this run, and go on</button>" in form[0]
    assert ">Resume this run</button>" in page("approver")  # who may not clear tasks
    assert "data-clears" not in page("approver")
    assert "Go on with this run" not in page("operator")
    stop(run.lake_folder, Stop(by="carol", at=utc_now()))  # two stops: what is taken back first leaves the other
    assert ">Resume this run</button>" in page("operator")
    assert ">Resume all runs</button>" in page("operator")
    lift(run.path)
    assert "This takes the stop back for all runs, and moves nothing" in page("operator")
    assert "data-clears" not in page("operator")
    lift(run.lake_folder)
    assert "data-over" not in page("operator")
    task = f'<a href="/dags/{DAG}/runs/first/tasks/act" data-airflow-page>'
    assert once in page("operator")
    assert "Resume this run" not in page("operator")
    assert task in page("operator")
    assert "data-clears" not in page("approver")  # who may not clear tasks
    assert f"when a person who may clear its tasks clears act and prove: {task}" in page("approver")
    old = "1 moved + 0 discarded + 2 left + 0 gone"
    assert f"<p>3 planned = {old}.</p>" in page("operator")
    runs_of_airflow("UPDATE dag_run SET state = 'running' WHERE run_id = 'first'")
    runs_of_airflow("UPDATE task_instance SET state = 'running' WHERE run_id = 'first' AND task_id = 'act'")
    now = page("operator")
    assert '<span class="badge note">at work</span> in Airflow the task act is on its way.' in now
    assert "data-clears" not in now
    assert f"<p>3 planned = {old}.</p>" not in now
    assert re.search(
        rf"Not proved since the run went on. The proof of <time .*</time> found 3 planned = {re.escape(old)} then", now
    )
    assert "Balance by rule" not in now


def test_a_run_that_was_stopped_before_it_began_to_act_goes_on_too(manager, estate_folder, client, runs_of_airflow):
    """One that the policy of the estate approves has no answer of a person."""
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "ended")
    prove(manager.connection, run)
    runs_of_airflow(task_of("ended", "prove", "failed"))
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "data-clears" not in page  # nobody has said that it shall act
    assert "data-over" in page
    runs_of_airflow(task_of("ended", "act", "failed"))
    stop(run.path, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "Resume this run, and go on" in page
    assert "Go on with this run" not in page
    assert "data-over" not in page
    lift(run.path)
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "data-clears" in page
    assert "data-over" not in page


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
    assert "QM1: quality checks of 2 queues</h1>" in page
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
            Checked(QualitySummary).of(found.to_json() | {"messages": messages}, Path("quality.json")), "http://docs"
        )
        docs = "[Data Docs](http://docs) have each check's figures"
        assert note == f"{words}. The page Quality names the messages that failed; {docs}."
        page = said(run=run.run)
        assert f'<span class="badge {state}</span> {words}.' in page
        assert f"{link}Look at the checks</a>" in page
        assert "nothing was planned" not in page.lower()
        assert '<th scope="row">prove</th>' not in page  # it has none of these steps
        (row,) = re.findall(r"<tr>.*?snapshot_quality.*?</tr>", said("/estate/live"), re.DOTALL)
        assert f"badge {state}</span>" in row
        assert f'<td colspan="5">{link}{words}</a></td>' in row
    write_json(run.quality_json, found.to_json() | {"balanced": False})
    assert '<span class="badge bad">not in order</span> the counts of the checks do not add up.' in said(run=run.run)


def test_the_real_run_after_the_dry_run_of_an_undo_is_called_one(manager, estate_folder, client, runs_of_airflow):
    _run, undo = undo_planned(manager, estate_folder / "lake")
    write_json(undo.path.joinpath("handed_on.json"), {"dag_id": "mq_undo", "run_id": "ended", "found": {}})
    prove(manager.connection, undo)
    runs_of_airflow("UPDATE dag_run SET dag_id = 'mq_undo' WHERE run_id = 'ended'")

    def page() -> str:
        return str(client("/run", "operator", queue_manager="QM1", run=undo.run).text)

    assert "Start the real undo" in page()
    asks = "nothing is moved before somebody approves the plan."
    assert f"{asks}</p>" in page()
    eyes = "    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}\n"
    (estate_folder / "estate.yaml").write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n{eyes}")
    assert f"{asks} The estate asks for four eyes: that is another person than you.</p>" in page()


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
    assert f'<h1 class="name">QM1: would act on 1 of 1 message of {DLQ}</h1>' in page.replace("<wbr>", "")
    assert "Watch the run" not in page
    assert "task approve" not in page
    plan = json.loads(run.plan_json.read_text())
    write_json(run.plan_json, {**plan, "actions": {"IGNORE": 1}})  # which acts on nothing
    for path in ("/run", "/plan"):
        assert "Start the real run" not in client(path, "operator", dag_id=DAG, run_id="ended").text
    write_json(run.plan_json, plan)
    runs_of_airflow("""UPDATE dag_run SET conf = '{"dry_run": false}' WHERE run_id = 'ended'""")
    for path in ("/run", "/plan"):
        assert "Start the real run" not in client(path, "operator", dag_id=DAG, run_id="ended").text
    page = client("/plan", dag_id=DAG, run_id="ended").text.replace("<wbr>", "")
    assert f'<h1 class="name">QM1: plan to act on 1 of 1 message of {DLQ}</h1>' in page
    assert "See the run" in page  # which is proved
    assert "Watch the run" not in page


def test_the_queue_of_a_dry_run_by_hand_is_corrected_and_its_messages_stay_chosen(
    manager, estate_folder, client, runs_of_airflow
):
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "ended")
    form = {"action": "move", "queue": DLQ, "message_ids": ["00" * 24], "destination": 'NO"SUCH', "dry_run": True}
    runs_of_airflow(f"UPDATE dag_run SET conf = '{json.dumps(form)}' WHERE run_id = 'ended'")
    prove(manager.connection, RunFolder(run.path))
    for path in ("/run", "/plan"):
        page = client(path, "operator", dag_id=DAG, run_id="ended").text
        (real,) = re.findall('<form class="starts" id="real".*?</form>', page, re.DOTALL)
        (fixed,) = re.findall('data-fixed="([^"]*)"', real)
        assert json.loads(unescape(fixed)) == {**form, "dry_run": False}
        assert 'name="destination" maxlength="48" size="34" required value="NO&#34;SUCH">' in real
        assert '<input type="checkbox" name="dry_run"> Dry run' in real
        assert "Start another dry run</span>" in real


def test_a_real_run_that_would_wait_for_an_open_question_says_so_before_it_is_started(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    lake = estate_folder / "lake"
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    monkeypatch.setattr(shared, "KEPT", 0.0)
    letters(manager, "A", "FULL", "FULL")
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
        return [link in page for page in found]

    def on_estate() -> list[bool]:
        """Whether its question says so, and the row of the queue, which has a link to the plan."""
        page = client("/estate", queue_manager="QM1").text.replace("<wbr>", "")
        row = page.split(f'id="queue-QM1-{DLQ}"')[1].split("</tr>")[0]
        plan = f'<a href="/plan?queue_manager=QM1&amp;run={waits.run}">a plan waits for an answer</a>'
        question = "Until it is answered, a real run of dlq_rules or mq_recover on this queue plans nothing."
        acts = "which acts on 3 of 3 messages (1 of which would stay, as its destinations were then), waits for an"
        assert (acts in page) == (question in page)
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


def test_what_was_moved_by_hand_while_a_plan_waited_is_gone_when_the_plan_is_carried_out(
    manager, estate_folder, client
):
    """The plan leaves such messages where they are. A run of the command waits for no question of Airflow."""
    lake = estate_folder / "lake"
    letters(manager, "A")
    (msg_id,) = [one.hex() for one in manager.put(DLQ, [({}, b"raw")])]
    run = planned(manager, lake)
    what = RecoverRequest(connection=manager.connection, lake=lake, do=Do.MOVE, queue=DLQ, msg_ids=(msg_id,), to="A")
    carry_out(RECOVER, what, *plan_run(RECOVER, what))
    act(manager.connection, run)
    prove(manager.connection, run)
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert "2 planned = 1 moved + 0 discarded + 0 left + 1 gone." in page
    assert "it balances" in page
    assert 'data-starts="mq_recover"' not in page


def test_a_form_that_moves_messages_says_that_a_plan_of_their_queue_waits(
    manager, estate_folder, client, runs_of_airflow, monkeypatch
):
    """On the page of that plan's own run, too; and nothing of a plan of another queue."""
    lake = estate_folder / "lake"
    manager.mqsc("DEFINE QLOCAL(MY.BACK)\nDEFINE QLOCAL(MY) BOQNAME(MY.BACK) BOTHRESH(1)")
    manager.put("MY.BACK", [({}, b"x")])
    (msg_id,) = [one.hex() for one in manager.put(DLQ, [({}, b"raw")])]
    dead = planned(manager, lake)
    what = RecoverRequest(
        connection=manager.connection, lake=lake, do=Do.MOVE, queue="MY.BACK", to="A", everything=True
    )
    backed_out, _plan = plan_run(RECOVER, what)
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate_page.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    pages = {
        dead: [
            ("/run", {"run": dead.run}),
            ("/run/live", {"run": dead.run}),
            ("/messages/one", {"run": dead.run, "queue": DLQ, "msg_id": msg_id}),
        ],
        backed_out: [("/estate", {}), ("/estate/live", {})],
    }
    for waits in pages:
        kept = of_dag(waits, "first")
        question = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
        write_json(kept.path.joinpath("approval.json"), {"question": question, "task_instance": "i", "answer": None})
        said = f'<a href="/plan?queue_manager=QM1&amp;run={kept.run}">Look at that plan and its question</a>'
        for run, places in pages.items():
            for path, query in places:
                address = {"queue_manager": "QM1", **query, **({"run": kept.run} if run is waits and query else {})}
                page = client(path, "operator", **address).text
                assert (said in page) == (run is waits), (path, query)
                assert page.find(said) < page.index('data-starts="mq_recover"'), (path, query)
                assert said not in client(path, "viewer", **address).text
        kept.path.rename(waits.path)


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
        answer = {"approved": True, "by": "olga", "at": "2026-11-21T12:00:00Z"}
        write_json(
            run.path.joinpath("approval.json"), {"question": {"digest": "d"}, "task_instance": "i", "answer": answer}
        )
        page = client("/plan/answer", queue_manager="QM1", run=run.run).text
        assert "Approved by" in page
        assert "Watch the run" in page
        assert re.search(said, page)
        write_json(
            run.path.joinpath("approval.json"), {"question": {"digest": "d"}, "answer": {**answer, "approved": False}}
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


def test_a_run_that_waits_says_who_may_answer_and_where(manager, estate_folder, client, runs_of_airflow, monkeypatch):
    letters(manager, "A", "NO.RULE")
    monkeypatch.setattr(shared, "KEPT", 0.0)
    run = of_dag(planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n"), "first")
    write_json(run.path.joinpath("approval.json"), {"question": {"digest": "d"}, "task_instance": "i", "answer": None})
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
    assert re.search(r"You may not answer\.\s+Look at the plan", viewer)
    runs_of_airflow("UPDATE task_instance SET state = 'failed' WHERE run_id = 'first'")
    assert address not in client("/run/live", queue_manager="QM1", run=run.run).text


@pytest.mark.parametrize(
    ("dag_id", "asks"), [(DAG, False), ("qm1_backout_reprocess", True), ("mq_undo", True), ("mq_recover", True)]
)
def test_four_eyes_are_those_of_the_workflow_and_of_all_for_a_dag_of_all(estate_folder, dag_id, asks):
    workflows = (
        "    dlq_rules: {rules: qm1.rules}\n"
        "    backout_reprocess: {rules: qm1.rules, quarantine: Q, approval: {four_eyes: true}}\n"
    )
    text = f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n{workflows}"
    (estate_folder / "estate.yaml").write_text(text)
    assert asks_for_four_eyes(estate_file(), dag_id) == asks


def test_tasks_to_come_stand_in_the_order_in_which_they_run(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A")
    key = estate_folder / "lake" / "QM1" / "runs" / run_key(DAG, "first")
    observe(manager.connection, RunFolder(key), [DLQ])
    write_json(RunFolder(key).path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": "first", "found": {}})
    for task in ("act", "decide", "prove", "route"):
        runs_of_airflow(task_of("first", task, "scheduled"))
    runs_of_airflow(task_of("first", "observe", "running"))
    page = client("/run", dag_id=DAG, run_id="first").text
    tasks = page.split("Tasks of the run in Airflow</span>")[1].split("</tbody>")[0]
    assert re.findall(r'<th scope="row">(\w+)</th>', tasks) == ["observe", "decide", "route", "approve", "act", "prove"]
    assert "Not planned yet." in page


WITH_A_RUN = ("backout_reprocess", "dlq_rules", "expiry_scan", "recover", "snapshot_quality", "undo")
"""The DAG files whose runs have a folder, and so a page."""


@pytest.mark.parametrize("name", WITH_A_RUN)
def test_the_order_of_tasks_is_that_of_the_dags(dag_file, all_workflows, name):
    dags = [dag for dag in vars(dag_file(name)).values() if isinstance(dag, SdkDag) and len(dag.tasks) > 1]
    (dag,) = dags
    for task in dag.tasks:
        for behind in task.downstream_task_ids:
            assert ORDER.index(task.task_id) < ORDER.index(behind), (task.task_id, behind)


def test_a_msgid_leads_to_its_message(manager, estate_folder, client):
    manager.put(DLQ, [dead_letter("A", b"moved"), dead_letter("NO.RULE", b"one"), dead_letter("NO.RULE", b"two")])
    manager.put(DLQ, [dead_letter("NO.RULE", b"same", MsgId=b"same".ljust(24))] * 2)
    run = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n")
    act(manager.connection, run)
    prove(manager.connection, run)
    links = re.findall(r'href="(/messages/one\?[^"]*)"', client("/run", queue_manager="QM1", run=run.run).text)
    assert len(links) == 4
    assert "<h1>Message</h1>" in client(unescape(links[0])).text
    assert "<span>Messages that fit: 2</span>" in client(unescape(links[3])).text  # the list, where one is not enough
    sample = re.search(r'href="(/messages/one\?[^"]*)"', client("/plan", queue_manager="QM1", run=run.run).text)
    assert sample
    assert client(unescape(sample[1])).status_code == 200


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


def test_a_scan_for_expired_messages_tells_what_the_queue_manager_discarded(manager, estate_folder, client):
    manager.put("A", [({"Expiry": 1}, b"short")] * 3 + [({}, b"stays")] * 2)
    let_expire(1)
    run = RunFolder.at(estate_folder / "lake", "QM1", "scan")
    run.path.mkdir(parents=True)
    with connect(manager.connection) as session:
        write_summary(run, "QM1", [scan_queue(session, "A", now=lambda: datetime.now(UTC))])
    page = client("/run", queue_manager="QM1", run="scan").text
    assert "5 found = 3 discarded by the queue manager, because they had expired + 2 left." in page
    cells = ['<td class="name">A</td>', *(f'<td class="number">{number}</td>' for number in (5, 3, 2, 0))]
    assert "".join([*cells, "<td>none expires</td>"]) in page
    assert "Nothing was planned" not in page
    (row,) = re.findall(r"<tr>.*?scanned.*?</tr>", client("/estate", queue_manager="QM1").text, re.DOTALL)
    figures = re.findall(r'<td class="number">(.*?)</td>', row)
    assert figures == ["–", "–", "3", "2", "–"]


def test_a_scan_tells_how_much_the_dead_letter_queue_grew_and_about_only_where_it_says_so(
    manager, estate_folder, client
):
    """A report whose reply-to queue is not there is put on the dead-letter queue."""
    report = {"Expiry": 1, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    dead = manager.depth(DLQ)

    def scanned(run: str, *queues: str) -> str:
        folder = RunFolder.at(estate_folder / "lake", "QM1", run)
        folder.path.mkdir(parents=True)
        with connect(manager.connection) as session:
            before = dead_letters_now(session)
            scans = [scan_queue(session, queue, now=lambda: datetime.now(UTC)) for queue in queues]
            write_summary(folder, "QM1", scans, dead_letters_since(session, before))
        text = unescape(client("/run", queue_manager="QM1", run=run).text.replace("<wbr>", ""))
        return " ".join(re.sub("<[^>]*>", "", text).split())

    manager.put("A", [(report, b"x")] * 3)
    let_expire(1)
    said = scanned("reports", "A")
    assert "goes to the dead-letter queue, and any other is dropped. " in said
    grew = f"{DLQ} grew by 3 messages during the scan: {dead} before, {dead + 3} after. "
    assert f"{grew}Look at them: no run has looked at the queue since. When one has, that page and this one" in said
    link = f'<a href="/dead_letters?queue_manager=QM1&queue={DLQ}">Look at them</a>'
    assert link in unescape(client("/run", queue_manager="QM1", run="reports").text)
    assert "About" not in said
    assert "reply-to queue" not in scanned("nothing", "A")
    manager.put(DLQ, [({"Expiry": 1}, b"x")] * 2)
    manager.put("A", [(report, b"x"), ({"Expiry": 1}, b"x")])
    let_expire(1)
    with connect(manager.connection) as session:
        handle = session.open("A", CMQC.MQOO_OUTPUT)
        said = scanned("both", "A", DLQ)
        session.close(handle)
    both = (
        f"grew by 1 message during the scan, besides what was discarded from it: {dead + 5} before, {dead + 4} after."
    )
    assert both in said
    assert '"About": other programs had the queue open meanwhile' in said
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    after = dead + 4
    assert f"{DLQ} did not grow during the scan: {after} before, {after} after." in scanned("none", "A")
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    assert "How many went there is not known." in scanned("unknown", "A")


def test_a_scan_names_the_reasons_of_its_reports_as_soon_as_a_run_has_looked(manager, estate_folder, client):
    """Reports that were there before the scan, and dead letters that are no reports, do not count."""
    report = {"Expiry": 1, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    lake = estate_folder / "lake"

    def expired(*replies: str) -> None:
        manager.put("A", [({**report, "ReplyToQ": name}, b"x") for name in replies])
        let_expire(1)

    def scanned(run: str) -> None:
        folder = RunFolder.at(lake, "QM1", run)
        folder.path.mkdir(parents=True)
        with connect(manager.connection) as session:
            before = dead_letters_now(session)
            scans = [scan_queue(session, "A", now=lambda: datetime.now(UTC))]
            write_summary(folder, "QM1", scans, dead_letters_since(session, before))

    def said(run: str) -> str:
        text = unescape(client("/run", queue_manager="QM1", run=run).text.replace("<wbr>", ""))
        return " ".join(re.sub("<[^>]*>", "", text).split())

    manager.put("FULL", [({}, b"x")])
    expired("NO.SUCH")
    scanned("before")
    expired("FULL", "NO.SUCH", "NO.SUCH")
    letters(manager, "NO.RULE")
    scanned("scan")
    assert "When one has, that page and this one name the reasons" in said("scan")
    looked = planned(manager, lake)
    page = said("scan")
    assert f"Of the dead letters that run {looked.run} found there at " in page
    assert (
        "3 are reports of expiry that came since the scan began. They could not be put on the reply-to queue: " in page
    )
    reasons = (
        "2 with MQRC_UNKNOWN_OBJECT_NAME: the reply-to queue is not defined"
        "1 with MQRC_Q_FULL: the reply-to queue was full"
    )
    assert reasons in page
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    scanned("none")
    planned(manager, lake)
    assert "reports of expiry" not in said("none")
