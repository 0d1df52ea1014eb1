"""An undo and a queue that does not give back its messages: the others' are put back, and later what is left."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import pymqi
import pytest
from act_support import taken
from ledger_opened import act, act_undo, observe, prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.decide.in_process import decide
from mqops.lake.run import RunFolder, find_run
from mqops.prove.records import SUMMARY
from mqops.rules import parse
from mqops.undo.in_process import plan_undo

BODIES = [("A", b"a1"), ("B", b"b1"), ("A", b"a2"), ("B", b"b2"), ("C", b"c1")]


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\nDEFINE QLOCAL(C)\n")


@pytest.fixture
def run(manager, mqops) -> str:
    """A run that moved messages to three queues."""
    manager.put(DLQ, [dead_letter(queue, body) for queue, body in BODIES])
    return json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--json", text="ACTION(RETRY)\n").stdout)["run"]


def back(manager) -> list[bytes]:
    return [body[172:] for body in manager.bodies(DLQ)]


@contextmanager
def to_itself(manager, queue: str):
    """An application has the queue open for input, exclusively."""
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_EXCLUSIVE)
        yield
        handle.close()


def test_a_queue_that_its_application_has_to_itself_is_told_and_holds_back_no_other(manager, mqops, run):
    with to_itself(manager, "A"):
        seen = json.loads(mqops("undo", run, "-m", "QM1", "--dry-run", "--json").stdout)["preflight"]["findings"]
        (problem,) = (one for one in seen if one["severity"] == "problem")
        assert problem == {
            **{"severity": "problem", "destination": "A"},
            "what": "MQOPEN for input fails: MQRC_OBJECT_IN_USE (2042); its messages stay there",
            "remedy": "An application has it to itself: let it end, or undo what is there later",
        }
        done = mqops("undo", run, "-m", "QM1", "--yes", expect=1)
        assert "problem: A: MQOPEN for input fails: MQRC_OBJECT_IN_USE (2042)" in done.stderr
        assert "MQRC_OBJECT_IN_USE\n" in done.stdout
        assert done.stdout.endswith("5 planned = 3 put back + 2 left + 0 gone: balances\n")
        assert back(manager) == [b"b1", b"b2", b"c1"]
        again = json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json", expect=1).stdout)
        assert (again["actions"], again["reasons"]) == ({"RETURN": 2, "UNDONE": 3}, {"MQRC_OBJECT_IN_USE": 2})
    last = json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json").stdout)
    assert (last["actions"], last["moved"]) == ({"RETURN": 2, "UNDONE": 3}, 2)
    assert back(manager) == [b"b1", b"b2", b"c1", b"a1", b"a2"]
    assert manager.depth("A") == 0


@pytest.mark.parametrize(
    "change",
    [
        ("ALTER QLOCAL(A) GET(DISABLED)", "ALTER QLOCAL(A) GET(ENABLED)", "MQRC_GET_INHIBITED", "MQGET", 0),
        ("CLEAR QLOCAL(A)\nDELETE QLOCAL(A)", "DEFINE QLOCAL(A)", "MQRC_UNKNOWN_OBJECT_NAME", "MQOPEN", 2),
    ],
    ids=["shut", "deleted"],
)
@pytest.mark.parametrize("unit_size", [1, 200])
def test_a_queue_that_gives_nothing_since_the_plan_holds_back_no_other(manager, tmp_path, run, change, unit_size):
    lake = tmp_path / "lake"
    before, after, reason, verb, gone = change
    undone = find_run(lake, key=run, queue_manager="QM1", planned=True)
    folder = RunFolder.at(lake, "QM1", "undo1")
    plan = plan_undo(manager.connection, undone, folder)
    manager.mqsc(before)
    done = act_undo(manager.connection, folder, approved=plan.digest, unit_size=unit_size)
    assert (done.moved, done.failed, done.backouts) == (3, 2, 1)
    assert back(manager) == [b"b1", b"b2", b"c1"]
    summary = prove(manager.connection, folder)
    assert (summary.moved, summary.left, summary.gone, summary.reasons) == (3, 2, 0, {reason: 2})
    assert summary.remarks == (f"A was not looked at ({verb}: {reason}): what was not put back counts as left",)
    assert SUMMARY.read(folder) == summary
    manager.mqsc(after)
    summary = prove(manager.connection, folder)
    assert (summary.left, summary.gone, summary.remarks) == (2 - gone, gone, ())
    folder = RunFolder.at(lake, "QM1", "undo2")
    plan = plan_undo(manager.connection, undone, folder)
    assert plan.actions == ({"CONSUMED": 2, "UNDONE": 3} if gone else {"RETURN": 2, "UNDONE": 3})
    assert act_undo(manager.connection, folder, approved=plan.digest).moved == 2 - gone
    assert prove(manager.connection, folder).finished


def test_an_undo_that_was_begun_is_finished_without_a_queue_that_is_shut_now(manager, mqops, tmp_path, run):
    folder = RunFolder.at(tmp_path / "lake", "QM1", "undo1")
    plan = plan_undo(
        manager.connection, find_run(tmp_path / "lake", key=run, queue_manager="QM1", planned=True), folder
    )
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(3)")  # with the head enough to issue, not to act
    with pytest.raises(Exception, match="MQRC_Q_FULL"):
        act_undo(manager.connection, folder, approved=plan.digest, unit_size=1)
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(9999)")
    with to_itself(manager, "A"):
        done = mqops("undo", run, "-m", "QM1", "--yes", expect=1).stdout
    assert "undo undo1 was begun before and is finished now: 3 put back\n" in done
    assert back(manager) == [b"b1", b"b2", b"c1"]


def test_an_undo_that_was_killed_before_its_proof_is_proved_by_the_next_though_a_queue_is_shut(
    manager, mqops, tmp_path, run
):
    folder = RunFolder.at(tmp_path / "lake", "QM1", "undo1")
    plan = plan_undo(
        manager.connection, find_run(tmp_path / "lake", key=run, queue_manager="QM1", planned=True), folder
    )
    manager.mqsc("ALTER QLOCAL(A) GET(DISABLED)")
    act_undo(manager.connection, folder, approved=plan.digest)
    expected = (
        f"run undo1 was begun and is not finished. To finish it: `mqops undo {run} -m QM1 --lake {tmp_path / 'lake'}`"
    )
    assert expected in mqops("dlq", "run", "--once", DLQ, "QM1", text="ACTION(IGNORE)\n").stderr
    mqops("undo", run, "-m", "QM1", "--dry-run", expect=1)
    assert not folder.path.joinpath("summary.json").exists()
    done = mqops("undo", run, "-m", "QM1", "--yes", expect=1).stdout
    assert "undo undo1 was begun before and is finished now: 3 put back\n" in done
    assert SUMMARY.read(folder).left == 2
    assert done.count("A@QM1 cannot be looked at: MQGET on A failed: MQRC_GET_INHIBITED (2016)") == 1
    assert "begun before" not in mqops("undo", run, "-m", "QM1", "--yes", expect=1).stdout
    assert "undo1" not in mqops("dlq", "run", "--once", DLQ, "QM1", text="ACTION(IGNORE)\n").stderr


HOMES = ("HOME1", "HOME2")


def run_over(manager: Manager, lake: Path, text: str) -> str:
    """A run that takes two messages from each of two queues, those of the first for A, those of the second for B."""
    manager.mqsc("".join(f"DEFINE QLOCAL({queue})\n" for queue in HOMES))
    for home, queue in zip(HOMES, "AB", strict=True):
        manager.put(home, [dead_letter(queue, b"%s%d" % (queue.encode(), number)) for number in (1, 2)])
    run = RunFolder.at(lake, "QM1", "run")
    observe(manager.connection, run, HOMES)
    parsed = parse(text)
    assert parsed.table
    decide(run, parsed.table, text=text, source="")
    act(manager.connection, run)
    assert prove(manager.connection, run).finished
    return run.run


@pytest.mark.parametrize(
    "change",
    [
        ("ALTER QLOCAL(HOME2) GET(DISABLED)", "ALTER QLOCAL(HOME2) GET(ENABLED)", "MQGET on HOME2"),
        ("DELETE QLOCAL(HOME2)", "DEFINE QLOCAL(HOME2)", "MQOPEN on HOME2"),
    ],
    ids=["shut", "deleted"],
)
@pytest.mark.parametrize(
    "what", [("ACTION(RETRY)\n", "RETURN"), ("ACTION(DISCARD)\n", "RESTORE")], ids=["moved", "discarded"]
)
def test_a_home_that_cannot_be_looked_at_holds_back_no_other(manager, mqops, tmp_path, what, change):
    (table, action), (shut, opened, reason) = what, change
    run = run_over(manager, tmp_path / "lake", table)
    if action == "RETURN":
        assert len(taken(manager, "B")) == 2
    manager.mqsc(shut)
    done = mqops("undo", run, "-m", "QM1", "--yes", expect=1).stdout
    assert f"2  {action}: " in done
    assert "2  HIDDEN: refused: " in done
    assert done.count(f"HOME2 cannot be looked at: {reason} failed: ") == 1
    assert [body[172:] for body in manager.bodies("HOME1")] == [b"A1", b"A2"]
    manager.mqsc(opened)
    later = json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json", expect=int(action == "RETURN")).stdout)
    rest = {"CONSUMED": 2} if action == "RETURN" else {"RESTORE": 2}
    assert later["actions"] == {"UNDONE": 2} | rest
    assert manager.depth("HOME2") == (0 if action == "RETURN" else 2)


def test_what_is_found_where_it_went_is_put_back_on_a_home_that_gives_nothing(manager, mqops, tmp_path):
    run = run_over(manager, tmp_path / "lake", "ACTION(RETRY)\n")
    manager.mqsc("ALTER QLOCAL(HOME2) GET(DISABLED)")
    done = json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json").stdout)
    assert (done["actions"], done["moved"]) == ({"RETURN": 4}, 4)
    assert (manager.depth("HOME1"), manager.depth("HOME2")) == (2, 2)


def test_a_lack_of_authority_to_take_is_told_before_and_holds_back_no_other(manager, mqops, run):
    manager.mqlite("user", "add", "QM1", "app", text="app's own\n")
    authority = "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,SETALL)\n"
    for queue, rights in ((DLQ, "GET,BROWSE,INQ,PUT,SETALL"), ("A", "BROWSE,INQ"), ("B", "GET,BROWSE,INQ")):
        authority += f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({rights})\n"
    for queue, rights in (("C", "GET,BROWSE,INQ"), ("MQOPS.LEDGER", "GET,BROWSE,INQ,PUT,SETID,PASSALL,SETALL")):
        authority += f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({rights})\n"
    manager.mqsc(authority)
    connection = {"queue_manager": "QM1", "user": "app", "password": "app's own"}
    done = mqops("undo", run, "-m", "QM1", "--yes", expect=1, MQOPS_CONNECTION=json.dumps(connection))
    assert "problem: A: MQOPEN for input fails: MQRC_NOT_AUTHORIZED (2035)" in done.stderr
    assert done.stdout.endswith("5 planned = 3 put back + 2 left + 0 gone: balances\n")
    assert back(manager) == [b"b1", b"b2", b"c1"]


def test_what_was_discarded_waits_while_its_queue_cannot_be_looked_at_for_it(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--json", text="ACTION(DISCARD)\n").stdout)["run"]
    with to_itself(manager, DLQ):
        done = json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json", expect=1).stdout)
        assert (done["actions"], done["moved"], done["reasons"]) == ({"RESTORE": 1}, 0, {"MQRC_OBJECT_IN_USE": 1})
    assert json.loads(mqops("undo", run, "-m", "QM1", "--yes", "--json").stdout)["moved"] == 1
    assert back(manager) == [b"x"]


def test_more_queues_than_are_kept_open_give_their_messages_in_one_unit_of_work(manager, tmp_path, run, monkeypatch):
    monkeypatch.setattr("mqops.undo.undo_port.MOST_SOURCES", 2)
    folder = RunFolder.at(tmp_path / "lake", "QM1", "undo1")
    plan = plan_undo(
        manager.connection, find_run(tmp_path / "lake", key=run, queue_manager="QM1", planned=True), folder
    )
    done = act_undo(manager.connection, folder, approved=plan.digest)
    assert (done.moved, done.units) == (5, 1)
    assert back(manager) == [body for _queue, body in BODIES]
    assert prove(manager.connection, folder).balanced
