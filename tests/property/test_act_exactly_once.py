"""Laws 1, 3, 5: whatever happens while a plan is acted on, every message ends in one place, as the markers say."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.act.gate import Open
from mqops.act.identity import PlanIdentity
from mqops.act.issue import issue
from mqops.act.lanes import DISCARDS, EXPIRE, Row
from mqops.act.mover import Mover
from mqops.errors import MQError
from mqops.ledger.account import account
from mqops.ledger.balance import PlannedRow, balance
from mqops.ledger.marker import Marker, is_ticket
from mqops.model import RunSummary
from mqwire.constants import MQRC_Q_FULL

sys.path.insert(0, str(Path(__file__).parent))
import memory_queue_manager as memory

PLAN = PlanIdentity(run="run", digest="d" * 64)
DLQ = "DLQ"
TARGETS = ("A", "B", "FULL", "SMALL", "MISSING", DLQ)

messages = st.lists(
    st.tuples(
        st.integers(0, 6),  # MsgId: few values, so that there are twins
        st.integers(0, 2),  # what tells twins apart
        st.sampled_from(["RETRY", "FWD", "DISCARD", EXPIRE]),
        st.sampled_from(TARGETS),
        st.integers(1, 3),  # size
        st.sampled_from(["", "", "one", "two"]),  # what its rule's ORDER keeps in order
        st.booleans(),  # of the same MQ group as the one before: it goes to the same place
    ),
    min_size=1,
    max_size=25,
)
troubles = st.dictionaries(st.integers(0, 250), st.sampled_from(["death", "broken", "made", "unmade"]), max_size=8)


def build(plan, absent):
    """Rows, and a queue manager that holds the messages, some of which are gone since the plan was made."""
    targets = {
        "A": memory.TargetQueue(),
        "B": memory.TargetQueue(),
        "FULL": memory.TargetQueue(room=2),
        "SMALL": memory.TargetQueue(longest=1),
        "MISSING": memory.TargetQueue(missing=True),
    }
    on_dlq, rows = [], []
    where = ""
    for number, (msg_id, twin, own_action, own_dest, size, order, joined) in enumerate(plan):
        joined = joined and number > 0  # noqa: PLW2901
        action, dest = (rows[-1].action, where) if joined else (own_action, own_dest)
        where = dest
        identifier = bytes([msg_id]) * 24
        key = f"{msg_id}.{twin}"
        rows.append(
            Row(
                row=number,
                position=number,
                queue=DLQ,
                msg_key=key,
                msg_id=identifier,
                correl_id=bytes(24),
                body_length=size,
                action="FWD" if dest == DLQ and action == "RETRY" else action,
                rule_key="rule",
                dest_q="" if action in DISCARDS else dest,
                unit_group=action if action in DISCARDS else dest,
                order_key=order,
                together=rows[-1].bundle if joined else number,
            )
        )
        if number not in absent:
            on_dlq.append(memory.Message(identifier, bytes(24), key, b"", size))
    targets[DLQ] = memory.TargetQueue(messages=on_dlq)
    return rows, memory.QueueManager(sources={DLQ: on_dlq}, targets=targets)


class Turnstile(Open):
    """A gate that now and then says stop, wait, or not so many."""

    def __init__(self, words):
        self.words = words

    def stopped(self):
        return next(self.words, 9) == 0

    def admit(self, rows, depth_of):
        assert all(depth_of(row.target) is not None for row in rows if row.dest_q)
        return min(len(rows), next(self.words, 9))


def work(manager, rows, trouble, *, unit_size, limit, gate=None):
    """Processes act on the plan, one after the other, until one comes to the end."""
    for _ in range(120):
        dead = []

        def connect(dead=dead):
            for port in dead:
                port.end()
            dead.append(memory.MemoryPort(manager, trouble, limit))
            return dead[-1]

        try:
            issue(connect(), PLAN, [len(rows)], about={}, now=lambda: "now")
            Mover(connect, PLAN, lane=0, length=len(rows), unit_size=unit_size, now=lambda: "now", gate=gate).run(rows)
            if not any(is_ticket(message.body) for message in manager.ledger):
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
    st.lists(st.integers(0, 5), max_size=30),
)
def test_law1_law3_law5_every_message_in_one_place_and_the_markers_say_which(plan, absent, at, sizes, words):
    unit_size, limit = sizes
    rows, manager = build(plan, absent)
    before = Counter(message.key for message in manager.sources[DLQ])
    trouble = memory.Trouble(dict(at), itertools.count())
    work(manager, rows, trouble, unit_size=unit_size, limit=limit, gate=Turnstile(iter(words)))

    places = Counter(manager.discarded)
    for target in manager.targets.values():
        places.update(message.key for message in target.messages)
    assert places == before

    markers = [Marker.unpack(message.body) for message in manager.ledger]
    assert len({marker.unit for marker in markers}) == len(markers)
    sums = account(markers)
    assert not sums.problems
    assert not sums.open_lanes
    for name, target in manager.targets.items():
        recorded = Counter(key for key, action, dest in sums.acted.values() if dest == name and action not in DISCARDS)
        if name != DLQ:
            assert recorded == Counter(message.key for message in target.messages), name
    assert manager.discarded == Counter(key for key, action, _dest in sums.acted.values() if action in DISCARDS)
    expired = Counter(key for key, action, _dest in sums.acted.values() if action == EXPIRE)
    assert expired == Counter(report.key for report in manager.reports)

    check_order_and_groups(rows, sums)
    on_queue = Counter((DLQ, message.key) for message in manager.sources[DLQ])
    planned = [PlannedRow(row.row, DLQ, row.msg_key, row.action, 1, "rule") for row in rows]
    empty = RunSummary(run="run", workflow="dlq", queue_manager="QM", queue=DLQ, plan=PLAN.digest)
    summary = balance(empty, lambda: planned, sums, on_queue, reason_names={})
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


def test_a_full_queue_takes_what_there_is_room_for_and_the_rest_fails_untouched():
    rows, manager = build([(number, 0, "RETRY", "FULL", 1, "", False) for number in range(6)], absent=set())
    work(manager, rows, memory.Trouble({}, itertools.count()), unit_size=6, limit=10**9)
    assert [message.key for message in manager.targets["FULL"].messages] == ["0.0", "1.0"]
    sums = account(Marker.unpack(message.body) for message in manager.ledger)
    assert sums.failed == dict.fromkeys((2, 3, 4, 5), MQRC_Q_FULL)


def test_law3_a_message_with_the_same_identifiers_that_is_not_in_the_plan_stays():
    rows, manager = build([(1, 1, "RETRY", "A", 1, "", False)], absent=set())
    stranger = memory.Message(b"\x01" * 24, bytes(24), "1.9")
    manager.sources[DLQ].insert(0, stranger)
    work(manager, rows, memory.Trouble({}, itertools.count()), unit_size=5, limit=10**9)
    assert manager.sources[DLQ] == [stranger]
    assert [message.key for message in manager.targets["A"].messages] == ["1.1"]
