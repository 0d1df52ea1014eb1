"""The pages Estate and Expiry over genuine runs: what is accounted for, where problems are mended, figures of runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from ledger_opened import act, observe, prove
from mq_support import DLQ, create, dead_letter, let_expire, until
from runs_on_pages import QUESTION

from mqops.clock import utc_now, utc_text
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.guard import GUARD, GuardRequest
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.expiry.queue_manager import dead_letters_now, dead_letters_since, scan_queue
from mqops.expiry.scan import run_scan, write_summary
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, stop
from mqops.ledger.file import LedgerFile
from mqops.ledger.signing import add_key
from mqops.look import accounted
from mqops.look.core.run_state import RunLine
from mqops.look.estate import expiring as expiring_of_estate
from mqops.look.estate.now import ManagerNow
from mqops.look.estate.problem import Problem
from mqops.look.expiry_forecast import MORNING, next_time
from mqops.look.figures import LATE, Figures, QueueFigures
from mqops.look.run_row import run_line
from mqops.look.run_story import run_story
from mqops.look.words.managers import table, tiles
from mqops.look.words.run import WhoAnswers
from mqops.look.words.run_name import name_of
from mqops.message_checks import QualitySummary, QueueQuality
from mqops.mq.connection import connect
from mqops.prove.recovery import drain_earlier_runs
from mqops.quality import trend
from mqops.quality.failed_rows import FAILURES
from mqops.rules import parse
from mqops_airflow.pages import answers, estate, managers_now, render, security, shared
from mqops_airflow.pages.problem_link import Forms
from mqops_airflow.pages.shown import moment, shortened
from mqops_airflow.runs.workplace import estate_path, estate_to_look
from mqwire import constants as c

MQSC = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B.BACK)
DEFINE QLOCAL(C.BACK)
DEFINE QLOCAL(B) BOQNAME(B.BACK) BOTHRESH(3)
DEFINE QLOCAL(C) BOQNAME(C.BACK) BOTHRESH(3)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL(OFFERS) MAXDEPTH(2)
"""
ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    dlq_rules: {rules: qm1.rules}
    backout_reprocess: {rules: back.rules, quarantine: MQOPS.QUARANTINE}
    expiry_scan: {queues: [OFFERS]}
"""
ALL = "Every message that runs moved or discarded on QM1 is accounted for"
NOT_ALL = "Not every message that runs moved or discarded on QM1 is accounted for"
TABLE = "DESTQ(A) ACTION(RETRY)\nDESTQ(DROP) ACTION(DISCARD)\n"


@pytest.fixture
def manager(estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """QM1 of the estate. Its pages keep no answer, and wait for each one, however busy the machine is."""
    (estate_folder / "estate.yaml").write_text(ESTATE)
    (estate_folder / "back.rules").write_text("ACTION(IGNORE)\n")
    made = create(estate_folder / "home", "QM1", MQSC)
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(made.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(managers_now.LEDGERS, "kept", 0.0)
    monkeypatch.setattr(managers_now.EXPIRING, "kept", 0.0)
    monkeypatch.setattr(shared, "KEPT", 0.0)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    return made


@pytest.fixture
def lake(estate_folder: Path) -> Path:
    return estate_folder / "lake"


@pytest.fixture
def dag_run_of(airflow_database: Path) -> Any:
    """Gives a DAG run of Airflow's database a state; makes it where it is not there."""
    from airflow._shared.timezones import timezone  # noqa: PLC0415
    from airflow.models.dag import DagModel  # noqa: PLC0415
    from airflow.models.dagbundle import DagBundleModel  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import delete, select  # noqa: PLC0415

    made = set()

    def change(dag_id: str, run_id: str, state: str) -> None:
        with create_session() as session:
            found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
            if found is None:
                made.add(dag_id)
                session.merge(DagBundleModel(name="dags"))
                session.flush()
                session.merge(DagModel(dag_id=dag_id, bundle_name="dags"))
                session.flush()
                found = DagRun(dag_id=dag_id, run_id=run_id, run_type="manual", run_after=timezone.utcnow())
                session.add(found)
            found.state = state

    yield change
    with create_session() as session:
        for table in (DagRun, DagModel):
            session.execute(delete(table).where(table.dag_id.in_(made)))


@pytest.fixture
def page(client: Any) -> Any:
    """The text of a page as a reader with that role sees it."""

    def shown(path: str = "/estate", role: str = "viewer", **query: str) -> str:
        answer = client(path, role, queue_manager="QM1", **query)
        assert answer.status_code == 200, answer.text
        return unescape(str(answer.text).replace("<wbr>", ""))

    return shown


def planned(manager: Any, lake: Path, *names: str) -> RunFolder:
    """A run of the rules table with a dead letter for each of these destinations."""
    manager.put(DLQ, [dead_letter(name, b"x") for name in names])
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TABLE).table, text=TABLE)
    return plan_run(DEAD_LETTERS, request)[0]


def acted(manager: Any, lake: Path, *names: str) -> RunFolder:
    run = planned(manager, lake, *names)
    act(manager.connection, run)
    prove(manager.connection, run)
    return run


def tile(text: str) -> str:
    """What the estate says of what is accounted for, without its tags."""
    found = re.search(r'<li class="card wide ([a-z]*)" id="accounted".*?</li>', text, re.DOTALL)
    assert found
    return f"{found[1]}: " + " ".join(re.sub("<[^>]*>", " ", found[0]).split())


def row_of(text: str, run: RunFolder) -> list[str]:
    """The cells of a run in the table of runs, without their tags."""
    (row,) = [one for one in text.split("<tr>")[1:] if f'title="{run.run}"' in one]
    return [" ".join(re.sub("<[^>]*>", " ", cell).split()) for cell in re.split(r"</t[dh]>", row)[:-1]]


def problem(text: str, words: str) -> str:
    """The problem that has these words."""
    (found,) = [one for one in re.findall(r'<li class="problem bad">.*?</li>', text, re.DOTALL) if words in one]
    return str(found)


def test_everything_is_accounted_for_when_each_run_that_acted_is_proved_and_the_ledger_verifies(manager, lake, page):
    assert tile(page()) == ": No run has acted on a plan yet"
    run = planned(manager, lake, "A")
    assert tile(page()) == ": No run has acted on a plan yet"
    act(manager.connection, run)
    said = tile(page())
    assert said.startswith(f"warn: {NOT_ALL} yet 0 of 1 run that acted is proved. Not proved: dead letters of QM1, ")
    assert f'run={run.run}" title="{run.run}">dead letters of QM1, ' in page()
    assert " : begun and not proved" in said
    prove(manager.connection, run)
    said = tile(page())
    assert said.startswith(f"good: {ALL} 1 of 1 run that acted is proved: each message of its plan ")
    lines = len((lake / "QM1" / "ledger" / "ledger.jsonl").read_bytes().splitlines())
    assert re.search(
        rf"QM1: its ledger was not changed since it was written, {lines} lines verified at [-0-9]+ [:0-9]+ UTC \.$",
        said,
    )


def test_what_scans_discarded_is_told_beside_what_is_accounted_for(manager, lake, page):
    manager.put("OFFERS", [({"Expiry": 1}, b"x")] * 2)
    let_expire(1)
    run = RunFolder.at(lake, "QM1", "scan")
    run.path.mkdir(parents=True)
    with connect(manager.connection) as session:
        write_summary(run, "QM1", [scan_queue(session, "OFFERS", now=lambda: datetime.now(UTC))])
    said = "Not counted here, because the queue manager does it itself: 2 expired messages that scans made it discard."
    assert tile(page()) == f": No run has acted on a plan yet {said}"
    acted(manager, lake, "A")
    assert said in tile(page())
    assert "<strong>1</strong> queue manager shown</a></li>" in page()


