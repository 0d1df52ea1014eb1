"""Canaries, the kill switch, pace, ORDER, MAXREPLAY and groups with Spark: as without it."""

from __future__ import annotations

import logging
import random
import time

import pyarrow.parquet as pq
import pytest
from act_support import EXTENDED, counts, planned, proved, send_back
from ledger_opened import act as act_plainly
from ledger_opened import observe, prove
from mq_support import DLQ, dead_letter, storage_estate
from pymqi import CMQC
from pyspark.sql.types import StructType
from spark.dealing import dealt_by_spark
from spark_support import meanwhile

from mqops.act.approved_plan import ROW_COLUMNS, acted_rows, make_row, read_approved_plan
from mqops.act.canary import CAME_BACK
from mqops.act.core.deal import by_lanes, tasks_of_lanes
from mqops.act.core.mover import BEHIND_FAILED
from mqops.act.spark.act import act
from mqops.decide.core.pacing import Pacing
from mqops.decide.in_process import decide
from mqops.decide.spark.decide import Request
from mqops.decide.spark.decide import decide as decide_with_spark
from mqops.decide.spark.schema import PLAN
from mqops.errors import Stopped
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.file import LedgerFile
from mqops.rules import parse
from mqwire.constants import MQENC_NATIVE
from mqwire.rfh2 import MQRFH2

QUEUES = "".join(f"DEFINE QLOCAL(T{number}) MAXDEPTH(50000)\n" for number in range(4))
QUEUES += "DEFINE QLOCAL(SHORT) MAXMSGL(10)\n"


@pytest.fixture
def manager(queue_manager, tmp_path, monkeypatch):
    """Its queues are storage: no program reads the canaries."""
    monkeypatch.setenv("MQOPS_ESTATE", storage_estate(tmp_path, "*"))
    return queue_manager(mqsc=QUEUES)


def test_canaries_with_spark_stop_their_group_and_no_other(manager, spark, lake):
    manager.put(DLQ, [dead_letter(f"T{n % 3}", b"%d" % n) for n in range(60)])
    run, _plan = planned(manager, lake, canary=2, canary_wait=4)
    with meanwhile(lambda: send_back(manager, "T1") and False):
        summary = act(spark, manager.connection, run, lanes=3)
    assert (summary.moved, summary.left) == (42, 18)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 60, "moved": 42, "left": 18, "arrived": 2}
    assert proof.left_because == {CAME_BACK: 18}
    assert {one.unit_group: one.why for one in proof.canaries} == {
        "T0@QM1": "",
        "T1@QM1": CAME_BACK,
        "T2@QM1": "",
    }
    assert manager.bodies("T0") == [b"%d" % n for n in range(0, 60, 3)]
    assert list(LedgerFile(run.lake_folder, str).entries())


def test_stopped_with_spark_and_finished_without_it(manager, spark, lake):
    manager.put(DLQ, [dead_letter(f"T{n % 4}", b"%d" % n) for n in range(2000)])
    run, plan = planned(manager, lake)

    def stop_when_at_work() -> bool:
        if manager.depth("T0") + manager.depth("T3") < 20:
            return False
        stop(run.path, Stop(by="carol", at="now"))
        return True

    with meanwhile(stop_when_at_work), pytest.raises(Stopped, match="was stopped by carol at now"):
        act(spark, manager.connection, run, unit_size=2, lanes=4)
    found = proved(manager, run)
    assert 20 <= found["moved"] < 2000
    assert found["left"] == 2000 - found["moved"]
    lift(run.path)
    act_plainly(manager.connection, run, approved=plan.digest)
    assert proved(manager, run) == {"planned": 2000, "moved": 2000}
    for target in range(4):
        assert manager.bodies(f"T{target}") == [b"%d" % n for n in range(target, 2000, 4)]


def test_the_pace_holds_over_all_tasks_and_the_driver_tells_what_they_have_moved(manager, spark, lake, caplog):
    manager.put(DLQ, [dead_letter(f"T{n % 4}", b"%d" % n) for n in range(60)])
    run, _plan = planned(manager, lake, pace=20)
    begin = time.monotonic()
    with caplog.at_level(logging.INFO, "mqops.act.progress"):
        assert act(spark, manager.connection, run, lanes=4).moved == 60
    assert time.monotonic() - begin >= 60 / 20
    first, *lines = [record.getMessage() for record in caplog.records if record.name == "mqops.act.progress"]
    assert first == f"Run {run.run}: 60 messages to act on"
    done = [int(line.removeprefix(f"Run {run.run}: ").partition(" of 60 messages done, ")[0]) for line in lines]
    assert len(done) >= 2
    assert done == sorted(set(done))
    assert lines[-1].endswith(": 60 moved, 0 discarded, 0 failed, 0 left")
    assert not run.progress.exists()
    assert proved(manager, run) == {"planned": 60, "moved": 60}


