"""When recorded messages expire: counted from the newest snapshot of each queue, whatever the clock says since."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, time, timedelta

from ledger_opened import observe, prove
from mq_support import DLQ, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.message_load import MESSAGE_LOAD, LoadRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.lake.run import RunFolder
from mqops.look.expiry_forecast import forecast, next_time
from mqops.rules import parse

HOUR = 36_000
"""In tenths of a second."""


def test_messages_are_told_before_and_behind_a_time(queue_manager, lake):
    manager = queue_manager()
    lives = (HOUR, HOUR, 10 * HOUR, -1)
    manager.put(DLQ, [({"Expiry": tenths}, b"x") for tenths in lives])
    text = "ACTION(IGNORE)"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text)
    plan_run(DEAD_LETTERS, request)
    now = datetime.now(UTC)
    found = forecast(lake, "QM1", now=now, limit=now + timedelta(hours=5))
    (queue,) = found.queues
    assert (queue.queue, queue.past, queue.before, queue.later, queue.never) == (DLQ, 0, 2, 1, 1)
    assert sorted(number for number in found.hours.values() if number) == [1, 2]
    (queue,) = forecast(lake, "QM1", now=now + timedelta(hours=2), limit=now + timedelta(hours=5)).queues
    assert (queue.past, queue.before, queue.later, queue.never) == (2, 0, 1, 1)
    assert forecast(lake, "QM2", now=now, limit=now).queues == ()


def test_what_expires_in_the_rest_of_this_quarter_of_an_hour_has_not_expired_yet(queue_manager, lake):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    put_at = datetime.now(UTC)
    manager.put("A", [({"Expiry": 5 * HOUR}, b"x")])
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["A"])
    seen_at = datetime.now(UTC)
    just_before = put_at + timedelta(hours=5, seconds=-2)
    (queue,) = forecast(lake, "QM1", now=just_before, limit=seen_at + timedelta(hours=6)).queues
    assert (queue.past, queue.before, queue.later) == (0, 1, 0)
    a_slot_later = seen_at + timedelta(hours=5, minutes=16)
    (queue,) = forecast(lake, "QM1", now=a_slot_later, limit=seen_at + timedelta(hours=6)).queues
    assert (queue.past, queue.before, queue.later) == (1, 0, 0)


def test_the_next_morning_is_today_or_tomorrow():
    early = datetime(2026, 1, 2, 7, 59, tzinfo=UTC)
    assert next_time(early, time(8)) == datetime(2026, 1, 2, 8, tzinfo=UTC)
    assert next_time(early + timedelta(minutes=1), time(8)) == datetime(2026, 1, 3, 8, tzinfo=UTC)


def counted(lake, name="QM1"):
    """Queue → messages that expire within a day, and those that never do."""
    now = datetime.now(UTC)
    found = forecast(lake, name, now=now, limit=now + timedelta(days=1))
    assert sum(found.hours.values()) == sum(one.before for one in found.queues)
    return {one.queue: (one.before, one.never) for one in found.queues}


def test_a_snapshot_with_a_limit_is_not_the_newest_of_its_queue(queue_manager, lake):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put("A", [({"Expiry": HOUR}, b"x")] * 12)
    observe(manager.connection, RunFolder.at(lake, "QM1", "limited"), ["A"], limit=2)
    assert counted(lake) == {}
    observe(manager.connection, RunFolder.at(lake, "QM1", "whole"), ["A"])
    observe(manager.connection, RunFolder.at(lake, "QM1", "limited.again"), ["A"], limit=2)
    assert counted(lake) == {"A": (12, 0)}


def test_a_queue_from_which_a_run_without_a_plan_has_taken_messages_is_not_counted_and_others_are(queue_manager, lake):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put("A", [({"Expiry": HOUR}, b"x")] * 3)
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=HOUR)])
    request = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parse("ACTION(RETRY)").table, text="ACTION(RETRY)"
    )
    run, plan = plan_run(DEAD_LETTERS, request)
    observe(manager.connection, RunFolder.at(lake, "QM1", "both"), [DLQ, "A"])
    carry_out(DEAD_LETTERS, request, run, plan)
    assert counted(lake) == {DLQ: (0, 0), "A": (3, 0)}
    shutil.rmtree(run.plan)
    assert counted(lake) == {"A": (3, 0)}
    now = datetime.now(UTC)
    assert forecast(lake, "QM1", now=now, limit=now + timedelta(days=1)).removed == {DLQ: run.run}


def test_what_runs_moved_or_discarded_since_is_left_out_and_what_they_left_counts(queue_manager, lake):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(FULL) PUT(DISABLED)\n")
    names = ("A", "A", "DROP", "FULL", "NO.RULE")
    manager.put(DLQ, [dead_letter(name, b"x", Expiry=HOUR) for name in names])
    manager.put(DLQ, [dead_letter(name, b"x") for name in names])
    text = "DESTQ(A) ACTION(RETRY)\nDESTQ(FULL) ACTION(RETRY)\nDESTQ(DROP) ACTION(DISCARD)\n"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text)
    first, plan = plan_run(DEAD_LETTERS, request)
    newest, _plan = plan_run(DEAD_LETTERS, request)  # a dry run after the snapshot of the run that acts
    assert counted(lake) == {DLQ: (5, 5)}
    carry_out(DEAD_LETTERS, request, first, plan)
    assert counted(lake) == {DLQ: (2, 2)}
    undo = UndoRequest(connection=manager.connection, lake=lake, undoes=first)
    carry_out(UNDO, undo, *plan_run(UNDO, undo))
    assert counted(lake) == {DLQ: (5, 5)}
    manager.mqsc(f"CLEAR QLOCAL({DLQ})")
    prove(manager.connection, newest)
    assert counted(lake) == {DLQ: (0, 0)}


def test_what_an_undo_took_from_where_a_run_had_put_it_is_left_out(queue_manager, lake):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=HOUR), dead_letter("A", b"y")])
    manager.put("A", [({"Expiry": HOUR}, b"of the application")])
    request = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parse("ACTION(RETRY)").table, text="ACTION(RETRY)"
    )
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["A"])
    assert counted(lake) == {DLQ: (0, 0), "A": (2, 1)}
    undo = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    carry_out(UNDO, undo, *plan_run(UNDO, undo))
    assert counted(lake) == {DLQ: (1, 1), "A": (1, 0)}


def test_a_load_says_nothing_of_what_is_on_the_queue(queue_manager, lake, tmp_path):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put("A", [({"Expiry": HOUR}, b"x")] * 3)
    observe(manager.connection, RunFolder.at(lake, "QM1", "snapshot"), ["A"])
    (tmp_path / "file").write_text("* DMPMQMSG Version:9.3.0.0\n\nA VER 1\nA FMT MQSTR\nT text\n")
    load = LoadRequest(connection=manager.connection, lake=lake, file=tmp_path / "file", queue="A")
    carry_out(MESSAGE_LOAD, load, *plan_run(MESSAGE_LOAD, load))
    assert counted(lake) == {"A": (3, 0)}