def test_dead_letters_that_came_while_scans_discarded_are_explained(manager, lake, page):
    """As the page of the scan has it: reports that no reply-to queue takes."""
    report = {"Expiry": 1, "Report": c.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    planned(manager, lake, "A")
    manager.mqsc(f"CLEAR QLOCAL({DLQ})")

    def scanned(run: str, *messages: dict[str, Any]) -> str:
        folder = RunFolder.at(lake, "QM1", run)
        folder.path.mkdir(parents=True)
        manager.put("A", [(one, b"x") for one in messages])
        let_expire(1)
        with connect(manager.connection) as session:
            before = dead_letters_now(session)
            scans = [scan_queue(session, "A", now=lambda: datetime.now(UTC))]
            write_summary(folder, "QM1", scans, dead_letters_since(session, before))
        return tile(page())

    assert scanned("none", {"Expiry": 1}).endswith(" 1 expired message that scans made it discard.")
    for run, number in (("one", 2), ("two", 3)):
        said = scanned(run, report)
        grew = f"{DLQ} of QM1 grew by {number - 1} message"
        assert f" {number} expired messages that scans made it discard. {grew}" in said
        name = f'run "{name_of(run_line(RunFolder.at(lake, "QM1", run)), utc_now())}"'
        assert f"put on their reply-to queue go there; see {name} {run} , the newest scan" in said
        assert f'href="/run?queue_manager=QM1&run={run}" title="{run}">{name}</a> ' in page()
    assert scanned("later", {"Expiry": 1}).endswith(f"see {name} two , the newest scan of which this is so.")
    said = "the queue grew by 2 messages during scans for expired messages."
    assert said in page("/dead_letters")
    link = f'see <a class="name" href="/run?queue_manager=QM1&run=two" title="two">{name}</a> '
    assert f'{link}<span class="key" title="two">two</span>.' in page("/dead_letters")
    planned(manager, lake, "A")
    assert said not in page("/dead_letters")  # the run has seen them


def test_P11_queues_that_are_misconfigured_are_told_with_what_mends_them(manager, page):
    manager.mqsc("DEFINE QLOCAL(WRONG) BOTHRESH(5)\n")
    (said,) = [one for one in re.findall('<li class="problem note">.*?</li>', page(), re.DOTALL) if "WRONG" in one]
    assert "WRONG: BOTHRESH(5) BOQNAME( ): no backout queue: poisonous messages go to the dead-letter queue" in said
    assert "ALTER QLOCAL(WRONG) BOQNAME(WRONG.BOQ)" in said
    manager.mqsc("DEFINE QLOCAL(WRONG.BOQ)\nALTER QLOCAL(WRONG) BOQNAME(WRONG.BOQ)\n")
    assert "BOTHRESH(5)" not in page()


def test_each_queue_can_be_opened(manager, lake, page):
    """One with messages leads to those that were recorded, wherever that was."""
    manager.put("OFFERS", [({}, b"x")] * 2)
    manager.put("C.BACK", [({}, b"x")])
    observe(manager.connection, RunFolder.at(lake, "QM1", "more"), ["OFFERS"])
    observe(manager.connection, RunFolder.at(lake, "QM1", "less"), ["C.BACK"])
    text = page()
    link = '<a href="/messages?queue_manager=QM1&queue=C.BACK" title="Its recorded messages">C.BACK</a>'
    assert link in text
    found = page("/messages", queue="C.BACK")
    assert '<option value="less" selected>' in found
    assert "1 message looked at" in found
    manager.put("A", [({}, b"x")] * 7)
    found = page("/messages", queue="A").replace("<wbr>", "")
    assert 'no run has recorded messages of <span class="name">A</span>, which has 7 now, so none can be shown' in found
    assert 'href="/quality?queue_manager=QM1"' in found
    assert "No message fits" not in found
    assert "no run has recorded" not in page("/messages", queue="A*")
    assert '<summary>5 other queues without messages</summary><p class="quiet"><span class="name">A</span>, ' in text


def test_messages_in_quarantine_are_seen_and_no_record_of_runs_is(manager, page):
    """What was parked there is on no other queue: the estate has to add up."""
    assert "storage" not in page()
    manager.put("MQOPS.QUARANTINE", [({}, b"x")] * 3)
    manager.put("MQOPS.LEDGER", [({}, b"x")])
    text = page()
    assert "Messages lie in storage until a person looks at them: MQOPS.QUARANTINE (CURDEPTH 3)" in text
    row = text.split('<tr id="queue-QM1-MQOPS.QUARANTINE">')[1].split("</tr>")[0]
    assert '<td><div class="quiet">storage</div></td><td class="number">3</td>' in row
    assert 'id="queue-QM1-MQOPS.LEDGER"' not in text


def test_the_next_runs_by_schedule_are_named(manager, page, client, dag_run_of):
    from airflow.models.dag import DagModel  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    assert "<strong>1</strong> queue manager in the estate</a></li>" in client("/estate").text
    assert "Next by schedule" not in page()
    at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    for number, workflow in enumerate(("dlq_rules", "expiry_scan", "backout_reprocess")):
        dag_run_of(f"qm1_{workflow}", "one", "success")
        with create_session() as session:
            dag = session.get(DagModel, f"qm1_{workflow}")
            dag.next_dagrun_create_after = at - timedelta(hours=number)
            dag.is_paused = workflow == "backout_reprocess"
            dag.is_stale = False
    said = re.search("<p class=.quiet.>Next by schedule: .*?</p>", page())
    assert said
    assert re.sub("<[^>]*>", "", said[0]) == (
        "Next by schedule: qm1_expiry_scan 2030-01-02 02:04:05 UTC, qm1_dlq_rules 2030-01-02 03:04:05 UTC."
    )


def test_lines_that_came_after_a_ledger_was_verified_are_not_accounted_for_yet(manager, lake, page, monkeypatch):
    acted(manager, lake, "A")
    assert tile(page()).startswith("good: ")
    verified = managers_now.LEDGERS.kept
    monkeypatch.setattr(managers_now.LEDGERS, "kept", 3600.0)
    monkeypatch.setattr(managers_now, "QUICK", 0.0)  # as of a large ledger
    acted(manager, lake, "A")
    said = tile(page())
    assert said.startswith(": The ledgers are being verified 2 of 2 runs that acted are proved")
    assert re.search(r"lines verified at [-0-9]+ [:0-9]+ UTC ; lines added since are being verified\.", said)
    monkeypatch.setattr(managers_now.LEDGERS, "kept", verified)
    said = tile(page())
    assert said.startswith("good: ")
    assert "being verified" not in said


def test_a_small_ledger_is_verified_again_as_soon_as_it_was_written_to(manager, lake, page, monkeypatch):
    """The tile has its colour when the run has ended, not some seconds later. What all runs say of the ledger is not
    read for it again."""
    acted(manager, lake, "A")
    assert tile(page()).startswith("good: ")
    monkeypatch.setattr(managers_now.LEDGERS, "kept", 3600.0)
    monkeypatch.setattr(managers_now, "QUICK", 60.0)  # however busy the machine is
    acted(manager, lake, "A")
    assert tile(page()).startswith(f"good: {ALL} 2 of 2 runs that acted are proved")
    monkeypatch.setattr(LedgerFile, "proofs", lambda _file: 1 // 0)
    acted(manager, lake, "A")
    assert tile(page()).startswith(f"good: {ALL} 3 of 3 runs that acted are proved"), "a year of runs is read once"


def test_a_ledger_that_does_not_verify_and_a_run_that_does_not_balance_are_told(manager, lake, page):
    run, other = acted(manager, lake, "A"), acted(manager, lake, "A")
    assert tile(page()).startswith(f"good: {ALL} 2 of 2 runs that acted are proved")
    summary = read_json(run.path.joinpath("summary.json"))
    write_json(run.path.joinpath("summary.json"), {**summary, "balanced": False})
    said = tile(page())
    assert said.startswith(f"bad: {NOT_ALL} 1 of 2 runs that acted are proved. Not proved: dead letters of QM1, ")
    assert other.run not in said
    assert f'&run={run.run}">Look at the run</a>' in problem(page(), "does not balance: find the cause first")
    write_json(run.path.joinpath("summary.json"), summary)
    path = lake / "QM1" / "ledger" / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"RETRY"', b'"RETRX"', 1))
    said = tile(page())
    assert said.startswith(f"bad: {NOT_ALL} 2 of 2 runs that acted are proved")
    assert re.search(r"its ledger does not verify, at [-0-9]+ [:0-9]+ UTC : Line \d+ of the ledger is damaged", said)
    assert '<a href="#accounted">' in problem(page(), "The ledger does not verify, so nothing may act")


def test_a_ledger_is_verified_again_after_a_while_though_it_looks_as_it_was(manager, lake, page, monkeypatch):
    acted(manager, lake, "A")
    assert tile(page()).startswith("good: ")
    path = lake / "QM1" / "ledger" / "ledger.jsonl"
    written = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"RETRY"', b'"RETRX"', 1))
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))
    monkeypatch.setattr(accounted, "AGAIN", 0.0)
    assert tile(page()).startswith(f"bad: {NOT_ALL} ")


def test_runs_that_cannot_be_read_are_not_accounted_for(manager, lake, page):
    run = acted(manager, lake, "A")
    run.path.joinpath("summary.json").write_text("[]")
    assert tile(page()).startswith(f"bad: {NOT_ALL} QM1: its runs cannot be read. QM1: its ledger ")


def test_a_run_that_is_proved_and_not_finished_is_named_and_not_green(manager, lake, page):
    run = acted(manager, lake, "A")
    write_json(run.path.joinpath("summary.json"), {**read_json(run.path.joinpath("summary.json")), "finished": False})
    said = tile(page())
    proved = "1 of 1 run that acted is proved, up to where it ended: each message of its plan was moved or discarded"
    assert said.startswith(f"warn: {ALL}; 1 run is not finished {proved}")
    assert re.search(
        r"Proved up to [-0-9]+ [:0-9]+ UTC , and not finished: dead letters of QM1, [-0-9]+ [:0-9]+, real \.", said
    )
    about = "real: it was approved and is not finished: proved, and some messages of the plan are not dealt with"
    assert f'run={run.run}">Look at the run</a>' in problem(page(), about)
    stop(run.path, Stop(by="alice", at=utc_now()))
    assert problem(page(), "is not finished: stopped by a person: what was done is in the ledger")
    acted(manager, lake, "A")
    proved = "2 of 2 runs that acted are proved, 1 of them up to where it ended: each message of their plans was moved"
    assert tile(page()).startswith(f"warn: {ALL}; 1 run is not finished {proved}")


def test_a_run_that_acted_again_after_its_proof_is_not_proved_until_it_is_proved_again(manager, lake, page):
    """A rejected run is proved, too: what an approval lets it do later is not in that proof."""
    run = planned(manager, lake, "A")
    prove(manager.connection, run)
    act(manager.connection, run)
    said = tile(page())
    assert said.startswith(f"warn: {NOT_ALL} yet 0 of 1 run that acted is proved")
    assert re.search(
        r"Not proved: dead letters of QM1, [-0-9]+ [:0-9]+, real acted again after its proof of [-0-9]+ [:0-9]+ UTC \.",
        said,
    )
    prove(manager.connection, run)
    assert tile(page()).startswith(f"good: {ALL} 1 of 1")
    act(manager.connection, run)  # with nothing left to do: nobody knows that before it is proved
    assert tile(page()).startswith("warn: ")


