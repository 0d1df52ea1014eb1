"""Pace and in-flight limits: never more than was asked for, nothing held back for ever, what is left has its reason."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from act_support import EXTENDED, after_commits, planned, proved, taken
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter

from mqops.act.core.lanes import Row
from mqops.act.core.rate_limiter import Bucket
from mqops.act.rate_limiter import RunRateLimiter
from mqops.decide.core.pacing import OfRule, Pacing, covered
from mqops.lake.run import RunFolder
from mqops.mq.inquire import resolve_queue


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\nDEFINE QALIAS(ALSO.A) TARGET(A)\n")


class Clock:
    """A clock that goes on while somebody sleeps."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 0.25
        self.time += seconds + 1e-6


def rows(number: int, rule: str = "r", queue: str = "A") -> list[Row]:
    return [
        Row(
            row=place,
            position=place,
            queue=DLQ,
            msg_key=str(place),
            msg_id=bytes(24),
            correl_id=bytes(24),
            body_length=1,
            action="RETRY",
            rule_key=rule,
            dest_q=queue,
        )
        for place in range(number)
    ]


def run_through(limiter: RunRateLimiter, waiting: list[Row], clock: Clock, depth=lambda _target: None) -> list[float]:
    """Let rows through as the mover does; the time of each."""
    times = []
    while waiting:
        if limiter.refusal(waiting[0]):
            waiting = waiting[1:]
            continue
        number = limiter.admit(waiting[:200], depth)
        if number == 0:
            limiter.pause()
            continue
        times += [clock.time] * number
        limiter.done(waiting[:number])
        waiting = waiting[number:]
    return times


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 200), st.integers(1, 7))
def test_the_pace_is_never_exceeded_and_is_reached(number, pace, shares):
    clock = Clock()
    limiter = RunRateLimiter(
        RunFolder(None), Pacing(pace=pace * shares), shares=shares, now=clock.now, sleep=clock.sleep
    )
    times = run_through(limiter, rows(number), clock)
    assert len(times) == number
    for count, at in enumerate(times, start=1):
        assert count <= pace * (at - 100) + 1e-6
    assert times[-1] - 100 <= number / pace + 1.5
    for start in {int(at) for at in times}:
        assert sum(start <= at < start + 1 for at in times) <= 2 * pace


def test_a_rules_pace_is_kept_besides_the_runs(manager, lake):
    clock = Clock()
    pacing = Pacing(pace=10, rules={"slow": OfRule(pace=2), "fast": OfRule(pace=1000)})
    limiter = RunRateLimiter(RunFolder(None), pacing, now=clock.now, sleep=clock.sleep)
    assert run_through(limiter, rows(10, "slow"), clock)[-1] - 100 == pytest.approx(5, abs=0.3)
    begin = clock.time
    assert run_through(limiter, rows(30, "fast"), clock)[-1] - begin == pytest.approx(2, abs=0.3)


def test_messages_that_go_together_may_be_more_than_a_seconds_worth_and_are_owed():
    bucket = Bucket(2, 0)
    assert bucket.wait(10, 0) == 1
    bucket.spend(10, 1)
    assert bucket.wait(1, 1) == pytest.approx(4.5)
    assert bucket.wait(2, 6) == 0


def test_a_run_keeps_its_pace(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(30)])
    run, plan = planned(manager, lake, pace=40)
    assert plan.remarks == ("pace: 40 messages a second",)
    begin = time.monotonic()
    assert act(manager.connection, run).moved == 30
    assert time.monotonic() - begin >= 30 / 40
    assert proved(manager, run) == {"planned": 30, "moved": 30}
    assert manager.bodies("A") == [b"%d" % number for number in range(30)]


