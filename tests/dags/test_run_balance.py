"""What became of the messages of a run, or would: sums, tables, reasons."""

from __future__ import annotations

import json
import re
from html import unescape

import pyarrow.parquet as pq
import pytest
from ledger_opened import act, prove
from mq_support import DLQ
from runs_on_pages import QUESTION, letters, link_of, planned, take, words_of

from mqops.act.core.progress import Tally
from mqops.actions import Action
from mqops.clock import utc_now
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import criteria
from mqops.look.run_story import run_story
from mqops.look.run_view import latest_view
from mqops.look.words.fates import WHY_LEFT
from mqops_airflow.pages import estate as estate_page


def test_a_run_that_waits_has_left_nothing_yet(manager, estate_folder, client):
    letters(manager, "A", "NO.RULE")
    run = planned(manager, estate_folder / "lake", text="DESTQ(A) ACTION(RETRY)\n")
    page = client("/run", queue_manager="QM1", run=run.run).text
    assert "So far nothing was moved or discarded. The plan has 2 messages, and acts on 1 of them." in page
    assert "the table leaves it" not in page
    answer = {"approved": False, "by_id": "7", "by": "olga", "at": "2026-11-21T12:00:00Z"}
    write_json(run.path.joinpath("approval.json"), {"question": QUESTION, "task_instance": "i", "answer": answer})
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
    assert "data-listed" not in page  # a viewer starts nothing
    page = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert page.count("data-listed") == 2  # what was left can be ticked (issue 37 B3)
    assert 'id="choose-left"' in page
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
    listed = page.split("0 messages would stay, 2 are gone</h3>")[1].split("<h2>Steps")[0]
    assert "The same in all 2 rows. Outcome: gone; Why: not on the queue when the run was proved" in listed
    assert listed.count("data-copy=") == 2


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
    heads = re.findall(r'<th class="number"[^>]*>([^<]*)</th>', page.split("<h3>1 message would stay")[0])
    assert heads == ["Planned", "Would be moved", "Would be discarded", "Would stay"]
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


def test_a_dry_run_says_what_stands_in_the_way_of_its_plan(manager, estate_folder, client):
    """What no destination takes is not counted as moved: in the sum, by rule, in the list."""
    letters(manager, "NOT.THERE")
    run = planned(manager, estate_folder / "lake", text="ACTION(RETRY)\n")
    prove(manager.connection, run)
    page = client("/run", queue_manager="QM1", run=run.run).text
    said = page.split("<h2>What the plan would do</h2>")[1]
    assert said.startswith('<p class="problem bad"><strong>Problem:</strong> NOT.THERE@QM1: MQOPEN for puts fails')
    words = words_of(said)
    assert (
        "1 planned = 0 would be moved + 0 would be discarded + 1 would stay. 1 message would stay because of" in words
    )
    assert "<li>1 would stay (the destination does not exist)</li>" in said
    assert "line 1 RETRY ACTION(RETRY) 1 0 0 1 " in words
    assert "</figure>" not in said  # a chart of one bar says nothing more (issue 37 C9)
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
    assert "line 2 RETRY DESTQ(FULL.TOO) ACTION(RETRY) 3 1 0 2 " in words
    assert "line 3 RETRY ACTION(RETRY) 4 3 0 1 " in words
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
        "its application runs), or raise MAXDEPTH: <code>ALTER QLOCAL(FULL) MAXDEPTH(2)</code> <button "
        'type="button" class="copy" data-copy="ALTER QLOCAL(FULL) MAXDEPTH(2)"'
    )
    assert f'<h3>What to do about MQRC_Q_FULL</h3><p class="problem note"><strong>Note:</strong> {text}' in page
    of_estate = said("/estate")
    assert "FULL is 100 % full (CURDEPTH 1, MAXDEPTH 1). " in of_estate
    assert text.partition(": let")[2] in of_estate.partition("What to do</summary><p>Let")[2]
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
    since = f"<strong>Since then:</strong> messages of this queue were moved or discarded by {link_of(later)}. "
    assert f"{since}What was left here may be there no more." in said(run)
    assert f"{since}The figures below are those before; a new run looks again." in said(dry)
    assert "Since then" not in said(later)


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
    view = latest_view(run)
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
    assert re.search(r"Last unit of work \d+ s ago\.", client("/run/live", queue_manager="QM1", run=run.run).text)
    for reached, said in (({}, "done yet."), ({"0": 1}, "done yet since the run went on.")):
        tally = Tally(reached=reached).to_json()
        write_json(run.path.joinpath("progress.json"), {"at": utc_now(), "planned": 3, "seconds": 1.0, "tally": tally})
        page = client("/run/live", queue_manager="QM1", run=run.run).text
        assert f"No unit of work is {said}" in page
        assert "Last unit of work" not in page