def long_ago(run: RunFolder, ago: timedelta = timedelta(hours=1)) -> None:
    """As if act had said so long ago how far it was."""
    at = utc_text(datetime.now(UTC) - ago)
    write_json(run.path.joinpath("progress.json"), {**read_json(run.path.joinpath("progress.json")), "at": at})


def test_a_run_that_ended_too_early_is_red_unless_airflow_has_it_at_work(manager, lake, page, dag_run_of):
    run = planned(manager, lake, "A")
    act(manager.connection, run)
    assert tile(page()).startswith("warn: ")
    long_ago(run, timedelta(minutes=1))
    assert tile(page()).startswith("warn: ")
    long_ago(run)
    said = tile(page())
    assert said.startswith(f"bad: {NOT_ALL} 0 of 1")
    assert re.search(
        r"Not proved: dead letters of QM1, [-0-9]+ [:0-9]+, real ended too early: "
        r"it said last at [-0-9]+ [:0-9]+ UTC how far it was, "
        "and nothing is at work on it",
        said,
    )
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": "qm1_dlq_rules", "run_id": "one", "found": {}})
    dag_run_of("qm1_dlq_rules", "one", "running")
    assert tile(page()).startswith("note: 1 run is at work: what it moves is accounted for when it is proved At work: ")
    dag_run_of("qm1_dlq_rules", "one", "failed")
    assert tile(page()).startswith("bad: ")
    run.path.joinpath("handed_on.json").write_text("[]")
    assert tile(page()).startswith("bad: ")
    prove(manager.connection, run)
    assert tile(page()).startswith("good: ")


def test_a_run_that_goes_on_after_its_proof_is_at_work_and_no_problem(manager, lake, page, dag_run_of):
    """As after a canary, or when a person has cleared act: it has more to do, and does it."""
    acted(manager, lake, "A")
    run = acted(manager, lake, "A")
    summary = read_json(run.path.joinpath("summary.json"))
    write_json(run.path.joinpath("summary.json"), {**summary, "finished": False})
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": "qm1_dlq_rules", "run_id": "two", "found": {}})
    dag_run_of("qm1_dlq_rules", "two", "failed")
    assert tile(page()).startswith(f"warn: {ALL}; 1 run is not finished")
    assert "real: it was approved and is not finished" in page()
    dag_run_of("qm1_dlq_rules", "two", "running")
    said = tile(page())
    finished = "note: Every message that finished runs moved or discarded on QM1 is accounted for; 1 run is at work "
    assert said.startswith(finished)
    assert re.search("At work: dead letters of QM1, [-0-9]+ [:0-9]+, real ; its page says how far it is.", said)
    assert "is not finished" not in page()


def test_a_run_that_a_person_stopped_is_not_red_while_its_proof_is_on_its_way(manager, lake, page):
    run = planned(manager, lake, "A")
    act(manager.connection, run)
    stop(run.path, Stop(by="alice", at=utc_now()))
    assert row_of(page(), run)[1] == "stopped"
    said = tile(page())
    assert said.startswith(f"warn: {NOT_ALL} yet")
    assert re.search("Not proved: dead letters of QM1, [-0-9]+ [:0-9]+, real : stopped by a person", said)


def test_movements_of_a_run_that_the_lake_does_not_have_are_told(manager, lake, page):
    run, other = acted(manager, lake, "A"), acted(manager, lake, "A")
    shutil.rmtree(other.path)
    said = tile(page())
    assert said.startswith(f"warn: {NOT_ALL} yet 1 of 1 run that acted is proved")
    assert f"QM1: its ledger has movements of run {other.run} , and the lake does not have this run" in said
    assert run.run not in said


def test_what_the_check_of_a_ledger_remarks_is_told(manager, lake, page):
    acted(manager, lake, "A")
    assert "did not come from mqops" not in tile(page())
    manager.put("MQOPS.LEDGER", [({}, b"a stranger")])
    with connect(manager.connection) as session:
        drain_earlier_runs(session, lake, "QM1")
    assert "QM1: 1 message on MQOPS.LEDGER did not come from mqops" in tile(page())
    file = LedgerFile(lake / "QM1", utc_now)
    file.keys.path.unlink()
    add_key(file)
    with file.path.open("ab") as stream:
        stream.write(b'{"unit"')
    said = tile(page())
    assert said.startswith("good: ")
    assert "QM1: 2 lines are older than the ledger's key" in said
    assert "QM1: its ledger ends with 7 bytes of a half-written line, after a crash" in said


