"""What a page says of the difference between a recorded list and the queue as it is now."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from ledger_opened import act, observe, prove
from mixed_messages import ALL_CONTEXT
from mq_support import DLQ, dead_letter
from pages_lake import check_quality
from runs_on_pages import letters, planned, take, words_of

from mqops.lake.run import RunFolder
from mqops_airflow.pages import queue_figures, shared
from mqops_airflow.runs.run_folder import run_key

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    dlq_rules: {rules: qm1.rules}
    expiry_scan: {queues: ['*']}
"""


@pytest.fixture
def asks(manager, estate_folder, client, monkeypatch) -> Any:
    """A page of QM1 as an operator sees it; nothing is kept for a moment."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    monkeypatch.setattr(queue_figures.ANSWERS, "kept", 0.0)
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv(
        "AIRFLOW_CONN_MQ_TEST",
        json.dumps({"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}),
    )
    (estate_folder / "estate.yaml").write_text(ESTATE)
    return lambda path, **query: client(path, "operator", queue_manager="QM1", **query).text


def test_a_list_says_how_many_came_or_went_since_and_offers_a_new_look(manager, estate_folder, asks):
    letters(manager, "A", "A")
    run = RunFolder.at(estate_folder / "lake", "QM1", "seen")
    observe(manager.connection, run, [DLQ])
    assert f"{DLQ} has 2 messages now. The list has 2. Whether applications took some" in words_of(asks("/messages"))
    letters(manager, "A", "A", "A")
    page = asks("/messages")
    assert f"{DLQ} has 5 messages now. The list has 2. That is 3 more: messages came since" in words_of(page)
    assert f"A new look: mqops snapshot {DLQ} -m QM1" in words_of(page)
    (estate_folder / "estate.yaml").write_text(ESTATE + "    snapshot: {}\n")
    take(manager, DLQ, 4)
    page = asks("/messages")
    assert f"{DLQ} has 1 message now. The list has 2. That is 1 fewer: applications took messages" in words_of(page)
    form = re.search(r'<form class="starts" id="new-look".*?>', page, re.DOTALL)
    assert form
    assert 'data-starts="qm1_snapshot"' in form[0]
    assert json.loads(unescape(re.search('data-fixed="([^"]*)"', form[0])[1])) == {"queues": [DLQ]}
    assert f'data-then="/messages?queue_manager=QM1&amp;queue={DLQ}"' in form[0]
    assert "That is" not in words_of(asks("/messages", application="nobody"))


def test_of_equal_messages_of_which_a_run_took_one_it_is_not_said_that_the_others_came_since(
    manager, estate_folder, asks
):
    same = {"MsgId": b"S" * 24, "PutApplName": b"same"}
    manager.put(
        DLQ, [dead_letter("A", b"same", **same, PutDate=b"20260101", PutTime=b"10000000")] * 3, options=ALL_CONTEXT
    )
    run = planned(manager, estate_folder / "lake", text="ACTION(RETRY)")
    take(manager, DLQ, 2)
    act(manager.connection, run)
    prove(manager.connection, run)
    again = dead_letter("A", b"same", **same, PutDate=b"20260101", PutTime=b"10000000")
    manager.put(DLQ, [again] * 2, options=ALL_CONTEXT)
    page = words_of(asks("/messages", run=run.run, there="now"))
    assert (
        "That is 2 more: messages came since the snapshot, or are such copies. 2 messages are equal in everything"
        in page
    )


def test_no_page_shows_figures_of_before_the_newest_proof(manager, estate_folder, asks, monkeypatch):
    """Issue 37: an answer is good for an hour here, and no longer than to the next proof."""
    monkeypatch.setattr(queue_figures.ANSWERS, "kept", 3600.0)
    letters(manager, "A", "A")
    run = planned(manager, estate_folder / "lake", text="ACTION(RETRY)")
    assert f"{DLQ} has 2 messages now. The list has 2." in words_of(asks("/messages"))
    assert "2 messages then 2 now" in words_of(asks("/dead_letters"))
    act(manager.connection, run)
    prove(manager.connection, run)
    listed = words_of(asks("/messages"))
    assert f"{DLQ} has 0 messages now. The list has 0." in listed
    assert "more: messages came since" not in listed
    assert "2 messages then 0 of them left by runs 0 now" in words_of(asks("/dead_letters"))
    assert f"{DLQ} 2 The queue has 2 messages now" not in words_of(asks("/expiry"))


def test_the_list_of_a_queue_is_that_of_its_newest_snapshot_and_a_new_look_shows_what_it_found(
    manager, estate_folder, asks, client, runs_of_airflow
):
    """Not the one with most messages: applications have taken them. Nor is it compared where it was made with a
    limit."""
    for before, run_id in (("first", "again"), ("second", "made nothing"), ("ended", "made a part")):
        named = f"dag_id = 'qm1_snapshot', run_id = '{run_id}', state = 'failed'"
        runs_of_airflow(f"UPDATE dag_run SET {named} WHERE run_id = '{before}'")
    (estate_folder / "estate.yaml").write_text(ESTATE + "    snapshot: {}\n")
    letters(manager, "A", "A")
    planned(manager, estate_folder / "lake")
    take(manager, DLQ, 1)
    observe(manager.connection, RunFolder.at(estate_folder / "lake", "QM1", "seen"), [DLQ])
    assert f"{DLQ} has 1 message now. The list has 1." in words_of(asks("/messages", queue=DLQ))
    take(manager, DLQ, 1)
    again = RunFolder.at(estate_folder / "lake", "QM1", run_key("qm1_snapshot", "again"))
    observe(manager.connection, again, [DLQ])
    seen = {"queue_manager": "QM1", "queue": DLQ, "dag_id": "qm1_snapshot"}
    found = client("/messages", "operator", **seen, run_id="again")
    assert f"{DLQ} has 0 messages now. The list has 0. The list is without" in words_of(found.text)
    assert "The list has 1." in words_of(client("/messages", "operator", **seen, run_id="made nothing").text)
    failed = client("/messages", "operator", **seen, run_id="again", state="failed")
    assert f"{DLQ} has 0 messages now. The list has 0. The list is without" in words_of(failed.text)
    assert "The run that took this snapshot failed afterwards: its page says what failed." in words_of(failed.text)
    assert 'href="/run?dag_id=qm1_snapshot&amp;run_id=again"' in failed.text
    other = client("/messages", "operator", **seen, run_id="again", state="failed", application="nobody").text
    (link,) = re.findall(r'href="(/messages[^"]*run=seen[^"]*)"', other)
    assert "The new look failed" not in words_of(client(unescape(link), "operator").text)
    check_quality(again, 2)
    assert "what failed, and what its checks found of the snapshot." in words_of(
        client("/messages", "operator", **seen, run_id="again", state="failed").text
    )
    part = RunFolder.at(estate_folder / "lake", "QM1", run_key("qm1_snapshot", "made a part"))
    part.snapshot.mkdir(parents=True)
    for run_id in ("made nothing", "made a part"):
        failed = client("/messages", "operator", **seen, run_id=run_id, state="failed")
        assert "The list has 1." in words_of(failed.text)
        assert "The new look failed before it had a snapshot: its page says what failed." in words_of(failed.text)
    for state in ("running", "success"):  # somebody has cleared it
        runs_of_airflow(f"UPDATE dag_run SET state = '{state}' WHERE run_id = 'again'")
        cleared = words_of(client("/messages", "operator", **seen, run_id="again", state="failed").text)
        assert "The list has 0." in cleared
        assert "failed" not in cleared
    for dag_id in ("everything is lost. Call 555", "mq_undo", "qm2_snapshot"):  # of a link that somebody has made
        page = client("/messages", "operator", queue_manager="QM1", queue=DLQ, failed_dag=dag_id, failed_run="again")
        assert "failed" not in words_of(page.text)
        assert dag_id not in page.text
    letters(manager, "A", "A", "A")
    observe(manager.connection, RunFolder.at(estate_folder / "lake", "QM1", "part"), [DLQ], limit=2)
    part = words_of(asks("/messages", queue=DLQ, run="part", there="now"))
    assert f"{DLQ} has 3 messages now. The list is without" in part
    assert "messages came since the snapshot" not in part


def test_the_page_expiry_names_the_dead_letter_queue_that_the_scan_leaves_out(manager, estate_folder, asks):
    letters(manager, "A")
    left_out = f"the scan for expired messages leaves out {DLQ} , the dead-letter queue: the pattern * of the estate"
    assert left_out in words_of(asks("/expiry"))
    (estate_folder / "estate.yaml").write_text(ESTATE.replace("['*']", "['*', 'SYSTEM.DEAD*']"))
    assert "leaves out" not in words_of(asks("/expiry"))
