"""`mqops ledger show` of messages that no run dealt with: it never denies one that a snapshot or a plan knows."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pymqi
import pytest
from act_support import planned
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter, time_goes_by
from pymqi import CMQC

from mqops.lake.run import RunFolder
from mqops.ledger import index, segments
from mqops.ledger.file import LedgerFile
from mqops.look import sightings

TABLE = "DESTQ(A) ACTION(RETRY)\nDESTQ(NONE) ACTION(RETRY)\n"


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def consume(manager, msg_id: bytes) -> None:
    """What an application does."""
    with manager.connected() as connection:
        pymqi.Queue(connection, DLQ).get(None, pymqi.MD(MsgId=msg_id))
        connection.commit()


def known(mqops, msg_id: bytes) -> dict[str, Any]:
    return json.loads(mqops("ledger", "show", msg_id.hex(), "--json").stdout)


def finished(manager, run: RunFolder, digest: str) -> str:
    act(manager.connection, run, approved=digest)
    return prove(manager.connection, run).proved_at


def test_e04_a_message_that_expired_before_it_was_moved_is_told_with_its_lifetime(manager, lake, mqops, monkeypatch):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"1", Expiry=6000)])
    run, plan = planned(manager, lake, text=TABLE)
    time_goes_by(monkeypatch, 6000)
    finished(manager, run, plan.digest)
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["became"], seen["action"], seen["run"], seen["missed_by"]) == ("expired", "RETRY", run.run, run.run)
    assert 0 < seen["lifetime"] <= 6000
    text = mqops("ledger", "show", msg_id.hex()[:47]).stdout
    assert f"it expired before it was moved (lifetime {seen['lifetime'] / 10} s at {seen['seen_at']})" in text


def test_times_that_spark_wrote_without_a_zone_are_utc(manager, lake, mqops):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"1", Expiry=1_000_000)])
    run, _plan = planned(manager, lake, text=TABLE)
    before = known(mqops, msg_id)
    (part,) = run.snapshot.glob("*.parquet")
    table = pq.read_table(part)
    at = table.schema.get_field_index("observed_at")
    without_zone = table.set_column(at, "observed_at", table.column(at).cast(pa.timestamp("ns")))
    pq.write_table(without_zone, part, use_deprecated_int96_timestamps=True)
    assert known(mqops, msg_id) == before
    assert before["seen"][0]["ends_at"] > before["seen"][0]["seen_at"]


def test_what_expires_while_a_later_snapshot_is_taken_has_expired(manager, lake, mqops, monkeypatch):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"1", Expiry=6000)])
    planned(manager, lake, text=TABLE)
    time_goes_by(monkeypatch, 6000)
    later, _plan = planned(manager, lake, text=TABLE)
    observed = json.loads(later.path.joinpath("observe.json").read_text())
    (seen,) = known(mqops, msg_id)["seen"]
    observed["observed_at"] = seen["seen_at"].replace("Z", ".999999Z")  # it began while the message was there
    later.path.joinpath("observe.json").write_text(json.dumps(observed))
    os.utime(later.path.joinpath("observe.json"), (0, 0))  # as in a lake that was copied
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["became"], seen["missed_by"]) == ("expired", later.run)
    del observed["ended_at"]  # a file of before: it was written when the snapshot ended
    later.path.joinpath("observe.json").write_text(json.dumps(observed))
    os.utime(later.path.joinpath("observe.json"), (0, time.time()))  # by the clock that was put forward
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["became"], seen["missed_by"]) == ("expired", later.run)


def test_law3_a_message_that_somebody_else_consumed_is_gone_at_the_proof(manager, lake, mqops):
    first, second, third = manager.put(
        DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2"), dead_letter("B", b"3", Persistence=0)]
    )
    run, plan = planned(manager, lake, text=TABLE)
    assert known(mqops, second)["seen"][0]["became"] == "seen"
    for one in (first, second, third):
        consume(manager, one)
    at = finished(manager, run, plan.digest)
    for msg_id, action, became in (
        (first, "RETRY", "taken"),
        (second, "IGNORE", "taken"),
        (third, "IGNORE", "unknown"),
    ):
        (seen,) = known(mqops, msg_id)["seen"]
        assert (seen["became"], seen["action"], seen["missed_by"]) == (became, action, run.run)
        assert seen["missed_at"][:-1] <= at
    assert "another program got it, or the queue was cleared" in mqops("ledger", "show", second.hex()).stdout


@pytest.mark.parametrize("closed", [False, True], ids=["in the open segment", "in a closed segment"])
def test_behind_a_broken_line_of_the_ledger_nothing_is_said_of_another_program(
    manager, lake, mqops, monkeypatch, closed: bool
):
    """A run moved it, and the line that says so cannot be read."""
    monkeypatch.setattr(segments, "SEGMENT_SIZE", 1 if closed else segments.SEGMENT_SIZE)
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"1", Expiry=1_000_000)])
    run, plan = planned(manager, lake, text=TABLE)
    finished(manager, run, plan.digest)
    if closed:  # by the next one that writes
        manager.put(DLQ, [dead_letter("A", b"2")])
        later, its_plan = planned(manager, lake, text=TABLE)
        finished(manager, later, its_plan.digest)
    planned(manager, lake, text=TABLE)  # it finds that the message is gone
    assert [one["outcome"] for one in known(mqops, msg_id)["events"]] == ["acted"]
    file = LedgerFile(lake / "QM1")
    number = next(one for one, line in enumerate(file.lines(), start=1) if b'"kind":"acted"' in line)
    broken = file.segments.file_of(number)
    assert (broken != file.path) == closed
    broken.write_bytes(broken.read_bytes().replace(b'"RETRY"', b'"FORWA"'))
    shown = mqops("ledger", "show", msg_id.hex(), expect=1)
    said = " ".join(shown.stdout.split())
    assert ("what became of it is not known: the ledger has a line that cannot be read" in said) == (not closed)
    assert "another program" not in said
    assert ("since not seen at " in said, "gone at " in said) == (not closed, False)
    assert len(shown.stderr.splitlines()) == 1
    error = f"Line {number} of the ledger is damaged or has been changed, in {broken}. What runs did with the message"
    assert error in " ".join(shown.stderr.split())
    assert "restore the file from a copy, and check it with `mqops ledger verify QM1`" in " ".join(shown.stderr.split())


def test_of_too_many_messages_it_is_not_told_that_those_that_a_run_moved_are_gone(manager, lake, mqops, monkeypatch):
    """What the ledger says of them is not read: it would grow."""
    monkeypatch.setattr(segments, "SEGMENT_SIZE", 1)
    monkeypatch.setattr(index, "MOST_IDS", 2)
    first, *_others = manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    for _ in range(2):  # the second one closes the segment of the first
        run, plan = planned(manager, lake, text=TABLE)
        finished(manager, run, plan.digest)
        manager.put(DLQ, [dead_letter("A", b"more")])
    refused = mqops("ledger", "show", first.hex()[:32], expect=1)
    assert refused.stdout == ""
    assert "QM1: More than 2 MsgIds in the ledger begin with 414d51" in refused.stderr


def test_a_message_that_was_left_is_not_gone(manager, lake, mqops):
    msg_ids = manager.put(DLQ, [dead_letter("B", b"1"), dead_letter("NONE", b"2")])
    run, plan = planned(manager, lake, text=TABLE)
    finished(manager, run, plan.digest)
    assert not run.path.joinpath("gone.json").exists()
    assert [known(mqops, one)["seen"][0]["became"] for one in msg_ids] == ["seen", "seen"]
    (event,) = known(mqops, msg_ids[1])["events"]
    assert (event["outcome"], event["reason"]) == ("failed", "MQRC_UNKNOWN_OBJECT_NAME")


def test_a_message_that_only_a_plan_knows_is_not_denied(manager, lake, mqops):
    (msg_id,) = manager.put(DLQ, [dead_letter("B", b"1")])
    run, plan = planned(manager, lake, text=TABLE)
    consume(manager, msg_id)
    finished(manager, run, plan.digest)
    shutil.rmtree(run.snapshot)
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["became"], seen["action"], seen["lifetime"]) == ("gone", "IGNORE", None)
    assert "gone for an unknown reason" in mqops("ledger", "show", msg_id.hex()).stdout
    shutil.rmtree(run.plan)
    assert "knows a message" in mqops("ledger", "show", msg_id.hex(), expect=1).stdout


def test_a_message_that_only_a_plan_knows_and_that_a_unit_of_work_may_have_is_not_gone(manager, lake, mqops):
    """A browse does not show it meanwhile, and a backout brings it back."""
    (msg_id,) = manager.put(DLQ, [dead_letter("B", b"1")])
    run, _plan = planned(manager, lake, text=TABLE)
    with manager.connected() as connection:
        pymqi.Queue(connection, DLQ).get(None, pymqi.MD(MsgId=msg_id), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        planned(manager, lake, text=TABLE)
        connection.backout()
    shutil.rmtree(run.snapshot)
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["run"], seen["became"], seen["lifetime"]) == (run.run, "not_seen", None)
    said = " ".join(mqops("ledger", "show", msg_id.hex()).stdout.split())
    assert f"since not seen at {seen['missed_at']}" in said
    assert "it may come back; else it is gone for an unknown reason: its snapshot was removed" in said


@pytest.mark.parametrize("lacking", ["plan", "plan.json"])
def test_a_run_whose_plan_is_not_whole_is_told_by_its_snapshot(manager, lake, mqops, lacking):
    """It was killed while it planned, or only its plan was removed from the lake."""
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"1")])
    run, _plan = planned(manager, lake, text=TABLE)
    (run.path / lacking).rename(run.path / "elsewhere")
    (seen,) = known(mqops, msg_id)["seen"]
    assert (seen["became"], seen["action"], seen["run"]) == ("seen", "", run.run)


def test_a_damaged_snapshot_hides_no_message(manager, lake, mqops):
    (msg_id,) = manager.put(DLQ, [dead_letter("B", b"1")])
    first, _plan = planned(manager, lake, text=TABLE)
    planned(manager, lake, text=TABLE)
    (part,) = first.snapshot.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    assert known(mqops, msg_id)["seen"][0]["became"] == "seen"


def test_only_snapshots_that_may_have_the_message_are_read_and_of_many_the_newest(manager, lake, mqops, monkeypatch):
    ids = sorted(manager.put(DLQ, [dead_letter("NONE", b"1") for _ in range(3)]))
    first, _plan = planned(manager, lake, text=TABLE)
    (last,) = manager.put(DLQ, [dead_letter("NONE", b"2")])  # greater: MsgIds of a queue manager rise
    consume(manager, ids[1])
    between, _plan = planned(manager, lake, text=TABLE)
    for msg_id in (ids[0], ids[2]):
        consume(manager, msg_id)
    other, _plan = planned(manager, lake, text=TABLE)
    assert known(mqops, last)["seen"][0]["run"] == other.run
    (part,) = other.snapshot.glob("*.parquet")
    part.write_bytes(b"no Parquet")  # it cannot have the message: nobody reads it
    (seen,) = known(mqops, ids[1])["seen"]
    assert (seen["run"], seen["missed_by"], known(mqops, ids[1])["errors"]) == (first.run, between.run, [])
    monkeypatch.setattr(sightings, "MOST", 1)
    assert known(mqops, ids[0])["seen"][0]["run"] == between.run
    unknown = mqops("ledger", "show", ids[1].hex(), "--json", expect=1)
    assert json.loads(unknown.stdout)["seen"] == []
    assert "More than 1 snapshots may have such a message. None of the newest 1 has it" in unknown.stderr