def test_PACE_of_a_rule_makes_its_units_of_work_small(manager, lake):
    manager.put(DLQ, [dead_letter("AB"[number % 2], b"%d" % number) for number in range(24)])
    run, _plan = planned(manager, lake, EXTENDED + "DESTQ(A) ACTION(RETRY) PACE(10/s)\nACTION(RETRY)\n")
    summary = act(manager.connection, run)
    assert (summary.moved, summary.units) == (24, 2)
    assert proved(manager, run) == {"planned": 24, "moved": 24}


def test_CANARY_and_PACE_of_a_rule_are_part_of_the_plan(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    _run, plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) CANARY(2) PACE(10/s)\n")
    canaries, pace = plan.remarks
    assert canaries.startswith("canaries: messages (by rules: 2) of each destination and rule go first")
    assert pace == "pace: no limit; by rules: 10 a second"


def test_what_a_destination_has_no_room_for_is_left_and_others_go_on(manager, lake):
    manager.put("A", [({}, b"unread")] * 2)
    manager.put(DLQ, [dead_letter("AB"[number % 2], b"%d" % number) for number in range(20)])
    run, plan = planned(manager, lake, in_flight=5, patience=0)
    assert "nothing is put on a destination with 5 messages" in plan.remarks[0]
    act(manager.connection, run, unit_size=4)
    assert (manager.depth("A"), manager.depth("B")) == (5, 5)
    assert proved(manager, run) == {"planned": 20, "moved": 8, "left": 12}
    why = "its destination had 5 messages or more for 0 s"
    assert prove(manager.connection, run).left_because == {why: 12}
    assert act(manager.connection, run).units == 0


def test_what_is_left_for_lack_of_room_costs_no_pace():
    clock = Clock()
    pacing = Pacing(pace=2, in_flight=3, patience=0)
    limiter = RunRateLimiter(RunFolder(None), pacing, now=clock.now, sleep=clock.sleep)
    depth = {"A": 3, "B": 0}
    waiting = [*rows(5, queue="A"), *rows(2, queue="B")]
    while not (admitted := limiter.admit(waiting, lambda target: depth[target.queue])):
        limiter.pause()
    assert admitted == len(waiting)


def test_what_is_not_tried_for_a_destination_that_does_not_exist_costs_no_pace(manager, lake):
    manager.put(DLQ, [dead_letter("NOWHERE", b"%d" % number) for number in range(20)])
    run, _plan = planned(manager, lake, pace=4)
    summary = act(manager.connection, run)
    assert (summary.failed, summary.units) == (20, 2)


PLAIN_RULES = {"r1": OfRule(), "r2": OfRule()}


@pytest.mark.parametrize(
    ("handling", "remarks"),
    [
        (Pacing(), ()),
        (Pacing(rules=PLAIN_RULES), ()),
        (
            Pacing(canary=1, canary_wait=7),
            (
                "canaries: 1 message of each destination and rule go first; after 7 s the rest follows where all were "
                "read and none came back",
            ),
        ),
        (
            Pacing(rules={"r1": OfRule(canary=9), "r2": OfRule(canary=2), "r3": OfRule(canary=2)}),
            (
                "canaries: messages (by rules: 2, 9) of each destination and rule go first; after 30 s the rest "
                "follows where all were read and none came back",
            ),
        ),
        (Pacing(pace=1), ("pace: 1 message a second",)),
        (
            Pacing(pace=20, rules={"r1": OfRule(pace=9), "r2": OfRule(pace=5)}),
            ("pace: 20 messages a second; by rules: 5, 9 a second",),
        ),
        (Pacing(rules={"r1": OfRule(pace=9)}), ("pace: no limit; by rules: 9 a second",)),
        (
            Pacing(in_flight=1, patience=3),
            (
                "in flight: nothing is put on a destination with 1 message, if its depth is known; after 3 s "
                "without room the rest for it is left",
            ),
        ),
    ],
)
def test_law2_an_approval_covers_how_a_plan_is_carried_out_and_says_it(handling, remarks):
    assert handling.remarks() == remarks
    kept = json.loads(json.dumps(handling.to_json()))
    assert bool(kept) == bool(remarks)
    assert covered("digest", kept) == covered("digest", handling.to_json())
    if remarks:
        assert Pacing.from_json(kept) == handling
        assert covered("digest", kept) not in {"digest", covered("other", kept), covered("digest", kept | {"pace": 77})}
    else:
        assert covered("digest", kept) == "digest"


