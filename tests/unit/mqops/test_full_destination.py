"""A destination that is full for a while: it is tried again each second while the run goes on, and not more often."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from act_support import EXTENDED, after_commits, counts, planned, taken
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter

from mqops.act.core.mover import BEHIND_FAILED
from mqops.ledger.core.account import account
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import LedgerQueue
from mqops.mq.connection import connect

QUEUES = "DEFINE QLOCAL(ORDERS) MAXDEPTH(1)\nDEFINE QLOCAL(ASIDE)\n"


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


class Consumer:
    """An application that takes what is there, once behind each failed try."""

    def __init__(self, manager: Manager, lake: Path) -> None:
        self.manager = manager
        self.keys = KeyRing(lake / "QM1")
        self.failures = 0
        self.got: list[bytes] = []

    def __call__(self, _commit: int) -> None:
        with connect(self.manager.connection) as session:
            failures = len(account(LedgerQueue(session, self.keys).markers()).failed)
        if failures > self.failures:
            self.failures = failures
            self.got += [body for _md, body in taken(self.manager, "ORDERS")]


def test_D02_each_message_is_put_by_itself_where_the_pace_is_slow_and_the_queue_is_drained(manager, lake):
    manager.put(DLQ, [dead_letter("ORDERS", b"%d" % number) for number in range(6)])
    run, _plan = planned(manager, lake, "REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(2)\nACTION(RETRY)\n", pace=1)
    consumer = Consumer(manager, lake)
    assert act(manager.connection, run, unit_size=1, port=after_commits(consumer)).backouts == 3
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 6, "moved": 3, "left": 3, "failed": 3}
    assert proof.reasons == {"MQRC_Q_FULL": 3}
    assert consumer.got == [b"0", b"2", b"4"]


def test_ORDER_holds_back_the_keys_that_failed_and_lets_others_go_when_the_queue_is_drained(manager, lake):
    keys = [b"a", b"a", b"b", b"a", b"b", b"b"]
    manager.put(DLQ, [dead_letter("ORDERS", b"%d" % n, CorrelId=key.ljust(24, b"k")) for n, key in enumerate(keys)])
    run, _plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) ORDER(CORRELID) PACE(1)\n")
    consumer = Consumer(manager, lake)
    act(manager.connection, run, unit_size=1, port=after_commits(consumer))
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 6, "moved": 2, "left": 4, "failed": 2}
    assert proof.left_because == {BEHIND_FAILED: 2}
    assert consumer.got == [b"0", b"2"]


def test_a_queue_that_stays_full_costs_a_back_out_a_second_and_holds_back_no_other(manager, lake):
    manager.put(DLQ, [dead_letter(("ORDERS", "ASIDE")[number % 2], b"%d" % number) for number in range(400)])
    run, _plan = planned(manager, lake)
    begin = time.monotonic()
    summary = act(manager.connection, run, unit_size=5)
    assert summary.backouts <= 1 + (time.monotonic() - begin)
    assert (summary.moved, summary.failed) == (201, 199)
    assert (manager.depth("ORDERS"), manager.depth("ASIDE")) == (1, 200)