def test_ORDER_with_spark_keeps_what_is_behind_a_failure(manager, spark, lake):
    keys = [b"a".ljust(24, b"\0"), b"b".ljust(24, b"\0")]
    bodies = [b"x" * 11 if n == 4 else b"%d" % n for n in range(20)]
    manager.put(DLQ, [dead_letter("SHORT", body, CorrelId=keys[n % 2]) for n, body in enumerate(bodies)])
    run, _plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) ORDER(CORRELID)\n")
    act(spark, manager.connection, run, unit_size=3)
    assert manager.bodies("SHORT") == [b"%d" % n for n in range(20) if n % 2 or n < 4]
    proof = prove(manager.connection, run)
    assert proof.left_because == {BEHIND_FAILED: 7}
    assert counts(proof) == {"planned": 20, "moved": 12, "left": 8, "failed": 1}


def test_behind_a_canary_with_spark_waits_what_another_rule_sends_there_with_its_key(manager, spark, lake):
    text = EXTENDED + "REASON(7) ACTION(RETRY) ORDER(CORRELID)\nACTION(RETRY) ORDER(CORRELID)\n"
    keys = [b"a".ljust(24, b"\0"), b"b".ljust(24, b"\0")]
    manager.put(DLQ, [dead_letter("SHORT", b"x" * 11, reason=7, CorrelId=keys[0])])
    manager.put(DLQ, [dead_letter("SHORT", b"%d" % n, CorrelId=keys[n % 2]) for n in range(20)])
    run, _plan = planned(manager, lake, text, canary=1, canary_wait=0)
    act(spark, manager.connection, run, unit_size=3)
    assert manager.bodies("SHORT") == [b"%d" % n for n in range(1, 20, 2)]
    proof = prove(manager.connection, run)
    assert proof.left_because == {BEHIND_FAILED: 10}
    assert counts(proof) == {"planned": 21, "moved": 10, "left": 11, "failed": 1}


MEMBER = CMQC.MQMF_MSG_IN_GROUP