CAREFUL = Pacing(canary=2, canary_wait=60, pace=10, in_flight=5, patience=9)
LAX = Pacing(canary=1, canary_wait=1, pace=100, in_flight=50, patience=1)
OF_A_RULE = {"r1": OfRule(canary=1)}


@pytest.mark.parametrize(
    ("planned", "more", "carried_out"),
    [
        (CAREFUL, LAX, CAREFUL),
        (LAX, CAREFUL, replace(CAREFUL, canary=1)),
        (Pacing(), LAX, LAX),
        (Pacing(), Pacing(canary=3), Pacing(canary=3)),
        (LAX, Pacing(canary_wait=0, patience=0), LAX),
        (Pacing(canary_wait=60, rules=OF_A_RULE), LAX, replace(LAX, canary_wait=60, rules=OF_A_RULE)),
    ],
)
def test_law2_whoever_carries_out_a_plan_asks_for_more_care_than_was_approved_never_for_less(
    planned, more, carried_out
):
    assert planned.stricter(more) == carried_out


def test_a_destination_is_resolved_once(manager, lake, monkeypatch):
    """Whether it may be put to and how deep it is are asked of the same queue."""
    names = []

    def counted(session, *name):
        names.append(name)
        return resolve_queue(session, *name)

    for module in ("mqops.mq.inquire", "mqops.act.mover_port"):
        monkeypatch.setattr(f"{module}.resolve_queue", counted)
    manager.put(DLQ, [dead_letter(("ALSO.A", "B")[number % 2], b"%d" % number) for number in range(8)])
    run, _plan = planned(manager, lake, in_flight=5)
    names.clear()
    assert act(manager.connection, run, unit_size=2).moved == 8
    assert sorted(names) == [("ALSO.A", "QM1"), ("B", "QM1")]


def test_a_destination_that_is_read_gets_everything_and_never_more_than_the_limit(manager, lake):
    manager.put(DLQ, [dead_letter("ALSO.A", b"%d" % number) for number in range(23)])
    run, _plan = planned(manager, lake, in_flight=5)
    depths, bodies = [], []

    def read(_number: int) -> None:
        depths.append(manager.depth("A"))
        bodies.extend(body for _md, body in taken(manager, "A"))

    act(manager.connection, run, port=after_commits(read))
    assert depths == [5, 5, 5, 5, 3]
    assert bodies == [b"%d" % number for number in range(23)]
    assert proved(manager, run) == {"planned": 23, "moved": 23}


def test_in_flight_waits_as_long_as_it_has_patience_without_a_unit_of_work_open():
    clock = Clock()
    limiter = RunRateLimiter(RunFolder(None), Pacing(in_flight=3, patience=10), now=clock.now, sleep=clock.sleep)
    depth = {"A": 3, "B": 0}
    waiting = [*rows(2, queue="A"), *rows(2, queue="B")]
    assert limiter.admit(waiting, lambda target: depth[target.queue]) == 0
    while clock.time < 109:
        limiter.pause()
        assert limiter.admit(waiting, lambda target: depth[target.queue]) == 0
    depth["A"] = 2  # somebody reads: patience begins anew
    assert limiter.admit(waiting, lambda target: depth[target.queue]) == 1
    depth["A"] = 3
    begin = clock.time
    while not limiter.admit(waiting, lambda target: depth[target.queue]):
        limiter.pause()
    assert clock.time - begin == pytest.approx(10, abs=0.5)
    assert [bool(limiter.refusal(row)) for row in waiting] == [True, True, False, False]
