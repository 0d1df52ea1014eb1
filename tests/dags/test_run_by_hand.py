"""Messages that a person must place: the forms that move them, and what is said of those that are left."""

from __future__ import annotations

import json
import re
from html import unescape

from ledger_opened import act, prove
from mq_support import DLQ, create, dead_letter
from pymqi import CMQC
from runs_on_pages import DAG, HOSTILE, letters, link_of, of_dag, planned, take, words_of

from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.unmoved import MOST_BY_HAND
from mqops.rules import parse
from mqops_airflow.notices.outcome_text import Ending, outcome_text
from mqops_airflow.pages import estate as estate_page
from mqops_airflow.pages import shared


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
    assert "The same in all 2 rows. By: &lt;script&gt;alert(1)&lt;/script&gt;." in form
    assert f'<td>{when}</td><td class="number">6</td>' in form
    assert '<td data-value>–</td><td class="number">10</td>' in form
    for msg_id, others in ticks:
        assert "checked" not in others
        assert f'msg_id={msg_id}" title="{msg_id}">{msg_id[:8]}…{msg_id[-12:]}</a>' in form
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
    assert "<h3>Every chosen message was moved or discarded, 2 others were not chosen</h3>" in page
    assert "<h3>Undo this run</h3>" in page
    assert offered() == set(ids[1:])
    page = unescape(client("/run", "operator", **address).text)
    by = f'by <a class="name" href="/run?queue_manager=QM1&run={first.run}" title="{first.run}">run "'
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
    moved = r'</strong> moved <time [^>]*>[^<]*</time> to <span class="name">A</span> by run '
    link = unescape(link_of(run)).replace("run ", "", 1)
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

    def of(run: RunFolder, queue: str, what: str) -> str:
        link = f'<a href="/run?queue_manager=QM1&run={run.run}" title="{run.run}">{what} '
        taken = "taken <time [^>]*>[^<]*</time> by the run"
        return f'in one snapshot: of <span class="name">{queue}</span>, {taken} {re.escape(link)}'

    assert re.search(of(most, DLQ, "dead letters of"), page(dest_q="A"))
    assert "3 of 3 messages looked at" in page()
    assert "Snapshots of other runs" not in page()
    text = page(run=chosen.run, dest_q="A")
    assert re.search(of(chosen, "A", "chosen messages of"), text)
    assert "No message fits. 1 message looked at." in text
    (link,) = re.findall('<li><a href="(/messages[^"]*)">dlq_rules of SYSTEM.DEAD.LETTER.QUEUE</a>, 3 messages', text)
    assert f"run={most.run}" in link
    assert "2 of 2" not in (found := client(link).text)
    assert len(re.findall('href="/messages/one', found)) == 2


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
        assert 'name="destination" maxlength="48" size="34" required value="NO&#34;SUCH"' in real
        assert '<input type="checkbox" name="dry_run"> Dry run' in real
        assert "Start another dry run</span>" in real


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
    """Nothing is said of a plan of another queue."""
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
    monkeypatch.setattr(shared, "KEPT", 0.0)
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
                if path.startswith("/run"):  # while it waits, its page has no form that plans nothing
                    assert 'data-starts="mq_recover"' not in page
                    continue
                assert (said in page) == (run is waits), (path, query)
                assert page.find(said) < page.index('data-starts="mq_recover"'), (path, query)
                assert said not in client(path, "viewer", **address).text
        kept.path.rename(waits.path)


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