def test_a_ledger_whose_check_breaks_down_is_not_green(manager, lake, page, monkeypatch):
    run = acted(manager, lake, "A")
    assert tile(page()).startswith("good: ")
    run.path.joinpath("outcomes.json").write_bytes(b'"\xff"')
    monkeypatch.setattr(accounted, "AGAIN", 0.0)
    said = tile(page())
    assert said.startswith("bad: ")
    at = said.split("verify, at ")[1].split(" UTC")[0]
    assert f"its ledger does not verify, at {at} UTC : {run.path.joinpath('outcomes.json')}" in said
    run.path.joinpath("outcomes.json").unlink()
    assert tile(page()).startswith("good: ")
    monkeypatch.setattr(accounted, "verified", lambda *_what, **_more: 1 // 0)
    said = tile(page())
    assert "its ledger does not verify" in said
    assert "it cannot be read: ZeroDivisionError" in said
    assert said.startswith("bad: ")


def test_a_problem_links_to_where_it_is_seen_or_mended(manager, lake, page, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.put("B.BACK", [({}, b"x")])
    manager.put("OFFERS", [({}, b"x")] * 2)
    text = page()
    assert f'href="/dead_letters?queue_manager=QM1&queue={DLQ}"' in problem(
        text, "the dead-letter queue, has 1 message"
    )
    assert "</a>" not in problem(text, "a backout queue, has 1 message")
    assert '<a href="/estate?queue_manager=QM1#queue-QM1-OFFERS">The queue</a>' in problem(text, "OFFERS is 100 % full")
    assert '<tr id="queue-QM1-OFFERS">' in text
    full = "OFFERS is 100 % full (CURDEPTH 2, MAXDEPTH 2). No look"
    to_do = problem(text, full).partition("What to do</summary>")[2]
    assert "Let it be emptied (no program has it open for input: check that its application runs), or raise" in to_do
    command = "ALTER QLOCAL(OFFERS) MAXDEPTH(4)"
    assert f'MAXDEPTH: <code>{command}</code> <button type="button" class="copy" data-copy="{command}"' in to_do
    observe(manager.connection, RunFolder.at(lake, "QM1", "seen"), ["OFFERS"])
    recorded = '<a href="/messages?queue_manager=QM1&queue=OFFERS">Its messages, as a run recorded them</a>'
    assert recorded in problem(page(), "OFFERS is 100 % full")
    with connect(manager.connection) as session:
        handle = session.open("OFFERS", c.MQOO_INPUT_SHARED)
        assert "Let it be emptied, or raise MAXDEPTH: " in problem(page(), "OFFERS is 100 % full")
        session.close(handle)
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps({"conn_type": "mq", "extra": {"queue_manager": "ELSE"}}))
    assert 'href="/connections?name_pattern=mq_test"' in problem(page(), "does not answer: Airflow connection")


def test_figures_at_the_top_lead_to_places_of_the_page(manager, client):
    for query in ({}, {"queue_manager": "QM1"}):
        text = client("/estate", **query).text
        places = re.findall(r'<li class="card \w+"><a href="#([^"]+)">', text)
        assert len(places) == 3
        assert [one for one in places if f'id="{one}"' not in text] == []


def test_what_to_do_keeps_its_name_when_another_problem_comes_before_it(manager, page):
    """What a person has unfolded is found by that name in the next answer."""

    def named() -> dict[str, str]:
        lines = re.findall(r'<li class="problem \w+">.*?</li>', page(), re.DOTALL)
        found = [(line, re.search(r'<details id="(do-[^"]+)"', line)) for line in lines]
        return {key[1]: line for line, key in found if key}

    manager.mqsc("DEFINE QLOCAL(Z.IN) BOQNAME(Z.NONE) BOTHRESH(3)\n")
    (key,) = [key for key, line in named().items() if "Z.NONE" in line]
    manager.mqsc("DEFINE QLOCAL(A.IN) BOQNAME(A.NONE) BOTHRESH(3)\n")
    after = named()
    assert len(after) == 2
    assert "Z.NONE" in after[key]


def test_a_name_is_whole_in_the_link_of_its_problem(manager, page):
    """`%` and `/` may stand in the names of queues."""
    manager.mqsc("DEFINE QLOCAL('A%2FB/C') MAXDEPTH(1)\n")
    manager.put("A%2FB/C", [({}, b"x")])
    assert '<a href="/estate?queue_manager=QM1#queue-QM1-A%252FB%2FC">The queue</a>' in problem(
        page(), "A%2FB/C is 100 % full"
    )


def handling(text: str, queue: str) -> tuple[str, dict[str, Any], str]:
    """What the estate offers for the messages of a backout queue: DAG, fixed fields, the form."""
    (form,) = re.findall(
        rf'<details id="handle-(?:stop-)?QM1-{re.escape(queue)}" data-keeps="open">(.*?)</details>', text, re.DOTALL
    )
    ((dag_id, fixed),) = re.findall(r'data-starts="([^"]*)" data-fixed="(.*?)">', form)
    return dag_id, json.loads(fixed), form


def test_two_problems_of_a_queue_have_one_form(manager: Any, page: Any) -> None:
    """Issue 37: the id of an element stands once on a page."""
    page()
    forms = Forms(estate_to_look())
    first, second, other = (
        Problem(what=what, backout_queue=queue) for what, queue in (("a", "B"), ("b", "B"), ("c", "C"))
    )
    found = [forms.of("QM1", one) for one in (first, second, other, first)]
    assert [one.id if one else "" for one in found] == ["start-QM1-B", "", "start-QM1-C", "start-QM1-B"]


@pytest.mark.parametrize(("module", "typed"), [("backout_reprocess", {"limit": 1}), ("recover", {"destination": "B"})])
def test_the_form_for_a_backout_queue_has_fields_of_its_dag(manager, page, dag_file, module, typed):
    if module == "recover":
        without_workflow()
    manager.put("B.BACK", [({}, b"x")])
    dag_id, fixed, form = handling(page("/estate", "operator"), "B.BACK")
    assert set(re.findall(r'<input [^>]*name="([a-z_]+)"', form)) == {*typed, "dry_run"}
    (dag,) = [one for one in vars(dag_file(module)).values() if getattr(one, "dag_id", "") == dag_id]
    for field, value in {**fixed, **typed, "dry_run": True}.items():
        assert dag.params.get_param(field).resolve(value) == value


def test_a_backout_queue_has_a_form_that_puts_its_messages_back_and_is_a_dry_run_first(manager, lake, page):
    manager.put("B.BACK", [({}, b"x")])
    manager.put("C.BACK", [({}, b"x")])
    text = page("/estate", "operator")
    for queue in ("B.BACK", "C.BACK"):
        dag_id, fixed, form = handling(text, queue)
        assert (dag_id, fixed) == ("qm1_backout_reprocess", {"queues": [queue]})
        assert f"<summary>Put the messages of {queue} back</summary>" in form
        assert '<input type="checkbox" name="dry_run" checked>' in form
        assert 'name="limit"' in form
        assert '<span class="when-dry">Start the dry run</span>' in form
    text = page("/estate", "viewer")
    assert "You may not start qm1_backout_reprocess" in text
    assert "data-starts" not in text


@pytest.mark.parametrize("ended", ["planned", "rejected", "acted"])
def test_messages_of_ambiguous_origin_lead_to_their_run_and_the_form_stays_for_the_others(manager, lake, page, ended):
    manager.mqsc("DEFINE QLOCAL(D) BOQNAME(B.BACK)")
    manager.put("B.BACK", [({"Persistence": 0}, b"x")] * 2 + [({}, b"x")] * 3)
    assert handling(page("/estate", "operator"), "B.BACK")[0] == "qm1_backout_reprocess"
    text = "PERSIST(MQPER_NOT_PERSISTENT) ACTION(FWD) FWDQ(A)\nACTION(RETRY)\n"
    request = BackoutRequest(
        connection=manager.connection,
        lake=lake,
        table=parse(text, origins=True).table,
        text=text,
        queues=("B.BACK",),
    )
    run, plan = plan_run(BACKOUT, request)
    assert plan.actions == {"AMBIGUOUS": 3, "FWD": 2}
    if ended == "rejected":
        answer = {"approved": False, "by_id": "7", "by": "olga", "at": "2026-11-21T12:00:00Z"}
        write_json(run.path.joinpath("approval.json"), {"question": QUESTION, "task_instance": "i", "answer": answer})
    if ended != "acted":
        prove(manager.connection, run)
        which = {"planned": "moved nothing", "rejected": "was rejected"}[ended]
        of = f"the run of {moment(run_line(run).at)}, which {which},"
        found = f"has 5 messages; {of} found 2 that can go back and 3 of ambiguous origin (AMBIGUOUS)"
    else:
        carry_out(BACKOUT, request, run, plan)
        found = "has 3 messages; the last run for it left 3 (AMBIGUOUS)"
        assert "handle-QM1-B.BACK" not in page("/estate", "operator")
    said = problem(page(), "a backout queue")
    number, _semicolon, rest = found.partition("; ")
    assert re.search(f"{re.escape(number)}; [^;]+; {re.escape(rest)}: where they came from is not known\\.", said)
    assert "The page of that run has the form of mq_recover" in said
    assert f'href="/run?queue_manager=QM1&run={run.run}">Look at the run</a>' in said
    msg_ids = [one.msg_id for one in run_story(run).by_hand]
    one = {"connection": manager.connection, "lake": lake, "do": Do.MOVE, "queue": "B.BACK", "to": "A"}
    for count, msg_id in enumerate(msg_ids, 1):
        what = RecoverRequest(**one, msg_ids=(msg_id,))
        carry_out(RECOVER, what, *plan_run(RECOVER, what))
        if count < len(msg_ids):
            said = problem(page(), "a backout queue")
            assert f"(AMBIGUOUS), and later runs have taken {count} of them: where they came from is not known" in said
    manager.put("B.BACK", [({}, b"another")])
    assert "AMBIGUOUS" not in problem(page(), "a backout queue")
    assert handling(page("/estate", "operator"), "B.BACK")[0] == "qm1_backout_reprocess"
    manager.mqsc("CLEAR QLOCAL(B.BACK)")
    manager.put("B.BACK", [({}, b"later")])
    assert "AMBIGUOUS" not in problem(page(), "a backout queue, has 1 message")


def without_workflow() -> None:
    """The estate without a workflow for backout queues."""
    lines = [line for line in ESTATE.splitlines() if "backout_reprocess" not in line]
    Path(os.environ["MQOPS_ESTATE"]).write_text("\n".join(lines))


def test_a_form_moves_the_messages_of_a_backout_queue_where_the_estate_has_no_workflow(manager, page):
    without_workflow()
    manager.put("B.BACK", [({}, b"x")])
    dag_id, fixed, form = handling(page("/estate", "operator"), "B.BACK")
    assert dag_id == "mq_recover"
    assert fixed == {"queue_manager": "QM1", "queue": "B.BACK", "action": "move", "all_messages": True}
    assert "<summary>Move the messages of B.BACK to another queue</summary>" in form
    assert re.search('<input name="destination" [^>]* required data-names="/queue_names[?]queue_manager=QM1">', form)
    assert '<input type="checkbox" name="dry_run" checked>' in form


def test_P08_a_press_of_a_button_stops_a_loop_and_then_it_is_no_problem_any_more(manager, lake, page, dag_file):
    text = ESTATE.replace("    expiry_scan:", "    poison_guard: {}\n    expiry_scan:")
    Path(os.environ["MQOPS_ESTATE"]).write_text(text)
    manager.put("B", [({}, b"poison"), ({}, b"good")])
    manager.back_out("B", 3)
    observe(manager.connection, RunFolder.at(lake, "QM1", "look"), ["B"])
    request = GuardRequest(connection=manager.connection, lake=lake, watch=0)
    run, plan = plan_run(GUARD, request)
    text = page("/estate", "operator")
    assert "Poison on B: 1 message came back up to 3 times" in text
    dag_id, fixed, form = handling(text, "B")
    assert (dag_id, fixed) == ("qm1_poison_guard", {"queue_manager": "QM1", "queues": ["B"]})
    assert "<summary>Stop the loop on B: what loops goes to its backout queue</summary>" in form
    for field, value in {**fixed, "limit": 1, "dry_run": False}.items():
        assert dag_file("poison_guard").qm1_poison_guard.params.get_param(field).resolve(value) == value
    assert carry_out(GUARD, request, run, plan).moved == 1
    assert "Poison on B" not in page("/estate", "operator")


def test_queues_on_which_runs_put_messages_and_that_no_program_reads_are_a_note(manager, lake, page):
    manager.put("C", [({}, b"no run put it")])
    table = "DESTQ(A) ACTION(RETRY)\nDESTQ(X) ACTION(FWD) FWDQ(OFFERS)\nDESTQ(Y) ACTION(FWD) FWDQ(C) FWDQM(QM2)\n"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(table).table, text=table)
    dead = [dead_letter(name, b"x") for name in ("A", "A", "X", "Y")]
    manager.put(DLQ, dead)
    run, plan = plan_run(DEAD_LETTERS, request)

    def notes() -> list[str]:
        found = re.findall(r'<li class="problem note">\s*<p><strong>Note:</strong> (.*?)</li>', page(), re.DOTALL)
        return [
            " ".join(re.sub("<[^>]*>", " ", one).replace("What to do", "").replace("Copy", "").split()) for one in found
        ]

    assert notes() == []
    manager.put("A", [({}, b"no run put it")])
    manager.mqsc("ALTER QLOCAL(A) PUT(DISABLED)\nALTER QLOCAL(OFFERS) PUT(DISABLED)")
    summary = carry_out(DEAD_LETTERS, request, run, plan)
    assert (summary.moved, notes()) == (0, []), "a run that moved nothing put nothing there"
    manager.mqsc(
        f"ALTER QLOCAL(A) PUT(ENABLED)\nALTER QLOCAL(OFFERS) PUT(ENABLED)\nCLEAR QLOCAL(A)\nCLEAR QLOCAL({DLQ})"
    )
    manager.put(DLQ, dead)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    last = name_of(run_line(run))
    (one_line,) = notes()
    assert one_line.startswith(
        "2 queues where runs put messages have no program that reads them: A (CURDEPTH 2), OFFERS (CURDEPTH 1). "
        "The queues Check that the application of each runs; it is in order only where a person reads the queue. "
    )
    for one in ("A (CURDEPTH 2)", "OFFERS (CURDEPTH 1)"):  # what unfolds
        each = f"No program has {one} open for input, and runs put messages there; the last one was {last}; "
        command = f"ALTER QLOCAL({one.partition(' ')[0]}) MONQ(MEDIUM)"
        assert f"{each}since when is not known. " in one_line
        assert f"{command} has the queue manager tell the age of the oldest message" in one_line
        assert re.search(rf"<code[^>]*>{re.escape(command)}</code>", page()), "each command has its button"
    with connect(manager.connection) as session:
        handle = session.open("OFFERS", c.MQOO_INPUT_SHARED)
        (note,) = notes()
        assert re.fullmatch(
            r"No program has A \(CURDEPTH 2\) open for input, and runs put messages there; the last one "
            r"was dead letters of QM1, [-0-9]+ [:0-9]+, real; since when is not known\. The queue "
            "Check that its application runs; it is in order only where a person reads the queue\\. ALTER QLOCAL"
            r"\(A\) MONQ\(MEDIUM\) has the queue manager tell the age of the oldest message",
            note,
        )
        manager.mqsc("ALTER QLOCAL(A) MAXDEPTH(2)")
        full = problem(page(), "A is 100 % full")
        assert "The last run that put messages there is dead letters of QM1, " in full
        manager.mqsc("ALTER QLOCAL(A) MAXDEPTH(5000)")
        assert '<a href="/estate?queue_manager=QM1#queue-QM1-A">The queue</a>' in page()
        observe(manager.connection, RunFolder.at(lake, "QM1", "seen"), ["A"])
        address = "/messages?queue_manager=QM1&queue=A"
        assert f'<a href="{address}">Its messages, as a run recorded them</a>' in page()
        assert "Messages that fit: 2" in page("/messages", queue="A")
        session.close(handle)
    assert page().count('<div class="quiet">storage</div>') == 1, "the dead-letter queue"
    estate_file = Path(os.environ["MQOPS_ESTATE"])
    estate_file.write_text(ESTATE.replace("    dlq_rules:", "    storage: [OFF*, A]\n    dlq_rules:"))
    assert notes() == [
        f"Messages lie in storage until a person looks at them: {one}. The queue"
        for one in ("A (CURDEPTH 2)", "OFFERS (CURDEPTH 1)")
    ]
    assert page().count('<div class="quiet">storage</div>') == 3


