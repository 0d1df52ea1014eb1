"""Laws 1, 3, 5: whatever happens while a plan is acted on, every message ends in one place, as the markers say."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.act.beginning import issue_tokens
from mqops.act.core.lanes import Row
from mqops.act.core.mover import BEHIND_FAILED, Mover
from mqops.act.core.rate_limiter import NoLimit
from mqops.actions import DISCARDS, Action
from mqops.errors import MQError
from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.model import RunSummary
from mqops.prove.core.balance import PlannedRow, balance
from mqwire.constants import MQRC_GET_INHIBITED, MQRC_Q_FULL

sys.path.insert(0, str(Path(__file__).parent))
import memory_queue_manager as memory

PLAN = PlanIdentity(run="run", digest="d" * 64)
DLQ, OTHER = "DLQ", "OTHER"
TARGETS = ("A", "B", "FULL", "SMALL", "MISSING", DLQ)

messages = st.lists(
    st.tuples(
        st.integers(0, 6),  # MsgId: few values, so that there are twins
        st.integers(0, 2),  # what tells twins apart
        st.sampled_from([Action.RETRY, Action.FWD, Action.DISCARD, Action.EXPIRE]),
        st.sampled_from(TARGETS),
        st.integers(1, 3),  # size
        st.sampled_from(["", "", "one", "two"]),  # what its rule's ORDER keeps in order
        st.booleans(),  # of the same MQ group as the one before: it goes to the same place
        st.sampled_from([DLQ, DLQ, OTHER]),  # where it is taken from
    ),
    min_size=1,
    max_size=25,
)
trouble_kinds = st.sampled_from(["death", "broken", "made", "unmade", "drained", "drained", "shut"])
troubles = st.dictionaries(st.integers(0, 250), trouble_kinds, max_size=12)


class Clock:
    """It goes on by the next of these steps, then by a tenth of a second, each time it is asked."""

    def __init__(self, steps=(), rest=0.1):
        self.steps, self.rest, self.time = iter(steps), rest, 0.0

    def __call__(self):
        self.time += next(self.steps, self.rest)
        return self.time


def build(plan, absent):
    """Rows, and a queue manager that holds the messages, some of which are gone since the plan was made."""
    targets = {
        "A": memory.TargetQueue(),
        "B": memory.TargetQueue(),
        "FULL": memory.TargetQueue(room=2),
        "SMALL": memory.TargetQueue(longest=1),
        "MISSING": memory.TargetQueue(missing=True),
    }
    sources, rows = {DLQ: [], OTHER: []}, []
    where = ""
    for number, (msg_id, twin, own_action, own_dest, size, order, joined, own_source) in enumerate(plan):
        joined = joined and number > 0  # noqa: PLW2901
        action, dest = (rows[-1].action, where) if joined else (own_action, own_dest)
        where = dest
        source = DLQ if dest == DLQ else own_source
        identifier = bytes([msg_id]) * 24
        key = f"{msg_id}.{twin}"
        rows.append(
            Row(
                row=number,
                position=number,
                queue=source,
                msg_key=key,
                msg_id=identifier,
                correl_id=bytes(24),
                body_length=size,
                action=Action.FWD if dest == DLQ and action == Action.RETRY else action,
                rule_key="rule",
                dest_q="" if action in DISCARDS else dest,
                unit_group=action if action in DISCARDS else dest,
                order_key=order,
                together=rows[-1].bundle if joined else number,
            )
        )
        if number not in absent:
            sources[source].append(memory.Message(identifier, bytes(24), key, b"", size))
    targets[DLQ] = memory.TargetQueue(messages=sources[DLQ])
    return rows, memory.QueueManager(sources=sources, targets=targets)


class Turnstile(NoLimit):
    """A rate limiter that now and then says stop, wait, or not so many."""

    def __init__(self, words):
        self.words = words

    def stopped(self):
        return next(self.words, 9) == 0

    def admit(self, rows, depth_of):
        assert all(depth_of(row.target) is not None for row in rows if row.dest_q)
        return min(len(rows), next(self.words, 9))


def work(manager, rows, trouble, *, unit_size, limit, limiter=None, clock=None):
    """Processes act on the plan, one after the other, until one comes to the end."""
    about = {"unit_size": unit_size, "now": lambda: "now", "clock": clock or Clock(), "limiter": limiter}
    for _ in range(120):
        dead = []

        def connect(dead=dead):
            for port in dead:
                port.end()
            dead.append(memory.MemoryPort(manager, trouble, limit))
            return dead[-1]

        try:
            issue_tokens(connect(), PLAN, (len(rows),), about={}, now=lambda: "now")
            Mover(connect, PLAN, lane=0, length=len(rows), **about).run(rows)
            if not any(message.key == "ticket" for message in manager.ledger):
                return
        except (memory.Death, MQError):
            pass
        finally:
            for port in dead:
                port.end()
    raise AssertionError("it never came to an end")


@settings(max_examples=400, deadline=None)
@given(
    messages,
    st.sets(st.integers(0, 24), max_size=3),
    troubles,
    st.tuples(st.integers(1, 8), st.sampled_from([10, 10**9])),
    st.tuples(st.lists(st.integers(0, 5), max_size=30), st.lists(st.sampled_from([0, 0.4, 1.0]), max_size=60)),
)
def test_law1_law3_law5_every_message_in_one_place_and_the_markers_say_which(plan, absent, at, sizes, moments):
    (unit_size, limit), (words, steps) = sizes, moments
    rows, manager = build(plan, absent)
    before = Counter(message.key for queue in manager.sources.values() for message in queue)
    trouble = memory.Trouble(dict(at), itertools.count())
    work(manager, rows, trouble, unit_size=unit_size, limit=limit, limiter=Turnstile(iter(words)), clock=Clock(steps))

    places = manager.discarded + Counter(message.key for message in manager.sources[OTHER])
    for target in manager.targets.values():
        places.update(message.key for message in target.messages + target.consumed)
    assert places == before

    markers = [Marker.unpack(message.body) for message in manager.ledger]
    assert len({marker.unit for marker in markers}) == len(markers)
    sums = account(markers)
    assert not sums.problems
    assert not sums.open_lanes
    for name, target in manager.targets.items():
        recorded = Counter(key for key, action, dest in sums.acted.values() if dest == name and action not in DISCARDS)
        if name != DLQ:
            assert recorded == Counter(message.key for message in target.messages + target.consumed), name
    assert manager.discarded == Counter(key for key, action, _dest in sums.acted.values() if action in DISCARDS)
    expired = Counter(key for key, action, _dest in sums.acted.values() if action == Action.EXPIRE)
    assert expired == Counter(report.key for report in manager.reports)

    check_order_and_groups(rows, sums)
    on_queue = Counter((name, message.key) for name, queue in manager.sources.items() for message in queue)
    planned = [PlannedRow(row.row, row.queue, row.msg_key, Action(row.action), 1, "rule") for row in rows]
    empty = RunSummary(run="run", workflow="dlq", queue_manager="QM", queue=f"{DLQ},{OTHER}", plan=PLAN.digest)
    summary = balance(empty, lambda: planned, sums, on_queue, reason_names={}).summary
    assert summary.balanced
    assert summary.finished
    assert summary.planned == summary.moved + summary.discarded + summary.left + summary.gone == len(rows)
    assert summary.arrived == summary.returned == 0


def check_order_and_groups(rows, sums):
    """Behind a row that was not moved nothing with its key goes there; what goes together, goes or stays together."""
    stuck, groups = set(), {}
    for row in rows:
        acted = row.row in sums.acted
        place = (row.unit_group, row.order_key)
        assert not (acted and row.order_key and place in stuck)
        if row.order_key and (row.row in sums.failed or row.row in sums.left):
            stuck.add(place)
        groups.setdefault(row.bundle, set()).add(acted)
    assert all(len(fates) == 1 for fates in groups.values())


@pytest.mark.parametrize("kind", ["broken", "unmade", "made"])
def test_a_visit_that_loses_its_connection_once_whenever_goes_on_to_the_end_of_the_lane(kind):
    clock = {"now": lambda: "now", "clock": Clock()}
    number, disturbed = 0, True
    while disturbed:
        rows, manager = build(plain("A", [""] * 4), absent=set())
        trouble = memory.Trouble({number: kind}, itertools.count())
        ports = []

        def connect(trouble=trouble, manager=manager, ports=ports):
            ports.append(memory.MemoryPort(manager, trouble))
            return ports[-1]

        quiet = memory.MemoryPort(manager, memory.Trouble({}, itertools.count()))
        issue_tokens(quiet, PLAN, (len(rows),), about={}, now=lambda: "now")
        Mover(connect, PLAN, lane=0, length=len(rows), unit_size=2, **clock).run(rows)
        assert [message.key for message in manager.targets["A"].messages] == ["0.0", "1.0", "2.0", "3.0"]
        assert not any(message.key == "ticket" for message in manager.ledger)
        number, disturbed = number + 1, not trouble.at
    assert number > 10


def plain(dest, order_keys, *, size=1):
    """Messages for one destination, with these order keys."""
    return [(number, 0, Action.RETRY, dest, size, key, False, DLQ) for number, key in enumerate(order_keys)]


def done(manager, rows, *, clock, limiter=None, unit_size=1):
    """What the markers say of undisturbed work."""
    work(
        manager,
        rows,
        memory.Trouble({}, itertools.count()),
        unit_size=unit_size,
        limit=10**9,
        limiter=limiter,
        clock=clock,
    )
    return account(Marker.unpack(message.body) for message in manager.ledger)


@pytest.mark.parametrize("unit_size", [1, 2, 6])
def test_a_full_queue_takes_what_there_is_room_for_and_the_rest_fails_untouched(unit_size):
    rows, manager = build(plain("FULL", [""] * 6), absent=set())
    sums = done(manager, rows, clock=Clock(rest=0), unit_size=unit_size)
    assert [message.key for message in manager.targets["FULL"].messages] == ["0.0", "1.0"]
    assert sums.failed == dict.fromkeys((2, 3, 4, 5), MQRC_Q_FULL)
    assert manager.targets["FULL"].refused == 1


class Behind(NoLimit):
    """A rate limiter that does something behind each unit of work, given the number of the last row that was tried."""

    def __init__(self, what):
        self.what = what

    def done(self, rows):
        for row in rows[-1:]:
            self.what(row.row)


def test_a_queue_that_is_drained_takes_messages_again_a_second_after_it_was_full():
    rows, manager = build(plain("FULL", [""] * 8), absent=set())
    clock = Clock(rest=0)

    def later(row):
        clock.time += 0.6
        if row == 2:  # the first that failed
            manager.targets["FULL"].drain()

    sums = done(manager, rows, clock=clock, limiter=Behind(later))
    assert sums.failed == dict.fromkeys((2, 3, 6, 7), MQRC_Q_FULL)  # row 3 is dealt with 0.6 s behind row 2
    assert manager.targets["FULL"].refused == 2
    assert [message.key for message in manager.targets["FULL"].messages] == ["4.0", "5.0"]


def test_a_queue_that_is_opened_again_gives_messages_again_a_second_later_and_others_go_on():
    mixed = [(number, 0, Action.RETRY, "A", 1, "", False, (OTHER, DLQ)[number % 2]) for number in range(8)]
    rows, manager = build(mixed, absent=set())
    manager.shut.add(OTHER)
    clock = Clock(rest=0)

    def later(row):
        clock.time += 0.6
        if row == 1:
            manager.shut.clear()

    sums = done(manager, rows, clock=clock, limiter=Behind(later))
    assert sums.failed == {0: MQRC_GET_INHIBITED}  # row 2 is dealt with 1.2 s behind row 0
    assert sorted(sums.acted) == [1, 2, 3, 4, 5, 6, 7]


def test_what_failed_holds_back_its_key_and_no_other_while_its_queue_is_drained():
    rows, manager = build(plain("FULL", ["one", "one", "one", "two", "one", "two", "two"]), absent=set())
    clock = Clock(rest=0)

    def later(row):
        clock.time += 1
        if row == 2:
            manager.targets["FULL"].drain()

    sums = done(manager, rows, clock=clock, limiter=Behind(later))
    assert sums.failed == dict.fromkeys((2, 6), MQRC_Q_FULL)
    assert sums.left == {4: BEHIND_FAILED}
    assert sorted(sums.acted) == [0, 1, 3, 5]


def test_where_too_many_keys_would_stand_in_the_lane_token_the_whole_destination_waits(monkeypatch):
    monkeypatch.setattr("mqops.act.core.mover.MOST_KEYS", 3)
    messages = plain("SMALL", ["a", "b", "c", "d", "new", "", "newer"], size=2)
    rows, manager = build([*messages[:4], *((*message[:4], 1, *message[5:]) for message in messages[4:])], absent=set())
    sums = done(manager, rows, clock=Clock())
    assert sorted(sums.failed) == [0, 1, 2, 3]
    assert sums.left == {4: BEHIND_FAILED, 6: BEHIND_FAILED}
    assert sorted(sums.acted) == [5]


def test_law3_a_message_with_the_same_identifiers_that_is_not_in_the_plan_stays():
    rows, manager = build([(1, 1, Action.RETRY, "A", 1, "", False, DLQ)], absent=set())
    stranger = memory.Message(b"\x01" * 24, bytes(24), "1.9")
    manager.sources[DLQ].insert(0, stranger)
    work(manager, rows, memory.Trouble({}, itertools.count()), unit_size=5, limit=10**9)
    assert manager.sources[DLQ] == [stranger]
    assert [message.key for message in manager.targets["A"].messages] == ["1.1"]
