"""Somebody who may get from MQOPS.LEDGER takes records of a run away: it does not balance, and says so."""

from __future__ import annotations

import pytest
from act_support import after_commits, planned, taken
from ledger_opened import act, prove, reopened
from mq_support import DLQ, Manager, dead_letter

from mqops.errors import InProgress, Stopped, Unbalanced
from mqops.lake.files import read_json, write_json
from mqops.lake.stop import Stop, stop
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import LedgerQueue
from mqops.mq.connection import connect

LEDGER = "MQOPS.LEDGER"
HIDDEN = "some of its markers are neither in the ledger nor seen on MQOPS.LEDGER; .* prove again when these have ended"


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A) MAXDEPTH(99999)\n")


@pytest.mark.parametrize("begin_stays", [False, True])
def test_law5_a_run_whose_records_were_taken_away_does_not_balance(manager, lake, begin_stays):
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(3)])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    md, body = taken(manager, LEDGER)[0]
    assert b'"kind":"issued"' in body
    expected = ["act moved and discarded 3 messages, and the ledger has 0: records are gone from MQOPS.LEDGER"]
    if begin_stays:
        fields = {"MsgId": md.MsgId, "CorrelId": md.CorrelId, "Format": md.Format}
        manager.put(LEDGER, [(fields, body)])
    else:
        expected.insert(0, "the record that the plan was begun is gone from MQOPS.LEDGER")
    for _again in range(2):
        with pytest.raises(Unbalanced) as error:
            prove(manager.connection, run)
        assert [one for one in expected if one in str(error.value)] == expected
    assert read_json(run.path.joinpath("summary.json"))["balanced"] is False
    with pytest.raises(Unbalanced, match="records are gone"), reopened(manager.connection, run):
        pass


def test_law5_a_lane_token_ahead_of_the_ledger_tells_that_a_marker_is_missing(manager, lake):
    """The execution was stopped, so that nothing but its markers tells what it did."""
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(3)])
    run, _plan = planned(manager, lake)
    halt = after_commits(lambda number: stop(run.path, Stop(by="carol", at="now")) if number == 1 else None)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=1, port=halt)
    for md, body in taken(manager, LEDGER):
        if b'"kind":"acted"' not in body:
            fields = {"MsgId": md.MsgId, "CorrelId": md.CorrelId, "Format": md.Format}
            manager.put(LEDGER, [(fields, body)])
    with pytest.raises(InProgress, match="another process is at work on 1 of 1 lane"):
        prove(manager.connection, run)
    assert (manager.depth("A"), manager.depth(DLQ)) == (1, 2)


def test_what_was_done_of_another_plan_is_not_missed(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    write_json(run.path.joinpath("act.json"), {"run": run.run, "plan": "another", "moved": 7, "discarded": 0})
    assert prove(manager.connection, run).left == 1


def test_a_plan_of_a_version_that_made_no_remarks_is_proved(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    document = read_json(run.plan_json)
    del document["remarks"]
    write_json(run.plan_json, document)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert (proof.moved, proof.remarks) == (1, ())


def test_law5_records_that_a_unit_of_work_hides_are_not_gone(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    with connect(manager.connection) as session:
        queue = LedgerQueue(session, KeyRing(run.lake_folder))
        for _got in queue.browse():
            queue.take_browsed()
        with pytest.raises(InProgress, match=HIDDEN):
            prove(manager.connection, run)
        session.backout()
    assert prove(manager.connection, run).moved == 1
