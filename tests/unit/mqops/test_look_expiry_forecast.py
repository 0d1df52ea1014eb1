"""When recorded messages expire: counted from the newest snapshot of each queue, whatever the clock says since."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from mq_support import DLQ

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
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


def test_the_next_morning_is_today_or_tomorrow():
    early = datetime(2026, 1, 2, 7, 59, tzinfo=UTC)
    assert next_time(early, time(8)) == datetime(2026, 1, 2, 8, tzinfo=UTC)
    assert next_time(early + timedelta(minutes=1), time(8)) == datetime(2026, 1, 3, 8, tzinfo=UTC)