def test_depth_puts_and_gets_of_queues_over_the_day_are_sampled_by_looks_and_drawn(manager, lake, page):
    """Each look leaves what it has seen, where the newest sample is 15 minutes old. The estate asks for puts."""
    observe(manager.connection, RunFolder.at(lake, "QM1", "first"), [DLQ])  # it makes the lake
    counted = "    reset_statistics: [A, OFFERS, NONE]\n    dlq_rules:"
    Path(os.environ["MQOPS_ESTATE"]).write_text(ESTATE.replace("    dlq_rules:", counted))
    for number, hours in enumerate((3, 2, 1)):
        manager.put("A", [({}, b"x")] * (number + 1))
        (lake / "QM1" / "last_seen.json").unlink(missing_ok=True)  # a look of the same minute keeps no figures
        assert "over the day" not in page()
        samples = read_json(lake / "QM1" / "depths.json")["samples"]
        assert [one["depths"].get("A") for one in samples] == [1, 3, 6][: number + 1]
        samples[-1]["at"] = utc_text(datetime.now(UTC) - timedelta(hours=hours))
        write_json(lake / "QM1" / "depths.json", {"samples": samples})
        statistics = read_json(lake / "QM1" / "statistics.json")
        statistics["asked_at"] = statistics["samples"][-1]["at"] = samples[-1]["at"]
        statistics["samples"][-1]["of"]["A"]["seconds"] = 3600  # puts were counted
        write_json(lake / "QM1" / "statistics.json", statistics)
    assert 'aria-label="messages of A over the last day: from 1 to 6"' in page()
    observe(manager.connection, RunFolder.at(lake, "QM1", "seen"), ["A"])
    label = 'aria-label="Messages on A over the last day: from 1 to 6, 6 at last"'
    assert page("/messages", queue="A").count(label) == 2  # the broad chart, and the narrow one
    shown = page("/messages", queue="A")
    assert shown.count('aria-label="Puts and gets on A over the last day: at most 0.05 and 0 a minute"') == 2
    said = (
        "6 messages were put on A and 0 got from it, at most 0.05 and 0 a minute from sample to sample; at most 6 were"
    )
    assert said in re.sub(r"<[^>]+>", "", shown)
    assert label not in page("/messages", queue="OFFERS")
    refused = "Puts and gets on NONE are not counted now: MQCMD_RESET_Q_STATS on NONE failed: MQRC_UNKNOWN_OBJECT_NAME"
    assert refused in re.sub(r"<[^>]+>", "", page("/messages", queue="NONE"))
    assert "Puts and gets" not in page("/messages", queue=DLQ)  # of which the estate says nothing


def test_a_message_in_storage_can_be_moved_from_its_page_and_one_of_an_application_has_the_form_of_lists(
    manager, lake, page
):
    ids = {name: manager.put(name, [({}, b"x")])[0].hex() for name in ("A", "OFFERS")}
    observe(manager.connection, RunFolder.at(lake, "QM1", "seen"), list(ids))
    estate_file = Path(os.environ["MQOPS_ESTATE"])
    estate_file.write_text(ESTATE.replace("    dlq_rules:", "    storage: [A]\n    dlq_rules:"))
    assert 'class="quiet">storage<' in page()
    text = page("/messages/one", "operator", run="seen", queue="A", msg_id=ids["A"])
    assert "1 message in storage, where messages lie until a person looks, on " in text
    assert 'data-starts="mq_recover"' in text
    asked = {"run": "seen", "queue": "OFFERS", "msg_id": ids["OFFERS"]}
    (form,) = re.findall(
        r'<form class="starts chosen".*?</form>', page("/messages/one", "operator", **asked), re.DOTALL
    )
    (fixed,) = re.findall('data-fixed="(.*?)" data-result', form)
    of_one = {"queue": "OFFERS", "message_ids": [ids["OFFERS"]]}
    assert json.loads(fixed) == {"queue_manager": "QM1", "dry_run": True, **of_one}
    offered = re.findall('<option value="([a-z]+)">', form.split('name="action"')[1])
    assert offered[:5] == ["move", "copy", "park", "discard", "replay"]  # it has no MQDLH
    assert "mq_recover" not in page("/messages/one", "viewer", **asked)


def checked(lake: Path, run: str, at: str, critical: int) -> None:
    """The summary of a quality run, as one writes it."""
    failed = {"critical": critical, "warning": 1, "info": 0}
    summary = QualitySummary(
        run=run,
        queue_manager="QM1",
        queue="A,OFFERS",
        failed=failed,
        messages={**failed, "critical": 5 * critical},
        queues=(
            QueueQuality(queue="A", found=9, done=9 - critical, left=critical, failed=failed),
            QueueQuality(queue="OFFERS", found=1, done=1, left=0),
        ),
        checked_at=at,
    )
    folder = lake / "QM1" / "runs" / run / "quality"
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "quality.json", summary.to_json())


def test_a_quality_run_that_failed_is_a_problem_until_the_next_one(manager, lake, page):
    checked(lake, "one", "2026-01-01T00:00:00+00:00", 2)
    said = problem(page(), "The last quality run, of ")
    assert "found 2 critical checks that are not met, in 10 messages on A." in said
    assert 'href="/quality?queue_manager=QM1&run=one">Look at the checks</a>' in said
    checked(lake, "two", "2026-01-02T00:00:00+00:00", 0)
    assert "quality run" not in page()
    (lake / "QM1" / "runs" / "two" / "quality" / "quality.json").write_text("[]")
    assert "is not what mqops wrote" in problem(page(), "The quality runs cannot be read")


def test_a_check_by_hand_hides_no_quality_run_that_failed(manager, lake, page):
    checked(lake, "one", "2026-01-01T00:00:00+00:00", 2)
    handed_on = RunFolder.at(lake, "QM1", "one").path.joinpath("handed_on.json")
    write_json(handed_on, {"dag_id": "qm1_snapshot_quality", "run_id": "r", "found": {}})
    checked(lake, "two", "2026-01-02T00:00:00+00:00", 0)
    assert "found 2 critical checks that are not met" in problem(page(), "The last quality run, of ")


def test_messages_of_failed_checks_count_while_they_are_there(manager, lake, page):
    """As a run of the rules table and its ledger say."""
    manager.put(DLQ, [dead_letter(name, b"x") for name in ("A", "A", "NO.RULE")])
    seen = RunFolder.at(lake, "QM1", "seen")
    observe(manager.connection, seen, [DLQ])
    rows = pq.read_table(seen.snapshot).select(["queue", "position", "msg_id", "msg_key"]).to_pylist()
    rows = [{**row, "queue_manager": "QM1", "msg_id": row["msg_id"].hex(), "observed": "null"} for row in rows]

    def failing(*names: str) -> None:
        checked(lake, "seen", utc_now(), 1)
        failures = seen.path / "quality" / "failures"
        chosen = [
            {**row, "suite": "s", "expectation": "e", "severity": "critical", "tolerated": False}
            for row, name in zip(rows, ("A", "A", "NO.RULE"), strict=True)
            if name in names
        ]
        failures.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(chosen, FAILURES), failures / "one.parquet")
        summary = read_json(seen.quality_json)
        known = {"failures": str(failures), "messages": {**summary["messages"], "critical": len(chosen)}}
        write_json(seen.quality_json, {**summary, **known})

    failing("A", "NO.RULE")
    assert problem(page(), "1 critical check that is not met, in 3 messages on A.").count("taken") == 0
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TABLE).table, text=TABLE)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    assert problem(page(), "in 3 messages on A; later runs have taken 2 of them from there.")
    assert "later runs have taken 2 of the 3 messages that failed a critical check" in page("/quality")
    failing("A")
    assert "The last quality run" not in page()


