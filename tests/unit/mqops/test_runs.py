"""`mqops runs` and `mqops run show`: each state of a run, the messages that were not moved, the index of the runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from act_support import after_commits, planned
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter, until
from pymqi import CMQC

from mqops.cli import runs as cli_runs
from mqops.errors import LakeError, Stopped
from mqops.lake.files import CHANGED, make_folder, read_json, write_json
from mqops.lake.handed_on import HANDED_ON, HandedOn
from mqops.lake.run import RunFolder, find_run
from mqops.lake.stop import Stop, lift, stop
from mqops.look.core.question import Over
from mqops.look.core.run_state import RunFiles, line_of
from mqops.look.run_row import run_line
from mqops.look.runs import Runs, count_runs, list_runs
from mqops.look.runs_index import INDEX, RECENT_NS
from mqops.look.words.state import RunState
from mqops.message_checks import CheckResult, QualitySummary
from mqops.model import ObserveSummary
from mqops.observe import snapshot
from mqops.rules import parse

TABLE = "DESTQ(A) ACTION(RETRY)\nDESTQ(FULL) ACTION(RETRY)\nDESTQ(B) ACTION(DISCARD)\n"
CAROL = Stop(by="carol@desk", at="2026-11-21T12:00:00Z", why="\x1b[2Jwait")


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(FULL) MAXDEPTH(0)\n")


@pytest.mark.parametrize(
    ("dag_id", "workflow"),
    [
        ("qm1_dlq_rules", "dlq_rules"),
        ("qm.prod.1_dlq_rules", "dlq_rules"),  # of the queue manager QM.PROD.1
        ("qm1_snapshot_quality", "snapshot_quality"),
        ("mq_recover", "recover"),
        ("own", ""),
        ("", ""),  # by hand
    ],
)
def test_a_run_at_work_has_its_name_before_it_has_made_anything(lake: Path, dag_id: str, workflow: str) -> None:
    """A person looks for the run that reads the queue now: it is no snapshot, and has more than the name `run`."""
    run = RunFolder.at(lake, "QM1", f"{dag_id or 'hand'}.manual__1").create()
    HANDED_ON.write(run, HandedOn(dag_id=dag_id))
    assert run_line(run).workflow == workflow
    observed = ObserveSummary(run=run.run, queue_manager="QM1", observed_at="2026-01-02T03:04:05Z", messages=0, bytes=0)
    assert line_of(run.run, "QM1", RunFiles(observe=observed, dag_id=dag_id)).workflow == (workflow or "snapshot")


def run_of(mqops, *words: str, table: str = TABLE) -> str:
    """A run, also one that leaves messages (exit code 1)."""
    return json.loads(mqops("dlq", "run", DLQ, "QM1", "--json", *words, text=table, expect=None).stdout)["run"]


def listed(mqops, *words: str) -> list[dict]:
    return json.loads(mqops("runs", "--json", *words).stdout)["runs"]


def shown(mqops, run: str, *words: str) -> dict:
    return json.loads(mqops("run", "show", run, "--json", *words).stdout)


def answer(run: RunFolder, given: dict | None, **more: str) -> None:
    """RUN/approval.json as `mqops_airflow.approval.answer` writes it."""
    asked = {"dag_id": "qm1_dlq_rules", "run_id": "manual__1", "digest": "d", "text": "t"}
    write_json(run.path.joinpath("approval.json"), {"question": asked, "task_instance": "i", "answer": given, **more})


def test_a_run_that_was_carried_out_names_what_was_left_and_what_failed(manager, mqops, lake):
    ids = manager.put(DLQ, [dead_letter(queue, b"secret") for queue in ("A", "FULL", "B", "OTHER")])
    key = run_of(mqops, "--once")
    (line,) = listed(mqops)
    counts = [line[name] for name in ("messages", "planned", "moved", "discarded", "left", "gone", "failed")]
    assert counts == [4, 4, 1, 1, 2, 0, 1]
    assert (line["run"], line["state"], line["queue"], line["queue_manager"]) == (key, "done", DLQ, "QM1")
    found = shown(mqops, key)
    assert [(one["msg_id"], one["became"], one["why"], one["rule_line"]) for one in found["messages"]] == [
        (ids[1].hex(), "failed", "MQRC_Q_FULL", 2),
        (ids[3].hex(), "left", "the table leaves it: ACTION(IGNORE), no rule matches, or all tries have failed", None),
    ]
    assert found["people"]["requested_by"] == found["plan"].get("requested_by", found["people"]["requested_by"])
    assert found["summary"]["balanced"]
    plan = read_json(find_run(lake, key=key).plan_json)
    of_plan = ("digest", "table_source", "table_digest", "rows", "bytes", "observed", "actions", "rules", "remarks")
    of_plan = (*of_plan, "gate")
    assert list(found["plan"].items()) == [(name, plan[name]) for name in of_plan]
    assert (found["approval"], found["dag"], found["quality"]) == ({}, {}, [])
    text = mqops("run", "show", key[:-3]).stdout  # the beginning of a key will do
    assert f"run {key}: done\n" in text
    assert "    balance   4 planned = 1 moved + 1 discarded + 2 left + 0 gone: balances\n" in text
    assert f"failed  {ids[1].hex()} of {DLQ}, row 1: MQRC_Q_FULL\n        planned RETRY to FULL@QM1 by the rule" in text
    assert "secret" not in text


def test_a_dry_run_names_what_its_destinations_do_not_take(manager, mqops, lake):
    manager.put(DLQ, [dead_letter(queue, b"1") for queue in ("A", "FULL", "B", "FULL")])
    folder = json.loads(mqops("dlq", "run", DLQ, "QM1", "--json", "--dry-run", text=TABLE).stdout)["run"]
    found = shown(mqops, RunFolder(Path(folder)).run)
    why = "FULL has room for 0 of 2 messages"
    assert [(one["row"], one["became"], one["why"]) for one in found["messages"]] == [
        (1, "left", why),
        (3, "left", why),
    ]
    key = parse(TABLE).table.rules[1].key
    assert found["stays"] == [{"queue": DLQ, "rule_line": 2, "action": "RETRY", "messages": 2, "rule_key": key}]
    assert found["looked_at"] >= found["at"]


def test_messages_are_shown_in_pages(manager, mqops, lake):
    manager.put(DLQ, [dead_letter("OTHER", b"%d" % number) for number in range(5)])
    key = run_of(mqops, "--once")
    (plan,) = find_run(lake, key=key).plan.glob("*.parquet")
    table = pq.read_table(plan)
    pq.write_table(table.take([3, 0, 4, 1, 2]), plan)  # Spark writes the rows in an order of its own
    first = shown(mqops, key, "--limit", "2")
    assert ([one["row"] for one in first["messages"]], first["more"], first["next"]) == ([0, 1], 3, 1)
    rest = shown(mqops, key, "--limit", "0", "--after", "1")
    assert ([one["row"] for one in rest["messages"]], rest["more"], rest["next"]) == ([2, 3, 4], 0, None)


def test_law5_a_message_that_is_gone_at_the_proof_is_named_with_the_time(manager, lake, mqops):
    ids = manager.put(DLQ, [dead_letter("OTHER", b"0"), dead_letter("A", b"1")])
    run, plan = planned(manager, lake, text=TABLE)
    with manager.connected() as connection:
        import pymqi  # noqa: PLC0415

        pymqi.Queue(connection, DLQ).get(None, pymqi.MD(MsgId=ids[0]))
        connection.commit()
    act(manager.connection, run, approved=plan.digest)
    assert [(one["state"], one["moved"], one["left"]) for one in listed(mqops)] == [("begun", 1, 0)]  # by act.json
    summary = prove(manager.connection, run)
    (one,) = shown(mqops, run.run)["messages"]
    assert (one["became"], one["why"]) == ("gone", "not on the queue when the run was proved")
    assert (one["msg_id"], one["found_at"]) == (ids[0].hex(), summary.proved_at)


def test_each_state_of_a_run_that_moved_nothing(manager, mqops, lake, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"1")])
    folder = json.loads(mqops("dlq", "run", DLQ, "QM1", "--json", "--dry-run", text=TABLE).stdout)["run"]
    run = RunFolder(Path(folder))
    assert [one["state"] for one in listed(mqops)] == ["planned"]
    answer(run, None)
    assert [one["state"] for one in listed(mqops)] == ["waiting"]
    assert "approved: nobody has answered yet" in mqops("run", "show", run.run).stdout
    for given, state, words in (
        ({"approved": False, "by_id": "1", "by": "bob", "at": "t1"}, "rejected", "; rejected: bob at t1"),
        ({"approved": False, "by_id": "", "by": "", "at": "t1"}, "rejected", "; rejected: the time-out at t1"),
        ({"approved": True, "by_id": "1", "by": "bob", "at": "t1"}, "approved", "; approved: bob at t1"),
    ):
        answer(run, given)
        assert [one["state"] for one in listed(mqops)] == [state]
        assert words in mqops("run", "show", run.run).stdout
        assert shown(mqops, run.run)["messages"][0]["why"].endswith("nothing was moved")
    refused = {"approved": True, "by_id": "1", "by": "al", "at": "t1", "refused": "al started this run"}
    answered = "in Airflow before anybody answered"
    for given, more, state, words in (
        (refused, {}, "refused", "the approval by al was refused: al started this run"),
        (None, {"over": Over.MARKED_FAILED}, "unanswered", f"its task approve, as failed {answered}"),
        (None, {"over": Over.MARKED_SUCCESS}, "unanswered", f"as success {answered}, which approves nothing"),
        (None, {"over": Over.MARKED_SKIPPED}, "unanswered", f"marked the task approve as skipped {answered}"),
        (None, {"over": Over.FAILED}, "unanswered", "Airflow failed the task approve before it had an answer"),
        (None, {"until": "2026-01-01T00:00:00.000000Z"}, "unanswered", "nobody answered before 2026-01-01T00:00:00"),
        (None, {"until": "9999-01-01T00:00:00.000000Z"}, "waiting", "nobody has answered yet"),
    ):
        answer(run, given, **more)
        (line,) = listed(mqops, "--state", state)
        assert line["asks"] == (state == "waiting")
        assert words in mqops("run", "show", run.run).stdout
        assert (words in shown(mqops, run.run)["unapproved"]) == (state != "waiting")
        assert shown(mqops, run.run)["people"].get("approved_by") is None
    with monkeypatch.context() as later:  # no file has changed, and the number is that of the index alone
        for room in ("runs", "run_row", "runs_index"):
            later.setattr(f"mqops.look.{room}.utc_now", lambda: "9999-01-01T00:00:01Z")
        for state, number in ((RunState.WAITING, 0), (RunState.UNANSWERED, 1)):
            assert count_runs(lake, most=9, states=[state]) == len(list_runs(lake, states=[state])) == number
    answer(run, {"approved": True, "by_id": "1", "by": "bob", "at": "t1"})
    stop(run.path, CAROL)
    assert [one["state"] for one in listed(mqops)] == ["stopped"]
    text = mqops("run", "show", run.run).stdout
    assert "this run is stopped by carol@desk" in text
    assert "\x1b" not in text
    mqops("snapshot", DLQ, "-m", "QM1")
    assert [one["state"] for one in listed(mqops, "--state", "observed")] == ["observed"]
    assert shown(mqops, listed(mqops)[0]["run"])["plan"] == {}


def test_a_stopped_and_a_killed_run(manager, mqops, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(4)])
    run, plan = planned(manager, lake, text=TABLE)

    def halt(number: int) -> None:
        if number == 1:
            stop(run.path, CAROL)

    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=1, port=after_commits(halt), approved=plan.digest)
    assert [one["state"] for one in listed(mqops)] == ["stopped"]
    lift(run.path)
    assert [one["state"] for one in listed(mqops)] == ["begun"]
    assert "not proved; the ledger has 0 moved, 0 discarded, 0 failed" in mqops("run", "show", run.run).stdout
    mqops("ledger", "drain", "-m", "QM1")
    assert "not proved; the ledger has 1 moved, 0 discarded, 0 failed" in mqops("run", "show", run.run).stdout
    stop(run.lake_folder, CAROL)
    assert [one["state"] for one in listed(mqops)] == ["stopped"]
    lift(run.lake_folder)
    prove(manager.connection, run)
    assert [(one["state"], one["moved"], one["left"]) for one in listed(mqops)] == [("unfinished", 1, 3)]
    assert {one["why"] for one in shown(mqops, run.run)["messages"]} == {"its turn has not come"}
    summary = read_json(run.path.joinpath("summary.json"))
    write_json(run.path.joinpath("summary.json"), {**summary, "balanced": False, "problems": ["a\nb"]})
    assert [one["state"] for one in listed(mqops)] == ["unbalanced"]
    assert "DOES NOT BALANCE\n              a\N{REPLACEMENT CHARACTER}b\n" in mqops("run", "show", run.run).stdout


def test_filters_choose_runs(manager, mqops, lake, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"1")])
    manager.put("A", [({}, b"1")])
    first = run_of(mqops, "--once")
    undo = json.loads(mqops("undo", first, "--json", "--yes").stdout)["run"]
    mqops("snapshot", "A", "-m", "QM1")
    assert [one["workflow"] for one in listed(mqops)] == ["snapshot", "undo", "dlq_rules"]
    assert [one["run"] for one in listed(mqops, "--workflow", "undo")] == [undo]
    assert [one["queue"] for one in listed(mqops, "--queue", "A", "--state", "observed")] == ["A"]
    assert listed(mqops, "-m", "QM2") == listed(mqops, "--since", "2999-01-01") == []
    assert len(listed(mqops, "--since", "2020-01-01")) == 3
    (one,) = listed(mqops, "--limit", "1")
    assert one["workflow"] == "snapshot"
    assert mqops("runs", "--limit", "1").stdout.endswith("2 more runs: --limit 0 shows all\n")
    assert mqops("runs", "--limit", "1", "--state", "done").stdout.endswith("1 more run: --limit 0 shows all\n")
    monkeypatch.setattr(cli_runs, "MOST_COUNTED", 1)
    assert mqops("runs", "--limit", "1").stdout.endswith("at least 1 more run: --limit 0 shows all\n")
    assert json.loads(mqops("runs", "--limit", "1", "--json").stdout)["more"] == 1
    assert shown(mqops, undo)["undoes"] == first
    assert mqops("run", "show", "no", expect=1).stderr.startswith("mqops: ")


def test_a_quality_run_says_what_its_checks_found(manager, mqops, lake):
    manager.put("A", [({}, b"1")])
    run = find_run(lake, key=json.loads(mqops("snapshot", "A", "-m", "QM1", "--json").stdout)["run"])
    run.quality_json.parent.mkdir()
    check, unseen = (
        CheckResult(suite="s", expectation=name, expect="", columns=(), severity=severity, met=met, **more)
        for name, severity, met, more in (
            ("e", "critical", False, {"failed": 1, "checked": 4}),
            ("u", "info", True, {"skipped": "no message has a value"}),
        )
    )
    found = QualitySummary(run=run.run, queue_manager="QM1", queue="A", found=1, checks=(unseen, check)).to_json()
    figures = {"failed": {"critical": 1, "warning": 0}, "messages": {"critical": 1, "warning": 0}}
    write_json(run.quality_json, found | figures)
    os.utime(run.path)  # as a check does
    assert [one["run"] for one in listed(mqops, "--state", "failed", "--workflow", "snapshot_quality")] == [run.run]
    words = "1 critical check is not met, in 1 message"
    assert f"A of QM1: 1 message: {words}" in " ".join(mqops("runs").stdout.split())
    assert f"run {run.run}: failed\n    state     {words}\n" in mqops("run", "show", run.run).stdout
    told = {"suites": ["s"], "told": ["suite s: no queue fits B*"]}
    write_json(run.quality_json, found | figures | told)
    said = " ".join(mqops("run", "show", run.run).stdout.split())
    assert f"by command line, s: {words} not met critical s.e: 1 message fails of 4 met info s.u: no message" in said
    assert "suite s: no queue fits B*" in said
    assert json.loads(mqops("run", "show", run.run, "--json").stdout)["quality"][0]["suites"] == ["s"]
    write_json(run.quality_json, found | {"failed": {"critical": 0}, "messages": {"critical": 0}})
    os.utime(run.path)
    assert [(one["state"], one["checks"]) for one in listed(mqops)] == [("checked", "2 checks are met, in 1 message")]
    counts = {"found": 2, "done": 0, "left": 0}
    queues = [{"queue": name, "not_checked": number, **counts} for name, number in (("A", 2), ("B", 0), ("C", 1))]
    part = {"failed": {"critical": 0}, "messages": {"critical": 0}, "found": 4, "not_checked": 3, "queues": queues}
    write_json(run.quality_json, found | part)
    os.utime(run.path)
    words = "2 checks are met, in 1 message; 3 messages are not checked, on A, C"
    assert [one["checks"] for one in listed(mqops)] == [words]
    write_json(run.quality_json, found | part | {"queues": [{**one, "not_checked": 1} for one in queues * 2]})
    os.utime(run.path)
    assert [one["checks"] for one in listed(mqops)] == [words.replace("A, C", "6 queues")]
    write_json(run.quality_json, {"nothing": 1})
    os.utime(run.path)
    assert f"{run.quality_json} is not what mqops wrote: run: Field required" in mqops("runs", expect=1).stderr


def test_the_index_keeps_what_did_not_change_and_is_never_wrong(manager, mqops, lake, caplog):
    manager.put(DLQ, [dead_letter("A", b"1")])
    key = run_of(mqops, "--once")
    run = find_run(lake, key=key)
    index = run.lake_folder / INDEX
    until(lambda: listed(mqops) and kept_in(index)[key])  # a folder is kept when it is 2 seconds old
    before = listed(mqops)
    assert oct(index.stat().st_mode)[-3:] == "600"
    when = run.path.stat().st_mtime_ns
    summary = read_json(run.path.joinpath("summary.json"))
    write_json(run.path.joinpath("summary.json"), {**summary, "moved": 77})
    os.utime(run.path, ns=(when, when))  # the folder looks as it did: the index is believed
    assert listed(mqops) == before
    os.utime(run.path)
    assert listed(mqops)[0]["moved"] == 77
    empty = sqlite3.connect(index)
    for damaged in (b"[]", b"", index.read_bytes()[:5000], b"SQLite format 3\0" + bytes(5000)):
        index.write_bytes(damaged)
        assert listed(mqops)[0]["moved"] == 77
    with Runs(lake, "QM1").one_look() as runs:
        assert [line.moved for line in runs.newest(1)] == [77]
        index.write_bytes(damaged)
        assert [line.moved for line in runs.newest(1)] == [77]
    empty.close()
    with sqlite3.connect(index) as database:
        database.execute("PRAGMA user_version = 99")
    assert listed(mqops)[0]["moved"] == 77
    assert f"{index} is made again: another version of mqops made it" in caplog.text
    index.chmod(0o400)
    run.lake_folder.chmod(0o500)  # who may only read the lake does without
    assert listed(mqops)[0]["moved"] == 77
    with Runs(lake, "QM1").one_look() as runs:
        assert [line.moved for line in runs.newest(1)] == [77]
    run.lake_folder.chmod(0o700)


def kept_in(index: Path) -> dict[str, int]:
    """Run → the time of its folder that its row holds for, 0 for a row that is read again."""
    with closing(sqlite3.connect(index)) as database:
        return dict(database.execute("SELECT run, changed FROM run"))


def test_a_run_that_is_old_is_read_again_when_somebody_writes_to_it_and_no_other(manager, mqops, lake):
    manager.put(DLQ, [dead_letter("A", b"1")])
    run = find_run(lake, key=run_of(mqops, "--once"))
    other = shutil.copytree(run.path, run.path.with_name("other"))
    old = time.time_ns() - 2 * RECENT_NS
    for path in (run.path, other):
        os.utime(path, ns=(old, old))
    assert {line.moved for line in list_runs(lake)} == {1}
    changed = run.lake_folder / CHANGED
    assert list(changed.iterdir()) == []
    index = (run.lake_folder / INDEX).stat().st_ino
    os.utime(run.path.parent, ns=(old, old))  # no run came or went
    assert len(list_runs(lake)) == 2
    summary = read_json(run.path.joinpath("summary.json"))
    for path, moved in ((run.path.joinpath("summary.json"), 77), (run.quality_checks / "c" / "none.json", 78)):
        make_folder(path.parent)
        write_json(run.path.joinpath("summary.json"), {**summary, "moved": moved})
        write_json(path, read_json(run.path.joinpath("summary.json")))
        assert [one.name for one in changed.iterdir()] == [run.run]
        assert {line.run: line.moved for line in list_runs(lake)} == {run.run: moved, "other": 1}
    stop(RunFolder(other).path, CAROL)
    (changed / "other").rename(changed / "other!0123")  # a reader died that had claimed the mark
    assert list_runs(lake)
    assert list(changed.iterdir()) == []
    shutil.rmtree(other)  # by hand: nobody has marked it
    assert [line.run for line in list_runs(lake)] == [run.run]
    assert os.stat(changed).st_mode & 0o77 == 0
    assert (run.lake_folder / INDEX).stat().st_ino == index, "it was never made again"


def test_the_names_of_all_runs_are_listed_only_where_no_mark_says_which_came_or_went(manager, mqops, lake, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"1")])
    run = find_run(lake, key=run_of(mqops, "--once"))
    folder, real, lists = run.path.parent, os.listdir, []
    monkeypatch.setattr(os, "listdir", lambda path=".": (lists.append(Path(path)), real(path))[1])
    old = time.time_ns() - RECENT_NS // 2

    def look() -> tuple[set[str], int]:
        """The runs, and how often their folder was listed."""
        lists.clear()
        return {line.run for line in list_runs(lake)}, lists.count(folder)

    assert look()[0] == {run.run}
    os.utime(folder, ns=(old, old))
    assert look() == ({run.run}, 1)
    manager.put(DLQ, [dead_letter("A", b"2")])
    first, second = (Path(run_of(mqops, "--dry-run")) for _ in range(2))
    assert look() == ({run.run, first.name, second.name}, 0)
    RunFolder(first).discard()
    assert look() == ({run.run, second.name}, 0)
    shutil.copytree(run.path, folder / "copy")  # nobody has marked it
    assert look() == ({run.run, second.name, "copy"}, 1)
    run_of(mqops, "--dry-run")
    shutil.copytree(run.path, folder / "hidden")  # by a mark of another run
    there, listed_then = look()
    assert (listed_then, "hidden" in there) == (0, False)
    later = time.time_ns() + RECENT_NS + 10**9
    monkeypatch.setattr("mqops.look.runs_index.time.time_ns", lambda: later)
    there, listed_then = look()
    assert (listed_then, "hidden" in there) == (1, True)  # an hour later at the latest


def test_a_run_whose_files_are_not_what_mqops_wrote_is_named(manager, mqops, lake):
    manager.put(DLQ, [dead_letter("A", b"1")])
    run = find_run(lake, key=run_of(mqops, "--once"))
    write_json(run.path.joinpath("summary.json"), {"nothing": 1})
    manager.put(DLQ, [dead_letter("A", b"2")])
    other = run_of(mqops, "--once")
    told = mqops("runs", expect=1)
    why = (
        f"{run.path / 'summary.json'} is not what mqops wrote: run: Field required. Restore it from a copy of the lake"
    )
    assert told.stderr.startswith(f"mqops: Run {run.run} of QM1 cannot be read: {why}")
    assert (other in told.stdout, run.run in told.stdout) == (True, False)  # what the index had of it may be wrong
    assert "more run" not in mqops("runs", "--limit", "1", expect=1).stdout
    assert (count_runs(lake, most=1), count_runs(lake, most=2)) == (1, 1)
    answer = json.loads(mqops("runs", "--json", expect=1).stdout)
    assert [one["run"] for one in answer["runs"]] == [other]
    (damaged,) = answer["damaged"]
    assert (damaged["queue_manager"], damaged["run"], damaged["error"]["code"]) == ("QM1", run.run, "LakeError")
    with pytest.raises(LakeError, match="is not what mqops wrote"):  # who needs all runs is told
        list_runs(lake)
    assert [one.run for one in list_runs(lake, queue_manager="QM2")] == []


def test_of_the_messages_of_a_queue_the_oldest_is_told(manager, mqops_here, monkeypatch):
    monkeypatch.setattr(snapshot, "read_parquet", partial(snapshot.read_parquet, rows=1))
    dates = {b"20260102": b"03040506", b"20250101": b"11223344", b"20260301": b"00000000"}
    manager.put(
        "A",
        [({"PutDate": date, "PutTime": time}, b"x") for date, time in dates.items()],
        options=CMQC.MQOO_SET_ALL_CONTEXT,
    )
    folder = Path(json.loads(mqops_here("snapshot", "A", "-m", "QM1", "--json").stdout)["folder"])
    (queue,) = json.loads((folder / "observe.json").read_text())["queues"]
    assert queue["oldest"].startswith("2025010111223344"), queue