def messages():
    """Groups that are sent to one place, and to two; messages with and without what ORDER asks for."""
    found = []
    for number in range(40):
        group = {"GroupId": b"g%d".ljust(24, b"\0") % (number % 5), "MsgSeqNumber": number // 5 + 1, "MsgFlags": MEMBER}
        dest = f"T{number % 5 % 3}" if number % 5 != 2 else f"T{number % 4}"
        ids = {"CorrelId": b"%d".ljust(24, b"\0") % (number % 3)} if number % 7 else {}
        found.append(dead_letter(dest, b"%d" % number, **ids, **(group if number % 2 else {})))
    rfh2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><a>Ä 1</a></usr>").pack()
    named = [dead_letter("T2", rfh2 + b"order", reason=7, inner=("MQHRF2", MQENC_NATIVE, 1208))]
    whole = {"GroupId": b"whole".ljust(24, b"\0"), "MsgFlags": MEMBER}
    named += [dead_letter("T2", b"whole %d" % seq, MsgSeqNumber=seq, **whole) for seq in (1, 2)]
    return [*found, dead_letter("T3", b"drop"), *named, ({}, b"no header")]


TABLE = EXTENDED + (
    "DESTQ(T0) ACTION(RETRY) ORDER(CORRELID) CANARY(3)\nDESTQ(T1) ACTION(RETRY) MAXREPLAY(1)\n"
    "DESTQ(T3) ACTION(DISCARD)\nREASON(7) ACTION(RETRY) ORDER('usr.a')\n"
    "ACTION(FWD) FWDQ(T0) HEADER(NO) ORDER(GROUPID) PACE(100/s)\n"
)


@pytest.mark.parametrize(
    ("lengths", "tasks", "expected"),
    [
        ([5, 0, 9, 1], 2, [1, 0, 0, 1]),
        ([7, 0, 0, 0], 1, [0, 0, 0, 0]),
        ([3, 3, 3], 3, [0, 1, 2]),
        ([0], 1, [0]),
    ],
)
def test_lanes_are_spread_over_tasks_by_what_they_have_to_do(lengths, tasks, expected):
    assert tasks_of_lanes(lengths, tasks, Pacing()) == expected


def test_a_lane_and_that_of_its_canaries_are_in_one_task():
    assert tasks_of_lanes([1, 5, 6, 0], 2, Pacing(canary=1)) == [0, 1]
    assert tasks_of_lanes([9, 0, 1, 0], 2, Pacing(canary=1)) == [0, 0]


def test_plain_and_spark_decide_the_same_and_deal_the_same(manager, spark, lake):
    manager.put(DLQ, messages())
    run, _plan = planned(manager, lake, "DESTQ(T1) ACTION(RETRY)\n")
    act_plainly(manager.connection, run)
    prove(manager.connection, run)
    send_back(manager, "T1")
    runs, plans = [], []
    for name in ("plain", "spark"):
        runs.append(RunFolder.at(lake, "QM1", name))
        observe(manager.connection, runs[-1])
        pacing = Pacing(canary=1, in_flight=9)
        if name == "plain":
            plans.append(decide(runs[-1], parse(TABLE).table, text=TABLE, source="t", pacing=pacing))
        else:
            plans.append(decide_with_spark(spark, Request(folder=runs[-1], table_text=TABLE, pacing=pacing)))
    rows = [sorted(pq.read_table(run.plan).to_pylist(), key=lambda row: row["row"]) for run in runs]
    assert rows[0] == rows[1]
    assert plans[0].digest == plans[1].digest
    assert plans[0].remarks == plans[1].remarks
    assert plans[0].handling == plans[1].handling
    assert {"SPLIT", "REPLAYED", "RETRY", "DISCARD", "ERROR"} <= plans[0].actions.keys()
    assert {row["order_key"].split(":")[0] for row in rows[0]} == {"", "CORRELID", "GROUPID", "usr.a"}
    assert any(row["order_key"] == "usr.a:Ä 1" for row in rows[0])
    assert any(row["together"] != row["row"] for row in rows[0])

    approved_plan = read_approved_plan(runs[0])
    dealt = by_lanes(acted_rows(approved_plan), 6, approved_plan.pacing)
    with_spark = dealt_by_spark(spark.read.parquet(str(runs[1].plan)), 6, approved_plan.pacing).collect()
    assert sorted((row["lane"], row["position"], row["row"]) for row in with_spark) == [
        (lane, row.position, row.row) for lane, of_lane in enumerate(dealt) for row in of_lane
    ]
    assert any(dealt[lane] for lane in range(3, 6))


def rows_of_a_plan(seed: int, number: int) -> list[dict]:
    """Rows for two destinations by two rules, with order keys and MQ groups dealt at random."""
    chance = random.Random(seed)
    bundles: dict[tuple[str, int], int] = {}
    rows = []
    for n in range(number):
        target = chance.choice("AB")
        together = bundles.setdefault((target, chance.randrange(8)), n) if chance.random() < 0.3 else n
        rows.append(
            {
                **{"row": n, "queue": DLQ, "msg_key": str(n), "msg_id": b"%024d" % n, "correl_id": bytes(24)},
                **{"body_length": 1, "body_sha256": bytes(32), "tries": 0, "duplicate_id": False, "header": True},
                **{"action": "RETRY", "rule_key": chance.choice(["one", "one", "two"]), "unit_group": f"{target}@"},
                **{"dest_q": target, "dest_q_mgr": "", "alternate_user": "", "together": together},
                "order_key": chance.choice(["", "K", "L", "M", str(n)]),
            }
        )
    return rows


def test_canaries_are_the_same_with_and_without_spark_and_overtake_nothing(spark):
    pacing = Pacing(canary=3)
    led = 0
    for seed in range(5):
        rows = rows_of_a_plan(seed, 40)
        plan = spark.createDataFrame(
            [tuple(row[name] for name in ROW_COLUMNS) for row in rows],
            StructType([PLAN[name] for name in ROW_COLUMNS]),
        )
        lanes = {row["row"]: (row["lane"], row["position"]) for row in dealt_by_spark(plan, 2, pacing).collect()}
        dealt = by_lanes([make_row(-1, row) for row in rows], 2, pacing)
        assert lanes == {row.row: (lane, row.position) for lane in (0, 1) for row in dealt[lane]}
        led += len(dealt[1])
        for canary in dealt[1]:
            for other in dealt[0]:
                same = canary.order_key and (other.unit_group, other.order_key) == (canary.unit_group, canary.order_key)
                assert not (same and (other.bundle, other.row) < (canary.bundle, canary.row)), (seed, canary, other)
    assert led > 25


def test_a_limit_that_leaves_out_some_of_a_group_holds_it_back(manager, spark, lake):
    group = {"GroupId": b"g".ljust(24, b"\0"), "MsgFlags": MEMBER}
    manager.put(DLQ, [dead_letter("T0", b"%d" % n, MsgSeqNumber=n + 1, **group) for n in range(4)])
    manager.put(DLQ, [dead_letter("T0", b"single")])
    run = RunFolder.at(lake, "QM1", "limited")
    observe(manager.connection, run)
    plan = decide_with_spark(spark, Request(folder=run, table_text="ACTION(RETRY)\n", limit=3))
    assert plan.actions == {"INCOMPLETE": 3}
    assert plan.remarks == ("3 messages are left: other messages of the group are not in the plan",)
    assert read_json(run.plan_json)["handling"] == {}