def test_the_page_quality_shows_a_run_however_old(manager, lake, page, client, monkeypatch):
    monkeypatch.setattr(trend, "MOST_RUNS", 1)
    checked(lake, "old", "2026-01-01T00:00:00+00:00", 2)
    os.utime(lake / "QM1" / "runs" / "old" / "quality" / "quality.json", (0, 1))
    checked(lake, "new", "2026-01-02T00:00:00+00:00", 0)
    assert 'run=new">quality checks of QM1, 2026-01-' in page("/quality")
    text = page("/quality", run="old")
    assert 'run=old">quality checks of QM1, 2026-01-' in text
    assert re.findall('<option value="([^"]*)"( selected)?>', text) == [("old", " selected"), ("new", "")]
    for run in ("none", "../../etc"):
        assert client("/quality", queue_manager="QM1", run=run).status_code == 404


def test_the_page_quality_tells_of_the_run_that_is_at_work_and_starts_no_other(
    manager, estate_folder, lake, page, dag_run_of
):
    (estate_folder / "estate.yaml").write_text(f"{ESTATE}    snapshot_quality: {{suites: [s.yaml]}}\n")
    (estate_folder / "s.yaml").write_text("")
    assert 'data-starts="qm1_snapshot_quality"' in page("/quality", "operator")
    dag_run_of("qm1_snapshot_quality", "one", "queued")
    link = '<a href="/run?dag_id=qm1_snapshot_quality&run_id=one">look at the run</a>'
    assert f"a quality run is queued: {link}" in page("/quality", "operator")
    dag_run_of("qm1_snapshot_quality", "one", "running")
    text = page("/quality", "operator")
    assert re.search("a quality run is at work since <time [^>]*>[^<]*</time>: ", text)
    assert link in text
    assert "data-starts" not in text
    assert 'data-live="/quality/live?queue_manager=QM1" data-every="5"' in page("/quality")
    assert "No quality run has checked messages" in page("/quality/live", "operator")
    checked(lake, "two", "2026-01-02T00:00:00+00:00", 0)
    live = page("/quality/live", "operator")
    assert link in live
    assert 'run=two">quality checks of QM1, 2026-01-' in live
    assert "<html" not in live
    assert "data-starts" not in live
    dag_run_of("qm1_snapshot_quality", "one", "success")
    live = page("/quality/live", "operator")
    assert link not in live
    assert 'data-starts="qm1_snapshot_quality"' in live
    assert "data-starts" not in page("/quality/live", "viewer")
    address = 'data-live="/quality/live?queue_manager=QM1&run=two"'
    assert address in page("/quality", run="two")


def test_a_run_is_named_by_what_it_is_and_has_no_figure_before_it_is_known(manager, lake, page):
    run = planned(manager, lake, "A", "DROP", "ELSE")
    name, state, queue, _asked, _approved, *figures, _took = row_of(page(), run)
    assert (state, queue) == ("planned", DLQ)
    assert re.fullmatch(rf"dead letters of QM1, \d\d:\d\d, dry run {run.run[:15]}…{run.run[-6:]}", name)
    assert figures == ["3", "–", "–", "–", "–"]
    act(manager.connection, run)
    assert row_of(page(), run)[-6:-1] == ["3", "1", "1", "–", "–"]
    prove(manager.connection, run)
    assert row_of(page(), run)[-6:-1] == ["3", "1", "1", "1", "0"]


def test_a_run_of_several_queues_tells_their_names(manager, lake, page):
    for name in ("B.BACK", "C.BACK"):
        manager.put(name, [({}, b"x")])
    text = "ACTION(IGNORE)\n"
    request = BackoutRequest(
        connection=manager.connection, lake=lake, table=parse(text).table, text=text, queues=("B.BACK", "C.BACK")
    )
    run, _plan = plan_run(BACKOUT, request)
    assert row_of(page(), run)[2] == "B.BACK , C.BACK"


def test_what_the_dry_run_of_an_undo_would_put_back_from_the_lake_is_left(manager, lake, page):
    run = acted(manager, lake, "A", "DROP", "DROP")
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    undo, _plan = plan_run(UNDO, request)
    prove(manager.connection, undo)
    assert row_of(page(), undo)[-6:-1] == ["3", "0", "0", "3", "0"]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """The time that the estate looks forward to: two hours from now, to the quarter of an hour."""
    at = datetime.now(UTC) + timedelta(hours=2)
    at = at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0)
    for module in (estate, expiring_of_estate):
        monkeypatch.setattr(module, "MORNING", at.time())
    return at


def expiring(text: str, queue: str) -> str:
    """What the estate says of the messages of a queue that expire."""
    (row,) = re.findall(rf'<tr id="queue-QM1-{re.escape(queue)}">.*?</tr>', text, re.DOTALL)
    (found,) = re.findall(r'<a href="/expiry\?[^>]*>(.*?)</a>', row)
    return str(found)


def figures_of(text: str, queue: str) -> list[int]:
    """The row of a queue on the page of what expires, which adds up: messages now, expired by now, before the limit,
    later, never, in no snapshot."""
    (row,) = re.findall(rf"<tr><th[^>]*>{re.escape(queue)}</th><td>[^<]* ago</td>(.*?)</tr>", text)
    now, *parts = [int(one) for one in re.findall(r">(?:at most )?(-?\d+)<", row)]
    assert len(parts) == 5
    assert now == sum(parts)
    return [now, *parts]


def headline(page: Any, limit: datetime) -> str:
    """The figures on top of the page of what expires before a time."""
    (found,) = re.findall(r'<ul class="cards">(.*?)</ul>', page("/expiry", before=f"{limit:%H:%M}"), re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", found).split())


def test_a_queue_that_no_run_has_looked_at_says_so_and_leads_to_a_scan(manager, lake, page, limit):
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")])
    assert expiring(page(), "OFFERS") == "not known: no scan"
    assert 'href="/expiry?queue_manager=QM1#unrecorded">not known' in page()
    text = page("/expiry", "operator")
    assert 'OFFERS</th><td class="number">1</td><td>No run has looked at all of it yet.</td>' in text
    (form,) = re.findall(r'<form class="starts" [^>]*data-starts="qm1_expiry_scan" data-fixed="(.*?)">', text)
    assert json.loads(form) == {"queues": ["OFFERS"], "all_filled": True}
    assert 'data-airflow-page>qm1_expiry_scan</a> for <span class="name">OFFERS</span>:' in text
    assert "You may not start qm1_expiry_scan" in page("/expiry", "viewer")
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1), all_filled=True)
    assert expiring(page(), "OFFERS") == f"some before {limit:%H:%M}"
    assert re.search("A scan [0-9]+ s ago: the next message expires at <time", page("/expiry"))


def test_the_form_of_a_scan_names_all_its_queues(manager, page):
    for name in ("A", "C", "OFFERS"):
        manager.put(name, [({}, b"x")])
    said = " ".join(re.sub("<[^>]*>", " ", page("/expiry", "operator")).split())
    assert "This starts qm1_expiry_scan for A , C and OFFERS : Scan for expired messages" in said


def test_the_page_expiry_shows_what_a_scan_finds_as_soon_as_it_has(manager, lake, page, dag_run_of):
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")])
    page("/estate")
    assert 'data-live="/expiry/live?queue_manager=QM1&before=09%3A15" data-every="5"' in page("/expiry", before="09:15")
    dag_run_of("qm1_expiry_scan", "one", "running")
    text = page("/expiry/live", "operator")
    assert "<html" not in text
    assert '<a href="/run?dag_id=qm1_expiry_scan&run_id=one">look at the run</a>' in text
    assert "data-starts" not in text
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1), all_filled=True)
    dag_run_of("qm1_expiry_scan", "one", "success")
    text = page("/expiry/live", "operator")
    assert "the next message expires at <time" in text
    assert "look at the run" not in text
    assert 'id="scan-OFFERS" data-keeps data-starts="qm1_expiry_scan"' in text


def test_the_page_expiry_contradicts_no_scan_and_covers_what_expires_after_its_chart(manager, lake, page, limit):
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["A"])
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")])
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1), all_filled=True)
    text = page("/expiry")
    assert '<p class="empty">None of the messages in the snapshots expires.</p>' in text
    assert "<svg" not in text
    assert ">Messages that are in no snapshot, and what the last scan knows of them</h2>" in text
    assert "the next message expires at <time" in text
    begun = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    observe(manager.connection, RunFolder.at(lake, "QM1", "hour"), ["OFFERS"])
    assert "<svg" in page("/expiry")
    manager.put("A", [({"Expiry": 10 * 60 * 60 * 30}, b"x")])
    manager.mqsc("CLEAR QLOCAL(OFFERS)")
    observe(manager.connection, RunFolder.at(lake, "QM1", "later"), ["OFFERS", "A"])
    text = re.sub("</?time[^>]*>", "", page("/expiry"))
    ends = re.search("None of the messages in the snapshots expires before ([0-9: -]* UTC)[.]", text)
    assert ends
    assert datetime.fromisoformat(ends[1].removesuffix(" UTC") + "+00:00") - begun >= timedelta(days=1)
    assert re.search(
        rf"1 message expires after {ends[1]}, the next in the quarter of an hour from [0-9-]+ [0-9:]+ UTC[.]", text
    )
    assert "<svg" not in text


