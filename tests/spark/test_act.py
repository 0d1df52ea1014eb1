"""Act with Spark: the same as without it, lanes side by side, nothing twice whatever Spark repeats."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_opened import act as act_plainly
from ledger_opened import observe, prove
from mq_support import DLQ, dead_letter, digests
from spark.dealing import dealt_by_spark
from spark_support import job_here

from mqops.act.approved_plan import acted_rows, read_approved_plan
from mqops.act.core.deal import by_lanes, lane_lengths
from mqops.act.core.lanes import lane_of
from mqops.act.spark import act as spark_act
from mqops.act.spark.act import ActTask, _checked, _lengths, act
from mqops.decide.core.pacing import NO_LIMITS, Pacing
from mqops.decide.in_process import decide
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.errors import InProgress, LakeError, PermanentMQError, PlanChanged
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.ledger.opened import OpenLedger
from mqops.model import ActSummary
from mqops.mq.connection import OneSession
from mqops.rules import parse

QUEUES = (
    "".join(f"DEFINE QLOCAL(T{number}) MAXDEPTH(50000)\n" for number in range(6)) + "DEFINE QLOCAL(SMALL) MAXDEPTH(7)\n"
)


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def planned(manager, tmp_path):
    """Plans a pass with a rules table over the dead-letter queue."""

    def plan(text: str) -> RunFolder:
        what = DeadLetterRequest(
            connection=manager.connection, lake=tmp_path / "lake", table=parse(text).table, text=text
        )
        return plan_run(DEAD_LETTERS, what)[0]

    return plan


def fill(manager, count: int, targets: int = 6) -> None:
    manager.put(DLQ, [dead_letter(f"T{number % targets}", b"%d" % number) for number in range(count)])


def test_lanes_keep_the_order_of_a_destination(manager, spark, planned):
    fill(manager, 300)
    run = planned("ACTION(RETRY)")
    summary = act(spark, manager.connection, run, unit_size=20, lanes=4)
    assert isinstance(summary, ActSummary)
    assert (summary.moved, summary.failed, summary.absent, summary.lanes_held) == (300, 0, 0, 0)
    for target in range(6):
        assert manager.bodies(f"T{target}") == [b"%d" % number for number in range(target, 300, 6)]
    proved = prove(manager.connection, run)
    assert (proved.planned, proved.moved, proved.balanced, proved.finished) == (300, 300, True, True)


def test_spark_deals_the_lanes_as_python_does(manager, spark, planned):
    manager.put(DLQ, [dead_letter(f"Q.{number % 7}", b"%d" % number, MsgId=b"M" * 24) for number in range(40)])
    run = planned("DESTQ(Q.3) ACTION(IGNORE)\nDESTQ(Q.4) ACTION(DISCARD)\nACTION(RETRY) PUTAUT(CTX)\n")
    rows = dealt_by_spark(spark.read.parquet(str(run.plan)), 5, NO_LIMITS).collect()
    assert rows
    by_lane: dict[int, list] = {}
    for row in sorted(rows, key=lambda row: (row["lane"], row["position"])):
        assert row["lane"] == lane_of(row["unit_group"], 5)
        assert row["duplicate_id"]
        by_lane.setdefault(row["lane"], []).append(row)
    for lane in by_lane.values():
        assert [row["position"] for row in lane] == list(range(len(lane)))
        approved_plan = [(row["unit_group"].encode(), row["row"]) for row in lane]
        assert approved_plan == sorted(approved_plan)
    assert {row["action"] for row in rows} == {"RETRY", "DISCARD"}


@pytest.mark.parametrize("few", [True, False])
def test_messages_with_the_same_identifiers_go_once_each_at_the_first_try(manager, spark, planned, monkeypatch, few):
    bodies = [b"%d" % number for number in range(6)]
    manager.put(DLQ, [dead_letter(f"T{number % 2}", body, MsgId=b"M" * 24) for number, body in enumerate(bodies)])
    run = planned("ACTION(RETRY)")
    monkeypatch.setattr(spark_act, "FEW", 50 if few else 0)
    summary = act(spark, manager.connection, run)
    assert (summary.moved, summary.backouts) == (6, 0)
    assert (manager.bodies("T0"), manager.bodies("T1")) == (bodies[::2], bodies[1::2])


def test_a_name_that_is_none_fails_its_own_message_only(manager, spark, planned):
    fill(manager, 12)
    manager.put(DLQ, [dead_letter("\N{LATIN SMALL LETTER R WITH CARON}", b"odd")])
    run = planned("ACTION(RETRY)")
    summary = act(spark, manager.connection, run, lanes=2)
    assert (summary.moved, summary.failed) == (12, 1)
    assert prove(manager.connection, run).reasons == {"MQRC_OBJECT_NAME_ERROR": 1}


def test_what_spark_began_the_plain_one_finishes_and_the_other_way_round(manager, spark, planned):
    fill(manager, 60)
    manager.mqsc("ALTER QLOCAL(T1) PUT(DISABLED)")
    run = planned("ACTION(RETRY) RETRY(2)")
    assert act(spark, manager.connection, run, lanes=3).moved == 50
    assert act_plainly(manager.connection, run).units == 0
    assert len(read_json(run.issued_json)["lanes"]) == 3
    again = planned("ACTION(RETRY) RETRY(2)")
    manager.mqsc("ALTER QLOCAL(T1) PUT(ENABLED)")
    assert act_plainly(manager.connection, again).moved == 10
    assert act(spark, manager.connection, again).units == 0
    assert prove(manager.connection, again).moved == 10


def test_law1_a_task_that_runs_twice_at_the_same_time_moves_every_message_once(manager, planned):
    """Speculation, and a worker that lives on when its driver is dead: two executions of the same task."""
    fill(manager, 400, targets=2)
    run = planned("ACTION(RETRY)")
    approved_plan = read_approved_plan(run)
    act_plainly_lanes = 1
    task = ActTask(connection=manager.connection, approved_plan=approved_plan, lengths=(400,), unit_size=3)
    reports: list = []

    from mqops.act import in_process as plain  # noqa: PLC0415
    from mqops.act.beginning import begin  # noqa: PLC0415

    ledger = OpenLedger(LedgerFile(run.lake_folder), approved_plan.identity, run)
    with OneSession(manager.connection) as step:
        begin(step, approved_plan, ledger, lambda: [400], {})
    rows = by_lanes(acted_rows(approved_plan), act_plainly_lanes, NO_LIMITS)[0]

    def execute():
        with plain.LaneWorker(manager.connection, approved_plan, task.unit_size, keys=ledger.keys) as worker:
            reports.append(worker.run(0, 400, iter(rows)))

    threads = [threading.Thread(target=execute) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.moved for report in reports) == 400
    assert sum(report.absent for report in reports) == 0
    assert manager.bodies("T0") == [b"%d" % number for number in range(0, 400, 2)]
    assert manager.bodies("T1") == [b"%d" % number for number in range(1, 400, 2)]
    assert prove(manager.connection, run).moved == 400


def test_an_executor_that_does_not_see_the_runs_folder_moves_nothing(manager, planned, tmp_path):
    fill(manager, 2)
    approved_plan = read_approved_plan(planned("ACTION(RETRY)"))
    elsewhere = replace(approved_plan, folder=RunFolder(tmp_path / "of this pod" / "QM1" / "runs" / "r"))
    task = ActTask(connection=manager.connection, approved_plan=elsewhere, lengths=(2,), unit_size=3)
    with pytest.raises(LakeError, match=r"which the task made: the lake is not shared\. Mount the same folder"):
        next(task([]))
    assert manager.depth(DLQ) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [row | {"dest_q": "T5", "unit_group": "T5@QM1"} for row in rows],  # another destination
        lambda rows: [row | {"action": "DISCARD"} for row in rows],  # another action
        lambda rows: rows[:-1],  # a row less
        lambda rows: [*rows, rows[0]],  # a row more
    ],
    ids=["destination", "action", "less", "more"],
)
@pytest.mark.parametrize("way", ["spark", "plain"])
def test_law2_rows_changed_after_the_plan_was_made_are_not_acted_on(manager, spark, planned, change, way):
    fill(manager, 12)
    run = planned("ACTION(RETRY)")
    digest = read_json(run.plan_json)["digest"]
    (part,) = run.plan.glob("*.parquet")
    rows = pq.read_table(part)
    pq.write_table(pa.Table.from_pylist(change(rows.to_pylist()), schema=rows.schema), part)
    again = partial(act, spark) if way == "spark" else act_plainly
    with pytest.raises(PlanChanged, match=f"the plan was made with {digest}: its files were changed"):
        again(manager.connection, run, approved=digest)
    assert manager.depth(DLQ) == 12


@pytest.mark.parametrize("pacing", [NO_LIMITS, Pacing(canary=2)], ids=["no canaries", "canaries"])
def test_many_rows_are_checked_and_counted_by_spark_as_few_are_in_its_client(
    manager, spark, planned, monkeypatch, pacing
):
    fill(manager, 24)
    run = planned("DESTQ(T1) ACTION(IGNORE)\nDESTQ(T2) ACTION(DISCARD)\nACTION(RETRY)")
    plan = replace(read_approved_plan(run), pacing=pacing)
    rows = spark.read.parquet(str(run.plan))
    here = lane_lengths(_checked(run, rows, plan), pacing, 4)
    monkeypatch.setattr(spark_act, "FEW", 0)
    assert _checked(run, rows, plan) is None
    assert _lengths(rows, 4, pacing) == here
    assert sum(here) == 20
    assert (len(here), any(here[4:])) == ((8, True) if pacing.has_canaries else (4, False))
    other = replace(plan, identity=replace(plan.identity, digest="0" * 64))
    with pytest.raises(PlanChanged, match="its files were changed"):
        _checked(run, rows, other)


def test_D11_two_runs_over_the_same_queue_move_every_message_once(manager, spark, planned):
    fill(manager, 200)
    first, second = planned("ACTION(RETRY)"), planned("ACTION(RETRY)")
    plain = threading.Thread(target=act_plainly, args=(manager.connection, first), kwargs={"unit_size": 7})
    plain.start()
    act(spark, manager.connection, second, unit_size=5)
    plain.join()
    proofs = [prove(manager.connection, run) for run in (first, second)]
    assert all(proof.balanced and proof.finished for proof in proofs)
    assert sum(proof.moved for proof in proofs) == 200
    assert sum(proof.gone for proof in proofs) == 200
    moved = [body for number in range(6) for body in manager.bodies(f"T{number}")]
    assert digests(moved) == digests([b"%d" % number for number in range(200)])


def test_a_run_that_is_being_acted_on_is_left_alone(manager, spark, planned):
    fill(manager, 3)
    run = planned("ACTION(RETRY)")
    with run.lock(), pytest.raises(InProgress, match="Another process acts on run"):
        act(spark, manager.connection, run)
    with run.lock(), pytest.raises(InProgress, match="Another process acts on run"):
        prove(manager.connection, run)
    assert manager.depth(DLQ) == 3


def test_an_error_of_a_task_names_the_run_what_moved_and_the_command_that_goes_on(manager, spark, planned):
    fill(manager, 12, targets=1)
    run = planned("ACTION(RETRY)")
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(5)")
    with pytest.raises(PermanentMQError, match=r"MQRC_Q_FULL \(2053\)") as failed:
        act(spark, manager.connection, run, unit_size=1, lanes=1)
    found = re.search(
        rf"\. Run {run.run}: at least (\d+) of 12 messages had moved\. To go on: `(.+)`$", str(failed.value)
    )
    assert found, failed.value
    assert 0 < int(found[1]) == manager.depth("T0") < 12
    lake = run.lake_folder.parent
    assert found[2] == f"mqops resume {run.run} --finish -m QM1 --lake {lake}"


def test_a_plan_that_is_acted_on_is_not_decided_anew(manager, planned):
    fill(manager, 3)
    table = parse("ACTION(RETRY)").table
    run = planned("ACTION(RETRY)")
    act_plainly(manager.connection, run)
    with pytest.raises(PlanChanged, match="is being acted on; make a new run for a new plan"):
        decide(run, table, text="", source="x")


def test_plain_and_spark_decide_the_same_plan(manager, spark, tmp_path):
    from mqops.decide.spark.decide import Request  # noqa: PLC0415
    from mqops.decide.spark.decide import decide as decide_with_spark  # noqa: PLC0415

    messages = [
        dead_letter(f"Q.{number % 6}", b"%d" % number, reason=2050 + number % 4, ReplyToQ="R" * (number % 2))
        for number in range(60)
    ]
    manager.put(DLQ, [*messages, ({}, b"no header")])
    manager.put(DLQ, [dead_letter(f"G.{number}", b"7") for number in range(60)])
    text = (
        "REASON(2051) ACTION(DISCARD)\nDESTQ(Q.1) ACTION(RETRY) PUTAUT(CTX) RETRY(3)\nDESTQ(Q.2) ACTION(IGNORE)\n"
        "REPLYQ('?*') ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM) HEADER(NO)\nREASON(2053) ACTION(FWD) FWDQ(X) FWDQM(Y)\n"
    )
    plans = []
    for name in ("plain", "spark"):
        run = RunFolder.at(tmp_path / "lake", "QM1", name)
        observe(manager.connection, run)
        if name == "plain":
            plans.append(decide(run, parse(text).table, text=text, source="t", workflow="w"))
        else:
            plans.append(decide_with_spark(spark, Request(folder=run, table_text=text, table_source="t", workflow="w")))
    plain, sparkling = plans
    assert plain.digest == sparkling.digest
    assert plain.rules == sparkling.rules
    assert plain.counts == sparkling.counts  # with their order and their samples
    assert len(plain.counts) > 60
    assert {len(count.samples) for count in plain.counts} == {1, 3}
    assert {sample.shape for count in plain.counts for sample in count.samples} == {"9", "99", "xx xxxxxx"}
    assert {rule.action for rule in plain.rules} == {"DISCARD", "RETRY", "IGNORE", "FWD", "ERROR"}


def test_the_job_acts_and_refuses_another_plan(manager, spark, planned):
    fill(manager, 12)
    run = planned("ACTION(RETRY)")
    job = partial(job_here, spark, "act", "--run", str(run.path), MQOPS_CONNECTION=manager.connection.to_json())
    refused = job("--plan-digest", "0" * 64)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("mqops: PlanChanged: The plan has digest ")
    assert manager.depth(DLQ) == 12
    digest = read_json(run.plan_json)["digest"]
    done = job("--plan-digest", digest, MQOPS_ABOUT=json.dumps({"approved_by": "carol", "comment": "seen"}))
    assert done.returncode == 0, done.stderr
    assert json.loads(run.path.joinpath("act.json").read_text())["moved"] == 12
    assert f"Run {run.run}: 12 messages to act on\n" in done.stderr  # the task's log has it
    assert re.search(r": 12 of 12 messages done, \d+ a second: 12 moved, 0 discarded, 0 failed, 0 left\n", done.stderr)
    prove(manager.connection, run)
    ledger = [json.loads(line) for line in (run.lake_folder / "ledger" / "ledger.jsonl").read_text().splitlines()]
    assert (ledger[0]["about"]["approved_by"], ledger[0]["about"]["comment"]) == ("carol", "seen")
