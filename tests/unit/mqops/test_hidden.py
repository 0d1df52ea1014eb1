"""Messages that a unit of work of somebody else hides: a proof does not call them gone, nor an undo consumed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymqi
import pytest
from act_support import counts, planned
from click.testing import CliRunner
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.cli import main
from mqops.lake.run import RunFolder
from mqops.prove import prove as proving
from mqops.prove.records import read_gone
from mqops.undo.in_process import plan_undo

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QALIAS(DEAD) TARGET(SYSTEM.DEAD.LETTER.QUEUE)
"""


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@contextmanager
def held(manager: Manager, queue: str) -> Iterator[Any]:
    """While an application has got a message of a queue under syncpoint; then it backs out. Gives its connection."""
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_SHARED)
        handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        yield connection
        connection.backout()
        handle.close()


def mqops(lake, *arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments, "--lake", str(lake)], catch_exceptions=False)
    return done.stdout


@pytest.mark.parametrize("queue", ["", "DEAD"])
def test_law5_a_proof_says_that_what_seems_gone_may_be_hidden(manager, lake, queue):
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2")])
    run, _plan = planned(manager, lake, queue=queue)
    with held(manager, DLQ):
        act(manager.connection, run)
        proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 2, "moved": 1, "gone": 1}
    alias = (f"{queue} is an alias of {DLQ}, which is looked at",) if queue else ()
    assert proof.remarks == (
        *alias,
        f"{queue or DLQ}: 1 gone, but some of them may be hidden by units of work of others: prove again when these "
        "have ended",
    )
    assert len(read_gone(run).because) == 1
    again = prove(manager.connection, run)
    assert (counts(again), again.remarks) == ({"planned": 2, "moved": 1, "left": 1}, alias)
    assert read_gone(run).because == {}


def test_law5_a_proof_looks_again_until_nothing_is_hidden(manager, lake, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2")])
    run, _plan = planned(manager, lake)
    with held(manager, DLQ) as connection:
        act(manager.connection, run)
        asked = []
        has_uncommitted = proving.has_uncommitted

        def then_it_backs_out(session, queue: str) -> bool:
            asked.append(has_uncommitted(session, queue))
            connection.backout()
            return asked[-1]

        monkeypatch.setattr(proving, "has_uncommitted", then_it_backs_out)
        proof = prove(manager.connection, run)
    assert asked[:2] == [True, False]
    assert (counts(proof), proof.remarks) == ({"planned": 2, "moved": 1, "left": 1}, ())


def test_law5_a_proof_says_that_its_second_look_may_have_missed_some(manager, lake, monkeypatch):
    """A unit of work ends before that look, another begins, and it ends when the look is over."""
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2")])
    run, _plan = planned(manager, lake)
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, DLQ, CMQC.MQOO_INPUT_SHARED)

        def hide() -> None:
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))

        hide()
        act(manager.connection, run)
        others = iter((connection.backout, hide, connection.backout, hide))
        has_uncommitted = proving.has_uncommitted

        def asked(session, queue: str) -> bool:
            answer = has_uncommitted(session, queue)
            next(others)()
            return answer

        monkeypatch.setattr(proving, "has_uncommitted", asked)
        proof = prove(manager.connection, run)
        handle.close()
    assert counts(proof) == {"planned": 2, "moved": 1, "gone": 1}
    assert proof.remarks[0].startswith(f"{DLQ}: 1 gone, but some of them may be hidden by units of work of others")


def test_law5_a_proof_says_that_its_second_look_may_have_missed_what_comes_back_after_it(manager, lake, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2")])
    run, _plan = planned(manager, lake)
    with held(manager, DLQ) as connection:
        act(manager.connection, run)
        asked = []
        has_uncommitted = proving.has_uncommitted

        def at_last_it_backs_out(session, queue: str) -> bool:
            if len(asked) == proving.LOOKS:
                connection.backout()
            asked.append(has_uncommitted(session, queue))
            return asked[-1]

        monkeypatch.setattr(proving, "has_uncommitted", at_last_it_backs_out)
        proof = prove(manager.connection, run)
    assert asked[: proving.LOOKS] == [True] * proving.LOOKS
    assert counts(proof) == {"planned": 2, "moved": 1, "gone": 1}
    assert proof.remarks[0].startswith(f"{DLQ}: 1 gone, but some of them may be hidden by units of work of others")


def test_law5_what_a_committed_unit_of_work_took_is_gone_and_no_more_is_said(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("B", b"2")])
    run, _plan = planned(manager, lake)
    with held(manager, DLQ) as connection:
        connection.commit()
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert (counts(proof), proof.remarks) == ({"planned": 2, "moved": 1, "gone": 1}, ())


@pytest.fixture
def moved(manager, lake) -> RunFolder:
    """A run that moved two messages to A."""
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("A", b"2")])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    prove(manager.connection, run)
    return run


def test_an_undo_calls_hidden_what_a_unit_of_work_may_have(manager, lake, moved):
    undo = RunFolder.at(lake, "QM1", "undo1")
    with held(manager, "A"):
        assert plan_undo(manager.connection, moved, undo).actions == {"HIDDEN": 1, "RETURN": 1}
        said = mqops(lake, "undo", moved.run, "-m", "QM1", "--yes")
    assert re.search(r"^ +1  HIDDEN: refused: another unit of work, .* try again later$", said, re.MULTILINE)
    assert (manager.depth("A"), manager.depth(DLQ)) == (1, 1)
    document = json.loads(mqops(lake, "undo", moved.run, "-m", "QM1", "--yes", "--json"))
    assert document["actions"] == {"RETURN": 1, "UNDONE": 1}
    assert (manager.depth("A"), manager.depth(DLQ)) == (0, 2)


def test_an_undo_calls_hidden_what_may_be_back_and_in_a_unit_of_work_there(manager, lake, moved):
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, "A", CMQC.MQOO_INPUT_SHARED)
        handle.get()
        handle.close()
    manager.put(DLQ, [dead_letter("A", b"another")])
    with held(manager, DLQ):
        plan = plan_undo(manager.connection, moved, RunFolder.at(lake, "QM1", "undo1"))
    assert plan.actions == {"HIDDEN": 1, "RETURN": 1}
    plan = plan_undo(manager.connection, moved, RunFolder.at(lake, "QM1", "undo2"))
    assert plan.actions == {"CONSUMED": 1, "RETURN": 1}


def test_an_undo_that_may_not_ask_says_so(manager, lake, moved):
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, "A", CMQC.MQOO_INPUT_SHARED)
        handle.get()
        handle.close()
    manager.mqsc("ALTER QLOCAL(SYSTEM.ADMIN.COMMAND.QUEUE) PUT(DISABLED)\n")
    plan = plan_undo(manager.connection, moved, RunFolder.at(lake, "QM1", "undo1"))
    assert plan.actions == {"HIDDEN": 1, "RETURN": 1}
    assert plan.remarks[0].startswith("A cannot be looked at: ")
    assert "MQRC_PUT_INHIBITED" in plan.remarks[0]