def test_messages_beyond_those_of_the_newest_snapshot_are_not_known(manager, lake, page, limit):
    at = f"{limit:%H:%M}"
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=36000)] * 3)
    planned(manager, lake, "A")
    assert expiring(page(), DLQ) == f"3 before {at}"
    assert headline(page, limit) == f"3 messages expire before {limit:%Y-%m-%d %H:%M} UTC"
    manager.put(DLQ, [dead_letter("A", b"x")] * 5)
    assert expiring(page(), DLQ) == f"3 before {at}; 5 not looked at"
    assert headline(page, limit).endswith(" UTC; of 5 messages on 1 queue it is not known")
    text = page("/expiry", "operator", before=at)
    assert figures_of(text, DLQ) == [9, 0, 3, 0, 1, 5]
    said = "The queue has 9 messages now, and its newest snapshot does not have these. When they expire is not known."
    assert f'{DLQ}</th><td class="number">5</td><td>{said}</td>' in text
    assert f'for <span class="name">{DLQ}</span>:' in text
    run_scan(manager.connection, lake, [DLQ], recheck=timedelta(hours=1))
    assert expiring(page(), DLQ) == f"3 before {at}; 5 not counted"
    assert "the next message expires at" in page("/expiry", before=at)


def test_messages_beyond_the_snapshot_do_not_expire_if_a_later_scan_says_so(manager, lake, page, limit):
    planned(manager, lake, "A")
    manager.put(DLQ, [dead_letter("A", b"x")] * 5)
    assert expiring(page(), DLQ) == f"none before {limit:%H:%M}; 5 not looked at"
    run_scan(manager.connection, lake, [DLQ], recheck=timedelta(hours=1))
    assert expiring(page(), DLQ) == f"none before {limit:%H:%M}"
    assert headline(page, limit) == f"0 messages expire before {limit:%Y-%m-%d %H:%M} UTC"
    text = page("/expiry", before=f"{limit:%H:%M}")
    assert figures_of(text, DLQ) == [6, 0, 0, 0, 1, 5]
    said = "The queue has 6 messages now, and its newest snapshot does not have these. A scan"
    assert re.search(f'{DLQ}</th><td class="number">5</td><td>{said} [0-9]+ s ago: nothing expires.</td>', text)
    planned(manager, lake, "A")  # now the snapshot is the later one
    manager.mqsc(f"CLEAR QLOCAL({DLQ})")
    manager.put(DLQ, [dead_letter("A", b"x")] * 6)
    assert expiring(page(), DLQ) == f"none before {limit:%H:%M}"
    manager.put(DLQ, [dead_letter("A", b"x")] * 2)
    assert expiring(page(), DLQ) == f"none before {limit:%H:%M}; 1 not looked at"


def test_what_has_been_read_since_a_snapshot_makes_its_figure_the_most_that_can_expire(manager, lake, page, limit):
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")] * 2)
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["OFFERS"])
    assert expiring(page(), "OFFERS") == f"2 before {limit:%H:%M}"
    manager.mqsc("CLEAR QLOCAL(OFFERS)")
    manager.put("OFFERS", [({}, b"x")])
    assert expiring(page(), "OFFERS") == f"at most 1 before {limit:%H:%M}"
    assert headline(page, limit) == f"at most 1 message expires before {limit:%Y-%m-%d %H:%M} UTC"
    assert figures_of(page("/expiry", before=f"{limit:%H:%M}"), "OFFERS") == [1, 0, 1, 0, 0, 0]
    manager.mqsc("CLEAR QLOCAL(OFFERS)")
    assert figures_of(page("/expiry", before="00:00"), "OFFERS")[0] == 0
    assert headline(page, limit) == f"0 messages expire before {limit:%Y-%m-%d %H:%M} UTC"


def test_each_row_of_what_expires_adds_up_to_the_messages_of_now(manager, lake, page, limit):
    """Whatever came, went, or was put there by a run since the snapshot, and whatever a scan tells of it."""
    before = f"{limit:%H:%M}"
    manager.put("A", [({}, b"x"), ({"Expiry": 36000}, b"x"), ({"Expiry": 864000}, b"x")])
    manager.put(DLQ, [dead_letter("A", b"moved", Expiry=864000)] * 2)
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["A", DLQ])
    assert figures_of(page("/expiry", before=before), "A") == [3, 0, 1, 1, 1, 0]
    acted(manager, lake, "A")
    assert figures_of(page("/expiry", before=before), "A") == [6, 0, 1, 1, 1, 3]
    run_scan(manager.connection, lake, ["A"], recheck=timedelta(hours=1))
    assert figures_of(page("/expiry", before=before), "A") == [6, 0, 1, 1, 1, 3]
    manager.mqsc("CLEAR QLOCAL(A)")
    manager.put("A", [({}, b"x")])
    text = page("/expiry", before=before)
    assert figures_of(text, "A") == [1, 0, 1, 1, 1, -2]
    assert 'id="unrecorded"' not in text


def test_what_expires_later_is_none_of_those_before_the_time(manager, lake, page, limit):
    """Whatever has told of it: a scan, or a snapshot."""
    manager.put("OFFERS", [({"Expiry": 864000}, b"x")])
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1))
    assert expiring(page(), "OFFERS") == f"none before {limit:%H:%M}"
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["OFFERS"])
    assert expiring(page(), "OFFERS") == f"none before {limit:%H:%M}"


def test_a_scan_says_nothing_of_messages_that_came_after_it(manager, lake, page, limit):
    manager.put("OFFERS", [({}, b"x")])
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1))
    assert re.search("A scan [0-9]+ s ago: nothing expires", page("/expiry"))
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")])
    text = page("/expiry")
    assert re.search("Messages came or went since the last scan, [0-9]+ s ago: what expires is not known", text)
    assert "nothing expires" not in text
    assert expiring(page(), "OFFERS") == "not known: the last scan is too old"
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1))
    assert "the next message expires at" in page("/expiry")
    assert expiring(page(), "OFFERS") == f"some before {limit:%H:%M}"


def test_a_scan_says_nothing_of_another_message_where_the_queue_manager_tells_of_its_last_put(manager, lake, page):
    manager.mqsc("ALTER QLOCAL(OFFERS) MONQ(LOW)")
    manager.put("OFFERS", [({}, b"x")])
    run_scan(manager.connection, lake, ["OFFERS"], recheck=timedelta(hours=1))
    assert "nothing expires" in page("/expiry")

    def exchanged() -> bool:
        """Whether the page knows that a message went and another one came: the last put is told to the second."""
        manager.mqsc("CLEAR QLOCAL(OFFERS)")
        manager.put("OFFERS", [({}, b"x")])
        return "Messages came or went since the last scan" in page("/expiry")

    until(exchanged)


def test_the_headline_of_expiry_has_its_date_and_what_is_not_known(manager, lake, page, limit):
    planned(manager, lake, "A")
    manager.put("OFFERS", [({}, b"x")] * 2)
    manager.put("C", [({}, b"x")])
    moment = f"{limit:%Y-%m-%d %H:%M} UTC"
    assert headline(page, limit) == f"0 messages expire before {moment}; of 3 messages on 2 queues it is not known"
    run_scan(manager.connection, lake, ["OFFERS", "C"], recheck=timedelta(hours=1))
    assert headline(page, limit) == f"0 messages expire before {moment}"
    manager.put("A", [({"Expiry": 36000}, b"x")])
    run_scan(manager.connection, lake, ["A"], recheck=timedelta(hours=1))
    one = f"0 that were counted, and at least 1 that was not, expire before {moment}"
    assert headline(page, limit) == f"{one}; of 1 message on 1 queue it is not known"  # others may expire, too


def test_what_has_expired_by_now_stands_in_the_headline(manager, lake, page):
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=36000)])
    run = planned(manager, lake, "A")
    path = next(run.snapshot.glob("*.parquet"))
    old = pq.read_table(path)
    at = old.schema.get_field_index("observed_at")
    long_ago = pc.subtract(old["observed_at"], pa.scalar(timedelta(hours=2), pa.duration("us")))
    pq.write_table(old.set_column(at, old.schema.field(at), long_ago.cast(old.schema.field(at).type)), path)
    assert "<strong>1</strong> message has expired by now" in page("/expiry")


def test_the_estate_says_until_when_it_counts_what_expires(manager, page):
    manager.put("OFFERS", [({}, b"x")])
    morning = next_time(datetime.now(UTC), MORNING)
    assert f">Expires before {morning:%Y-%m-%d} 08:00 UTC</th>" in page()


def test_the_state_of_a_queue_stands_beside_its_name_and_who_has_it_open_in_one_column(manager, page):
    """So that it is in sight, however wide the window is."""
    manager.put("OFFERS", [({}, b"x")])
    heads = re.findall(r"<th[^>]* scope=\"col\"[^>]*>([A-Za-z ]+)", page())
    assert heads[:3] == ["Queue", "State", "Messages"]
    (row,) = re.findall(r'<tr id="queue-QM1-OFFERS">.*?</tr>', page(), re.DOTALL)
    assert '><div class="quiet">no reader</div></td>' in row
    with connect(manager.connection) as session:
        handle = session.open("OFFERS", c.MQOO_INPUT_SHARED)
        (row,) = re.findall(r'<tr id="queue-QM1-OFFERS">.*?</tr>', page(), re.DOTALL)
        session.close(handle)
    assert re.search(r'<td[^>]*><div>1 reader, 0 writers</div><div class="quiet">.* reads</div></td>', row)
    assert "no reader" not in row


