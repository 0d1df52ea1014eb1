"""`mqops undo`, started as a person starts it."""

from __future__ import annotations

import json
import re

import pytest
from mq_support import DLQ, dead_letter

TABLE = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QREMOTE(FAR) RNAME(X) RQMNAME(Q9) XMITQ(XQ)\n")


@pytest.fixture
def run(manager, mqops) -> str:
    """A run that moved one message and discarded another."""
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("B", b"y")])
    return json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--json", text=TABLE).stdout)["run"]


def bodies(manager) -> list[bytes]:
    return [body[172:] for body in manager.bodies(DLQ)]


@pytest.fixture
def runs(tmp_path):
    """The folder of the runs."""
    return tmp_path / "lake" / "QM1" / "runs"


def test_law2_a_dry_run_says_what_would_be_done_and_moves_nothing(manager, mqops, run, runs):
    assert mqops("undo", run, "-m", "QM1", "--dry-run").stdout.splitlines() == [
        f"{run} acted on 2 messages",
        "       1  RESTORE: discarded: put again from the copy",
        "       1  RETURN: moved: taken from where it went, and put back",
        "dry run: nothing was moved",
    ]
    plan = json.loads(mqops("undo", run, "-m", "QM1", "--dry-run", "--json").stdout)["plan"]
    assert plan["actions"] == {"RESTORE": 1, "RETURN": 1}
    assert (manager.depth(DLQ), manager.depth("A"), manager.depth("MQOPS.LEDGER")) == (0, 1, 0)
    assert [path.name for path in runs.iterdir()] == [run]


def test_it_asks_first(manager, mqops, run, runs):
    assert mqops("undo", run, "-m", "QM1", text="n\n", expect=1).stdout.endswith("Undo this? [y/N]: n\n")
    assert manager.depth(DLQ) == 0
    assert [path.name for path in runs.iterdir()] == [run]
    said = mqops("undo", run, "-m", "QM1", text="y\n").stdout
    assert re.search(f"{run} acted on 2 messages; undo undo-.*, plan [0-9a-f]{{64}}\n", said)
    assert said.endswith("2 planned = 2 put back + 0 left + 0 gone: balances\n")
    assert bodies(manager) == [b"x", b"y"]
    again = json.loads(mqops("undo", run, "-m", "QM1", "--json", "--yes").stdout)
    assert (again["actions"], again["moved"], again["run"]) == ({"UNDONE": 2}, 0, "")
    said = mqops("undo", run, "-m", "QM1").stdout  # no question where nothing is to be done
    assert said.endswith("       2  UNDONE: put back by an earlier undo\nnothing to put back\n")
    assert sorted(path.name[:4] for path in runs.iterdir()) == ["cli-", "undo"]
    # Two of the run, two of the undo, and one of the look back: what became of the messages that the run moved.
    assert mqops("ledger", "verify").stdout == "QM1: 5 lines, unbroken\n"


def test_what_cannot_be_undone_is_told_with_exit_code_1(manager, mqops, run):
    manager.mqsc("CLEAR QLOCAL(A)\n")
    said = mqops("undo", run, "-m", "QM1", "--dry-run", expect=1).stdout
    assert "       1  CONSUMED: refused: no longer where it went\n" in said
    said = mqops("undo", run, "-m", "QM1", "--yes", expect=1).stdout
    assert said.endswith("2 planned = 1 put back + 0 left + 1 gone: balances\n")
    assert bodies(manager) == [b"y"]


def test_a_put_that_fails_is_told_with_its_reason(manager, mqops, run):
    manager.mqsc(f"ALTER QLOCAL({DLQ}) PUT(DISABLED)\n")
    done = mqops("undo", run, "-m", "QM1", "--yes", expect=1)
    assert "       2  could not be undone: MQRC_PUT_INHIBITED\n" in done.stdout
    assert f"problem: {DLQ}: PUT(DISABLED). ALTER QLOCAL({DLQ}) PUT(ENABLED)\n" in done.stderr


def test_preflight_counts_the_room_on_the_queue_that_is_put_to(manager, mqops, run):
    manager.put(DLQ, [dead_letter("A", b"z")])
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXDEPTH(2)\n")
    found = json.loads(mqops("undo", run, "-m", "QM1", "--dry-run", "--json").stdout)["preflight"]
    (room,) = [one for one in found["findings"] if one["severity"] == "problem"]
    assert (room["destination"], room["what"]) == (DLQ, "room for 1 of 2 messages (CURDEPTH 1, MAXDEPTH 2)")
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXDEPTH(3)\n")
    found = json.loads(mqops("undo", run, "-m", "QM1", "--dry-run", "--json").stdout)["preflight"]
    assert [one for one in found["findings"] if one["severity"] == "problem"] == []
    assert found["remarks"] == []


def test_errors_and_usage(mqops):
    assert "has no run nothing of QM1 with a plan" in mqops("undo", "nothing", "-m", "QM1", expect=1).stderr
    assert "--json cannot ask for confirmation" in mqops("undo", "nothing", "-m", "QM1", "--json", expect=2).stderr
    mqops("undo", expect=2)