def test_a_message_without_mqdlh_on_deadq_has_a_form_though_no_run_of_a_rules_table_has_looked(manager, lake, page):
    """As a quality run, or `mqops snapshot`, records it. On another queue it is no dead letter."""
    run, ids = RunFolder.at(lake, "QM1", "looked"), {}
    for queue in (DLQ, "A"):
        ids[queue] = manager.put(queue, [({}, b"raw")])[0].hex()
    observe(manager.connection, run, [DLQ, "A"])
    for queue, msg_id in ids.items():
        message = page("/messages/one", "operator", run=run.run, queue=queue, msg_id=msg_id)
        assert ("1 message without an MQDLH that can be read" in message) == (queue == DLQ)


def test_a_queue_that_has_all_messages_that_it_may_have_is_full(manager, page):
    manager.put("OFFERS", [({}, b"x")] * 2)
    (row,) = re.findall(r'<tr id="queue-QM1-OFFERS">.*?</tr>', page(), re.DOTALL)
    assert ">full</span>" in row


def test_messages_that_a_run_moved_expire_no_more(manager, lake, page, limit):
    manager.put(DLQ, [dead_letter(name, b"x", Expiry=36000) for name in ("A", "A", "ELSE")])
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TABLE).table, text=TABLE)
    run, plan = plan_run(DEAD_LETTERS, request)
    assert expiring(page(), DLQ) == f"3 before {limit:%H:%M}"
    assert headline(page, limit).startswith("3 messages expire before")
    carry_out(DEAD_LETTERS, request, run, plan)
    manager.put(DLQ, [dead_letter("ELSE", b"later")] * 5)
    assert expiring(page(), DLQ) == f"1 before {limit:%H:%M}; 5 not looked at"
    assert headline(page, limit).startswith("1 message expires before")


def test_a_snapshot_with_a_limit_is_no_figure_of_its_queue(manager, lake, page):
    manager.put("OFFERS", [({"Expiry": 36000}, b"x")] * 2)
    observe(manager.connection, RunFolder.at(lake, "QM1", "limited"), ["OFFERS"], limit=1)
    assert expiring(page(), "OFFERS") == "not known: no scan"
    assert 'OFFERS</th><td class="number">2</td><td>No run has looked at all of it yet.</td>' in page("/expiry")


def test_a_reader_does_not_wait_for_what_expires(manager, lake, page, monkeypatch):
    acted(manager, lake, "A")
    manager.put(DLQ, [dead_letter("A", b"x")])
    page()
    for known in (estate.ANSWERS, managers_now.LEDGERS):
        monkeypatch.setattr(known, "kept", 3600.0)
    monkeypatch.setattr(managers_now, "EXPIRING", answers.Answers(3600.0))
    go_on, asked = threading.Event(), expiring_of_estate.forecast
    monkeypatch.setattr(expiring_of_estate, "forecast", lambda *what, **more: go_on.wait() and asked(*what, **more))
    monkeypatch.setattr(answers, "WAIT", 0.001)
    try:
        text = page()
        assert f'<tr id="queue-QM1-{DLQ}">' in text
        assert expiring(text, DLQ) == "not known: it is being counted"
    finally:
        go_on.set()


def test_a_plan_that_was_removed_leaves_what_expires_on_its_queue_unknown(manager, lake, client, page):
    """Retention removes plans: that is no problem of the queue manager, and a scan or a snapshot tells again."""
    run = acted(manager, lake, "A")
    shutil.rmtree(run.plan)
    manager.put(DLQ, [dead_letter("A", b"x")])
    assert expiring(page(), DLQ) == "not known: the plan of a later run was removed"
    assert "What expires cannot be told" not in page()
    answer = client("/expiry", queue_manager="QM1")
    assert answer.status_code == 200
    told = " ".join(re.sub("<[^>]*>", "", answer.text).split())
    name = f"Run &#34;{name_of(run_line(run), utc_now())}&#34; {shortened(run.run)}"
    assert f"{name} has taken messages since the newest snapshot. Its plan was removed" in told


@pytest.fixture
def another(manager: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """QM2 of the estate."""
    made = create(manager.home, "QM2", MQSC)
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM2", "home": str(made.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_OTHER", json.dumps(reached))
    estate_path().write_text(ESTATE + "  QM2: {connection: mq_other, dlq_rules: {rules: qm1.rules}}\n")
    return made


def test_a_queue_manager_of_many_that_has_just_ended_is_not_in_order_any_more(another, client, monkeypatch):
    def table() -> str:
        return str(client("/estate/live").text).partition('id="needs"')[0]

    assert "does not answer" not in table()
    monkeypatch.setenv("AIRFLOW_CONN_MQ_OTHER", os.environ["AIRFLOW_CONN_MQ_OTHER"].replace("QM2", "ENDED"))
    monkeypatch.setattr(shared, "KEPT", 3600.0)  # the look of before is good for an hour
    assert table().count("does not answer") == 1


def test_the_estate_of_all_is_made_once_for_readers_who_may_do_the_same(manager, another, client, monkeypatch):
    """Issue 37 D. Each reader has the forms that his own rights give him."""
    manager.put("B.BACK", [({}, b"x")])
    templates = list[str]()

    def made(root: str, template: str, **values: Any) -> Any:
        templates.append(template)
        return render.made(root, template, **values)

    monkeypatch.setattr(estate, "made", made)
    monkeypatch.setattr(shared, "KEPT", 3600.0)
    texts = {role: client("/estate/live", role).text for role in ("operator", "viewer")}
    assert 'data-starts="qm1_backout_reprocess"' in texts["operator"]
    assert "data-starts" not in texts["viewer"]
    assert "You may not start qm1_backout_reprocess" in texts["viewer"]
    assert {role: client("/estate/live", role).text for role in texts} == texts
    assert texts["operator"].strip() in client("/estate", "operator").text
    assert templates == ["estate_live"] * 2


def test_what_readers_share_has_no_queue_manager_that_one_of_them_may_not_see(another, client, monkeypatch):
    """Issue 37 D. Roles are for all queue managers; another auth manager may know rights on DAGs of one."""
    third = "  QM3: {connection: mq_test, dlq_rules: {rules: qm1.rules}}\n"
    estate_path().write_text(estate_path().read_text() + third)

    def but_qm2(user: Any, dag_id: str, **what: Any) -> bool:
        return (user.username != "viewer" or "qm2" not in dag_id) and ask(user, dag_id, **what)

    ask = security.may
    monkeypatch.setattr(security, "may", but_qm2)
    monkeypatch.setattr(shared, "KEPT", 3600.0)
    for page in ("estate", "dead_letters", "triggers", "expiry", "quality"):
        for role, others in (("operator", {"QM1", "QM2", "QM3"}), ("viewer", {"QM1", "QM3"})) * 2:
            assert {*re.findall(r"QM\d", client(f"/{page}/live", role).text)} == others, page


def test_the_question_of_a_run_is_not_that_of_the_same_key_on_another_queue_manager():
    line = RunLine(run="dlq_rules.1", queue_manager="QM1", workflow="dlq_rules", queue=DLQ, at=utc_now(), asks=True)
    both = [ManagerNow(name=name, waiting=(replace(line, queue_manager=name),)) for name in ("QM1", "QM2")]
    answers_for = {("QM2", line.run): WhoAnswers("qm2_dlq_rules", may=True)}
    told = ["".join(map(str, estate._questions(answers_for, one))) for one in both]
    assert ["can answer" in one for one in told] == [False, True]
    queue = QueueFigures(name=DLQ, depth=1, max_depth=5)
    assert ["waits" in str(estate._state(answers_for, one, queue)) for one in both] == [False, True]
    assert [len(managers_now._asking(one, {("QM2", line.run)}).waiting) for one in both] == [0, 1]


def test_what_a_question_said_before_it_failed_is_not_shown(manager, lake, page, monkeypatch):
    acted(manager, lake, "A")
    assert tile(page()).startswith("good: ")
    monkeypatch.setattr(managers_now, "ledger_now", lambda *_what: 1 // 0)
    assert tile(page()).startswith(": The ledgers are being verified")


def test_figures_of_before_a_proof_are_not_shown_after_it(manager, lake, page, monkeypatch):
    """Issue 37: an answer is good for an hour here, and no longer than to the next proof."""
    run = planned(manager, lake, "A", "A")
    depth = rf'id="queue-QM1-{DLQ}">.*?<td class="number">(\d)</td>'
    monkeypatch.setattr(estate.ANSWERS, "kept", 3600.0)
    before = re.search(depth, page(), re.DOTALL)
    assert before
    assert before[1] == "2"
    act(manager.connection, run)
    prove(manager.connection, run)
    text = page()
    after = re.search(depth, text, re.DOTALL)
    assert after is None or after[1] == "0", after[1]
    assert "a run was proved since" not in text


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_is_green_before_a_queue_manager_has_answered(number: int) -> None:
    """Issue 37, a stranger's walk: 0 things wrong is told in no colour until all have answered."""
    asked = ManagerNow(name="QM1", figures=Figures(unreachable=f"{LATE}2 s ago"))
    managers = [asked, ManagerNow(name="QM2", figures=Figures(seen_at=utc_now()))][:number]
    first, wrong, _questions = tiles(managers, one=number == 1)
    assert (first.kind, wrong.kind) == ("", "")
    assert "being asked" in first.words.said
    assert wrong.words.said == "things wrong so far"
    assert "being asked" in str(table(managers, {}).rows[0][1])
    assert [one.kind for one in tiles([managers[-1]], one=False)] == (["", "", "good"] if number == 1 else ["good"] * 3)
