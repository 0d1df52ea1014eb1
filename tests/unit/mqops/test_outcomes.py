"""What became of moved messages: each outcome on a real queue manager, recorded once, by whoever looks."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from ledger_opened import act_undo, look, look_back, prove
from mq_support import DLQ, Manager, dead_letter, time_goes_by
from pymqi import CMQC

from mqops.act.mover_port import key_of
from mqops.cli import main
from mqops.clock import utc, utc_now
from mqops.deciders import look_back as looking_back
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import finish_undos
from mqops.errors import InProgress, SettingsError, Stopped
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.file import LedgerFile
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqops.mq.inquire import try_resolve_queue
from mqops.observe import replays, tries
from mqops.observe.tries import message_ids
from mqops.prove.core.outcome import (
    CONSUMED,
    EXPIRED,
    MOVED_AGAIN,
    RETURNED,
    SENT_ON,
    Moved,
    OutcomeSummary,
    Seen,
    absent,
    outcomes,
)
from mqops.prove.outcomes import LINE_ROWS
from mqops.retention.core.due import Ages, Policy
from mqops.retention.prune import prune, survey
from mqops.rules import parse
from mqops.undo.in_process import plan_undo
from mqwire.constants import MQEI_UNLIMITED

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(PARKED)
DEFINE QLOCAL(XMIT) USAGE(XMITQ)
DEFINE QREMOTE(FAR) RNAME(THERE) RQMNAME(QM9) XMITQ(XMIT)
DEFINE QALIAS(ALIAS) TARGET(A)
"""
PASSED_ON = CMQC.MQOO_SET_ALL_CONTEXT


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def bench(manager, tmp_path) -> Bench:
    return Bench(manager, tmp_path / "lake")


class Bench:
    """Passes with a rules table, and looks at what became of their messages."""

    def __init__(self, manager: Manager, lake) -> None:
        self.manager = manager
        self.lake = lake

    def letters(self, *targets: str, **fields: Any) -> None:
        self.manager.put(DLQ, [dead_letter(target, f"for {target}".encode(), **fields) for target in targets])

    def run(self, text: str = "ACTION(RETRY)", *, queue: str = "") -> RunFolder:
        table = parse(text).table
        assert table
        what = DeadLetterRequest(
            connection=self.manager.connection, lake=self.lake, table=table, text=text, queue=queue
        )
        folder, plan = plan_run(DEAD_LETTERS, what)
        carry_out(DEAD_LETTERS, what, folder, plan)
        return folder

    def look(self, run: RunFolder, **more: Any) -> OutcomeSummary:
        return look(self.manager.connection, run, **more)

    def lines(self) -> list[dict[str, Any]]:
        """The lines of outcomes in the ledger, the chain checked."""
        entries = LedgerFile(self.lake / "QM1", str).entries()
        return [entry for entry in entries if entry["kind"] == "outcome"]

    def mqops(self, *arguments: str) -> str:
        done = CliRunner().invoke(main, [*arguments, "--lake", str(self.lake)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output


def keys_on(manager: Manager, queue: str) -> list[str]:
    """What identifies the messages of a queue."""
    with connect(manager.connection) as session:
        return [key_of(got.md, got.body) for got in browse(session, queue)]


def take(manager: Manager, queue: str, count: int = 1) -> list[tuple[Any, bytes]]:
    """What a consumer does; gives what it got."""
    got = []
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue)
        for _ in range(count):
            md = pymqi.MD(Version=2)
            got.append((md, handle.get(None, md)))
        handle.close()
    return got


def test_each_message_is_looked_for_and_only_changes_are_recorded(manager, bench):
    bench.letters("A", "A", "B", "NOWHERE")
    run = bench.run("DESTQ(NOWHERE) ACTION(DISCARD)\nDESTQ(B) ACTION(FWD) FWDQ(PARKED) HEADER(YES)\nACTION(RETRY)\n")
    first = bench.look(run)
    assert (first.moved, first.outcomes, first.changed, first.open) == (3, {"there": 3}, 3, 3)
    assert bench.look(run).changed == 0
    take(manager, "A")
    second = bench.look(run)
    assert (second.outcomes, second.changed, second.open) == ({"consumed": 1, "there": 2}, 1, 2)
    assert [(line["outcome"], len(line["rows"])) for line in bench.lines()] == [("there", 3), ("consumed", 1)]
    entries = LedgerFile(bench.lake / "QM1", str).entries()
    moved = {row[0]: row for entry in entries if entry["kind"] == "acted" for row in entry["rows"]}
    assert all(row == moved[row[0]] for line in bench.lines() for row in line["rows"])
    take(manager, "A")
    take(manager, "PARKED")
    assert bench.look(run).outcomes == {"consumed": 3}
    assert bench.look(run).changed == 0
    last = json.loads(run.path.joinpath("outcomes.json").read_text())
    lines = list(LedgerFile(bench.lake / "QM1", str).entries())
    assert (last["open"], last["ledger_seq"], last["ledger_head"]) == (0, len(lines), lines[-1]["hash"])
    assert prove(manager.connection, run).balanced  # who adds up the ledger passes the new lines over


@pytest.mark.parametrize(
    ("table", "queue"),
    [
        ("ACTION(RETRY)", "A"),
        ("ACTION(FWD) FWDQ(B) HEADER(NO)", "B"),
        ("ACTION(FWD) FWDQ(ALIAS) HEADER(YES)", "A"),
        ("ACTION(FWD) FWDQ(&DESTQ) FWDQM(QM1) HEADER(YES)", "A"),
    ],
)
def test_it_is_known_wherever_it_was_put_and_however(manager, bench, table, queue):
    bench.letters("A", "A", CorrelId=b"C" * 24)
    run = bench.run(table)
    manager.put(queue, [({"CorrelId": b"C" * 24}, b"for A")])  # like them, and another one
    take(manager, queue)
    assert bench.look(run).outcomes == {"consumed": 1, "there": 1}


def test_of_equal_messages_as_many_are_there_as_are_found(manager, bench):
    same = {"MsgId": b"M" * 24, "PutDate": "20250203", "PutTime": "04050607"}
    manager.put(DLQ, [dead_letter("A", b"x", **same)] * 3, options=PASSED_ON)
    run = bench.run()
    take(manager, "A")
    assert bench.look(run).outcomes == {"consumed": 1, "there": 2}


@pytest.mark.parametrize("options", [PASSED_ON, 0])
def test_returned_is_back_where_it_came_from_with_another_header(manager, bench, options):
    bench.letters("A", "A")
    run = bench.run()
    ((md, body), _other) = take(manager, "A", 2)
    kept = {"MsgId": md.MsgId, "CorrelId": md.CorrelId}
    context = {"PutDate": md.PutDate, "PutTime": md.PutTime} if options else {}
    manager.put(DLQ, [dead_letter("A", body, reason=2030, **kept, **context)], options=options)
    summary = bench.look(run)
    assert (summary.outcomes, summary.open) == ({"consumed": 1, "returned": 1}, 0)
    take(manager, DLQ)
    assert bench.look(run).outcomes == {"consumed": 1, "returned": 1}


def test_what_the_run_left_on_its_queue_has_not_returned(manager, bench):
    same = {"MsgId": b"M" * 24, "PutDate": "20250203", "PutTime": "04050607"}
    twin = [dead_letter("A", b"x", **same), dead_letter("B", b"x", **same)]
    manager.put(DLQ, twin, options=PASSED_ON)
    run = bench.run("DESTQ(A) ACTION(RETRY)\n")
    take(manager, "A")
    assert bench.look(run).outcomes == {"consumed": 1}


def test_what_a_consumer_requeued_without_a_header_has_returned(manager, bench):
    bench.letters("A")
    run = bench.run()
    ((md, body),) = take(manager, "A")
    manager.put(DLQ, [({"MsgId": md.MsgId}, body)])
    assert bench.look(run).outcomes == {"returned": 1}


def test_the_original_of_a_copy_has_not_returned(manager, bench, mqops_here):
    manager.put("B", [({}, b"x")])
    done = mqops_here("message", "copy", "B", "--all", "--to", "A", "-m", "QM1", "--yes", "--json")
    run = RunFolder.at(bench.lake, "QM1", json.loads(done.stdout)["run"])
    assert bench.look(run).outcomes == {"there": 1}
    take(manager, "A")
    assert (bench.look(run).outcomes, manager.depth("B")) == ({"consumed": 1}, 1)


@pytest.mark.parametrize("same", [{}, {"MsgId": b"M" * 24, "PutDate": "20250203", "PutTime": "04050607"}])
def test_what_was_forwarded_to_the_queue_it_came_from_is_there(manager, bench, same):
    manager.put(DLQ, [dead_letter("A", b"for A", **same)] * 2, options=PASSED_ON if same else 0)
    run = bench.run(f"ACTION(FWD) FWDQ({DLQ}) HEADER(YES)")
    take(manager, DLQ)
    assert bench.look(run).outcomes == {"consumed": 1, "there": 1}


def test_what_returned_to_a_queue_that_the_run_put_others_on_has_returned(manager, bench):
    bench.letters("A", "B")
    run = bench.run(f"DESTQ(B) ACTION(FWD) FWDQ({DLQ}) HEADER(YES)\nACTION(RETRY)\n")
    ((md, body),) = take(manager, "A")
    manager.put(DLQ, [dead_letter("A", body, reason=2030, MsgId=md.MsgId)])
    assert bench.look(run).outcomes == {"returned": 1, "there": 1}


def test_what_an_undo_put_back_has_returned(manager, bench, caplog):
    bench.letters("A", "B")
    run = bench.run()
    folder = RunFolder.at(bench.lake, "QM1", "undo1")
    plan = plan_undo(manager.connection, run, folder)
    act_undo(manager.connection, folder, approved=plan.digest)
    assert prove(manager.connection, folder).moved == 2
    found = look_back(manager.connection, RunFolder.at(bench.lake, "QM1", "following"))
    assert [(one.run, one.outcomes) for one in found] == [(run.run, {"returned": 2})]
    assert "Cannot tell what became of" not in caplog.text  # an undo is passed over
    with pytest.raises(SettingsError, match=f"Run undo1 is an undo: ask for the outcomes of run {run.run}"):
        look(manager.connection, folder)


def undo_half(bench: Bench) -> tuple[RunFolder, RunFolder]:
    """A run that moved two messages and discarded one, and an undo of it that has put back one of the two, and the
    discarded one. It was stopped then, and is not proved."""
    bench.letters("A", "B", "A")
    run = bench.run("DESTQ(B) ACTION(DISCARD)\nACTION(RETRY)\n")
    undo = RunFolder.at(bench.lake, "QM1", "undo1")
    plan = plan_undo(bench.manager.connection, run, undo)

    def halting() -> datetime:
        """Asked when the second message is put back from the lake."""
        stop(undo.path, Stop(by="carol", at=utc_now()))
        return datetime.now(UTC)

    with pytest.raises(Stopped):
        act_undo(bench.manager.connection, undo, approved=plan.digest, unit_size=1, now=halting)
    lift(undo.path)
    return run, undo


def test_a_run_is_looked_at_after_each_proof_of_its_undo(manager, bench, monkeypatch):
    """However short ago it was looked at, and however many runs there were since."""
    monkeypatch.setattr(looking_back, "BACK_RUNS", 1)
    run, undo = undo_half(bench)
    for _newer in range(5):
        bench.letters("PARKED")
        bench.run("DESTQ(PARKED) ACTION(RETRY)\n")

    def proved() -> list[tuple[str, Any]]:
        prove(manager.connection, undo)
        return [(one.run, one.outcomes) for one in look_back(manager.connection, undo)]

    assert proved() == [(run.run, {"returned": 1, "there": 1})]
    shown = bench.mqops("run", "show", undo.run)
    assert "its turn has not come: it is where the run that is undone put it" in " ".join(shown.split())
    act_undo(manager.connection, undo)
    assert proved() == [(run.run, {"returned": 2})]
    assert run.run not in dict(proved()), "nothing of it can change any more"


def test_a_run_is_looked_at_when_its_undo_is_finished(manager, bench):
    run, undo = undo_half(bench)
    assert not run.path.joinpath("outcomes.json").exists()
    assert [one.run for one in finish_undos(manager.connection, run)] == [undo.run]
    assert read_json(run.path.joinpath("outcomes.json"))["outcomes"] == {"returned": 2}


def test_what_a_later_run_moved_again_is_not_called_consumed(manager, bench):
    bench.letters("A", "A", "B")
    first = bench.run()
    ((md, body), _other) = take(manager, "A", 2)
    manager.put(DLQ, [dead_letter("A", body, MsgId=md.MsgId)])
    second = bench.run("DESTQ(A) ACTION(FWD) FWDQ(PARKED)\n")
    assert bench.look(first).outcomes == {"consumed": 1, "moved again": 1, "there": 1}
    assert bench.look(second).outcomes == {"there": 1}


def test_what_a_later_run_tried_to_move_in_vain_is_not_called_moved_again(manager, bench):
    bench.letters("A")
    first = bench.run()
    ((md, body),) = take(manager, "A")
    first.path.joinpath("summary.json").unlink()  # so that the next run does not look back
    manager.put(DLQ, [dead_letter("NOWHERE", body, MsgId=md.MsgId)])
    second = bench.run()
    assert read_json(second.path.joinpath("summary.json"))["failed"] == 1
    take(manager, DLQ)
    assert bench.look(first).outcomes == {"consumed": 1}


def test_what_came_back_with_another_header_and_was_moved_again_is_known(manager, bench):
    bench.letters("A", "A")
    first = bench.run()
    ((md, body), _other) = take(manager, "A", 2)
    manager.put(DLQ, [dead_letter("A", body, reason=2030, MsgId=md.MsgId)])
    bench.run("ACTION(FWD) FWDQ(PARKED)\n")
    assert bench.look(first).outcomes == {"consumed": 1, "moved again": 1}


SAME_ID = {"MsgId": b"M" * 24}


def test_another_message_with_its_id_that_a_later_run_moved_is_not_this_one(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"first", **SAME_ID)])
    first = bench.run()
    take(manager, "A")
    manager.put(DLQ, [dead_letter("B", b"another", **SAME_ID)])
    bench.run()
    assert bench.look(first).outcomes == {"consumed": 1}


def test_nothing_is_said_where_nobody_can_tell_which_message_with_its_id_was_moved(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"first", **SAME_ID)])
    first = bench.run()
    take(manager, "A")
    first.path.joinpath("summary.json").unlink()  # so that the next run does not look back
    manager.put(DLQ, [dead_letter("B", b"another", **SAME_ID)])
    shutil.rmtree(bench.run().path)
    assert (bench.look(first).outcomes, bench.look(first).untold) == ({}, 1)


def test_expired_and_consumed_are_told_apart_by_the_lifetime_that_was_left(manager, bench, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"short", Expiry=6000), dead_letter("A", b"long", Expiry=90000)])
    run = bench.run()
    assert bench.look(run).outcomes == {"there": 2}
    time_goes_by(monkeypatch, 6000)
    assert bench.look(run).outcomes == {"expired": 1, "there": 1}  # E03: nobody consumes, and it is no longer given
    assert manager.depth("A") == 1
    take(manager, "A")
    assert bench.look(run).outcomes == {"consumed": 1, "expired": 1}
    later = datetime.now(UTC) + timedelta(hours=3)
    assert bench.look(run, now=lambda: later).changed == 0  # it was seen absent while it had lifetime left


TRANSMITTED = [
    "ACTION(RETRY)",
    "ACTION(FWD) FWDQ(FAR) HEADER(YES)",
    "ACTION(FWD) FWDQ(THERE) FWDQM(QM9) HEADER(YES)",
    "ACTION(FWD) FWDQ(THERE) FWDQM(XMIT) HEADER(NO)",
    "ACTION(FWD) FWDQ(NEAR) HEADER(NO)",
]


@pytest.mark.parametrize("fields", [{}, {"GroupId": b"G" * 24, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}])
@pytest.mark.parametrize("table", TRANSMITTED)
def test_it_is_there_while_it_waits_on_the_transmission_queue_and_then_sent_on(manager, bench, table, fields):
    manager.mqsc(ELSEWHERE)
    bench.letters("FAR", "FAR", **fields)
    run = bench.run(table)
    assert manager.depth("XMIT") == 2
    summary = bench.look(run)
    assert (summary.outcomes, summary.open) == ({"there": 2}, 2)
    (remark,) = summary.remarks
    assert remark.endswith("; messages wait on transmission queue XMIT")
    manager.put("FAR", [({}, b"for FAR")])
    take(manager, "XMIT")
    assert bench.look(run).outcomes == {"sent on": 1, "there": 1}
    assert bench.look(run).changed == 0


ELSEWHERE = """\
DEFINE QALIAS(NEAR) TARGET(FAR)
ALTER QMGR DEFXMITQ(XMIT)
DEFINE QREMOTE(MYSELF) RQMNAME(QM1)
"""


def test_what_is_no_name_of_a_queue_manager_leads_nowhere(manager):
    with connect(manager.connection) as session:
        for odd in ("\N{LATIN SMALL LETTER R WITH CARON}", "\udc80", "Q" * 49):
            assert try_resolve_queue(session, "A", odd).why.startswith(
                "MQOPEN on A failed: MQRC_OBJECT_Q_MGR_NAME_ERROR"
            )


def test_what_a_channel_has_in_its_unit_of_work_is_not_sent_on_yet(manager, bench):
    bench.letters("FAR")
    run = bench.run()
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, "XMIT")
        handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        assert (bench.look(run).outcomes, bench.look(run).untold) == ({}, 1)
        connection.backout()
    assert bench.look(run).outcomes == {"there": 1}


def test_nothing_is_said_where_the_transmission_queue_may_not_be_looked_at(manager, bench):
    bench.letters("FAR")
    run = bench.run()
    manager.mqsc("ALTER QLOCAL(XMIT) GET(DISABLED)\n")
    summary = bench.look(run)
    assert (summary.outcomes, summary.untold) == ({}, 1)
    assert re.match("FAR@QM1 cannot be looked at: it is not a local queue; .*MQRC_GET_INHIBITED", summary.remarks[0])


def test_expired_on_the_transmission_queue_is_not_called_sent_on(manager, bench, monkeypatch):
    manager.put(DLQ, [dead_letter("FAR", b"short", Expiry=6000)])
    run = bench.run()
    time_goes_by(monkeypatch, 6000)
    assert bench.look(run).outcomes == {"expired": 1}


def test_the_other_name_of_the_queue_manager_leads_to_its_own_queues(manager, bench):
    manager.mqsc(ELSEWHERE)
    bench.letters("A")
    run = bench.run("ACTION(FWD) FWDQ(A) FWDQM(MYSELF) HEADER(NO)")
    assert bench.look(run).outcomes == {"there": 1}
    take(manager, "A")
    assert bench.look(run).outcomes == {"consumed": 1}


def test_nothing_is_said_of_a_queue_that_is_gone_or_holds_messages_of_open_units_of_work(manager, bench):
    bench.letters("A", "A", "B")
    run = bench.run()
    take(manager, "B")
    manager.mqsc("DELETE QLOCAL(B)\n")
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, "A")
        handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        summary = bench.look(run)
        assert (summary.outcomes, summary.untold, summary.open) == ({"there": 1}, 2, 3)
        assert "B@QM1 cannot be looked at: " in summary.remarks[0]
        connection.backout()
    assert bench.look(run).outcomes == {"there": 2}


def test_a_queue_that_is_too_deep_is_left_for_another_time(manager, bench):
    bench.letters("A", "A", "B")
    run = bench.run()
    summary = bench.look(run, deepest=1)
    assert (summary.outcomes, summary.untold) == ({"there": 1}, 2)
    assert summary.remarks == ("A cannot be looked at: it has 2 messages, which takes long",)
    assert bench.look(run).outcomes == {"there": 3}


def test_a_run_that_is_being_acted_on_is_not_looked_at(bench):
    bench.letters("A")
    run = bench.run()
    with run.lock(), pytest.raises(InProgress):
        bench.look(run)
    assert bench.lines() == []


def test_the_next_run_looks_at_those_before_it_whose_outcomes_are_open(manager, bench):
    bench.letters("A", "B")
    first = bench.run()
    assert bench.lines() == []
    take(manager, "A")
    bench.letters("PARKED")
    second = bench.run()
    seen = [(line["run"], line["outcome"]) for line in bench.lines()]
    assert seen == [(first.run, "consumed"), (first.run, "there")]
    take(manager, "B")
    take(manager, "PARKED")
    proved_at = datetime.fromisoformat(json.loads(first.path.joinpath("summary.json").read_text())["proved_at"])
    looked_at = datetime.fromisoformat(json.loads(first.path.joinpath("outcomes.json").read_text())["looked_at"])
    twice_as_old = looked_at + (looked_at - proved_at)
    following = RunFolder.at(bench.lake, "QM1", "following")

    def seen_at(now: datetime) -> list[tuple[str, Any]]:
        return [(one.run, one.outcomes) for one in look_back(manager.connection, following, now=lambda: now)]

    assert seen_at(twice_as_old - timedelta(milliseconds=1)) == [(second.run, {"consumed": 1})]
    assert seen_at(twice_as_old) == [(first.run, {"consumed": 2})]
    assert seen_at(twice_as_old + timedelta(days=1)) == []


def test_a_run_whose_snapshot_was_pruned_is_not_looked_at_any_more(manager, bench, caplog):
    """Each later run would say that it cannot be told, for ever."""
    bench.letters("A", "B")
    first = bench.run()
    bench.letters("PARKED")
    second = bench.run()
    at = utc() + timedelta(days=9)
    due = survey(bench.lake, "QM1", Policy(ages=Ages(snapshots=timedelta(days=1))), now=at)
    assert prune(bench.lake, "QM1", due, who="alice@host", now=at).parts == {"snapshot": 1}
    first.path.joinpath("outcomes.json").unlink()
    found = look_back(manager.connection, RunFolder.at(bench.lake, "QM1", "following"))
    assert [one.run for one in found] == [second.run]
    assert "Cannot tell what became of" not in caplog.text


def test_a_destination_of_several_runs_is_browsed_once_and_each_message_belongs_to_its_run(manager, bench, monkeypatch):
    monkeypatch.setattr(looking_back, "BACK_RUNS", 0)  # while the runs are made
    runs = []
    for letters in (20, 10, 30):
        bench.letters(*["A"] * letters)
        runs.append(bench.run())
    monkeypatch.setattr(looking_back, "BACK_RUNS", 5)
    gets = 0

    def count(_frame: Any, event: str, called: Any) -> None:
        nonlocal gets
        gets += event == "c_call" and called.__name__ == "MQGET"

    sys.setprofile(count)
    try:
        found = look_back(manager.connection, RunFolder.at(bench.lake, "QM1", "following"))
    finally:
        sys.setprofile(None)
    assert [(one.run, one.outcomes) for one in found] == [
        (runs[2].run, {"there": 30}),
        (runs[1].run, {"there": 10}),
        (runs[0].run, {"there": 20}),
    ]
    assert gets < 2 * 60


def test_a_message_that_came_back_to_its_destination_since_that_was_browsed_is_seen_there(manager, bench):
    """Another handler may put it there again between the looks at two runs: "consumed" would be said for ever."""
    bench.letters("A", "A")
    run = bench.run()
    browsed = {("A", False): keys_on(manager, "A")[:1]}
    assert bench.look(run, browsed=browsed).outcomes == {"there": 2}
    assert browsed == {("A", False): keys_on(manager, "A")}


def test_a_run_looks_back_at_so_many_runs_and_messages_and_no_more(manager, bench, monkeypatch):
    monkeypatch.setattr(looking_back, "BACK_MESSAGES", 0)  # while the runs are made, nothing is looked at
    bench.letters("A", "A")
    two = bench.run()
    bench.letters("A", "A", "A")
    three = bench.run()
    bench.letters("A")
    one = bench.run()
    nothing = bench.run()
    following = RunFolder.at(bench.lake, "QM1", "following")

    def looked_at(messages: int, runs: int) -> list[str]:
        with monkeypatch.context() as limits:
            limits.setattr(looking_back, "BACK_MESSAGES", messages)
            limits.setattr(looking_back, "BACK_RUNS", runs)
            found = [summary.run for summary in look_back(manager.connection, following)]
        for run in (two, three, one, nothing):
            run.path.joinpath("outcomes.json").unlink(missing_ok=True)
        return found

    assert looked_at(9, 5) == [one.run, three.run, two.run]  # the newest first, none that moved nothing
    assert looked_at(2, 5) == [one.run, two.run]
    assert looked_at(1, 5) == [one.run]
    assert looked_at(9, 2) == [one.run, three.run]
    for run in (nothing, one, three):
        write_json(run.path.joinpath("summary.json"), read_json(run.path.joinpath("summary.json")) | {"moved": 0})
    assert looked_at(9, 1) == [two.run]  # four times as many are asked whether they are due
    (two.path / "summary.json").write_text("no JSON")
    assert looked_at(9, 5) == []


def test_a_run_that_cannot_be_looked_at_does_not_hold_the_next_one_back(bench, caplog):
    bench.letters("A")
    first = bench.run()
    for file in first.snapshot.glob("*.parquet"):
        file.unlink()
    bench.letters("A")
    assert bench.run().path.joinpath("summary.json").exists()
    assert f"Cannot tell what became of the messages of run {first.run}: The snapshot" in caplog.text


def test_a_line_of_the_ledger_has_no_more_than_a_thousand_messages(bench):
    bench.letters(*["A"] * (LINE_ROWS + 1))
    bench.look(bench.run())
    assert [len(line["rows"]) for line in bench.lines()] == [LINE_ROWS, 1]


def test_retry_counts_and_replays_are_those_of_before(bench):
    bench.letters("A", "MISSING")
    run = bench.run()
    ledger = LedgerFile(bench.lake / "QM1")
    before = (tries.current(ledger, message_ids(run.snapshot)), replays.of_snapshot(run, ledger))
    assert before[0]
    bench.look(run)
    assert (tries.current(ledger, message_ids(run.snapshot)), replays.of_snapshot(run, ledger)) == before


def test_the_commands_tell_it(manager, bench):
    bench.letters("A", "A")
    run = bench.run()
    take(manager, "A")
    said = bench.mqops("ledger", "outcomes", run.run, "-m", "QM1").splitlines()
    assert re.fullmatch(f"{run.run} moved 2 messages; looked at 20.*Z", said[0])
    assert said[1:] == [
        "       1  consumed: no longer there, with lifetime left: consumed",
        "       1  there: still where it was put",
        "2 changed since the last look, 1 may still change",
    ]
    document = json.loads(bench.mqops("ledger", "outcomes", run.run, "-m", "QM1", "--json"))
    assert (document["outcomes"], document["changed"], document["open"]) == ({"consumed": 1, "there": 1}, 0, 1)
    msg_id = manager.messages("A")[0][0]["MsgId"].hex()
    shown = bench.mqops("ledger", "show", msg_id).splitlines()
    assert re.fullmatch(f"20.*Z  QM1  still where it was put  run {run.run}", shown[-2])
    assert shown[-1] == f"    message   {msg_id}, put there by RETRY A@QM1; line 4 of the ledger"
    events = [json.loads(line) for line in bench.mqops("ledger", "export", "--run", run.run).splitlines()]
    assert Counter(event["outcome"] for event in events) == {"acted": 2, "consumed": 1, "there": 1}
    assert {event["queue"] for event in events} == {DLQ}
    assert bench.mqops("ledger", "verify") == "QM1: 4 lines, unbroken\n"


def moved(**more: Any) -> Moved:
    about = {"row": 0, "there": "A", "key_there": "k", "home": "DLQ", "content": "c", "msg_id": "ab"}
    return Moved(**{**about, "expiry": MQEI_UNLIMITED, "seen_at": datetime(2026, 1, 1, tzinfo=UTC), **more})


NOW = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("message", "seen", "outcome"),
    [
        (moved(), Seen(), CONSUMED),
        (moved(expiry=101), Seen(), CONSUMED),
        (moved(expiry=100), Seen(), EXPIRED),
        (moved(expiry=100), Seen(hidden={"A"}), ""),
        (moved(), Seen(hidden={"DLQ"}), ""),
        (moved(), Seen(hidden={"B"}), CONSUMED),
        (moved(), Seen(again=Counter(c=1), hidden={"A"}), MOVED_AGAIN),
        (moved(), Seen(unsure={"ab"}), ""),
        (moved(there="", key_there=""), Seen(), ""),
        (moved(transmitted=True), Seen(), SENT_ON),
        (moved(transmitted=True, expiry=100), Seen(), EXPIRED),
        (moved(transmitted=True), Seen(hidden={"A"}), ""),
        (moved(transmitted=True), Seen(home=Counter({("DLQ", "c"): 1})), RETURNED),
    ],
)
def test_what_the_rules_say(message, seen, outcome):
    assert [found for _one, found in outcomes([message], seen, NOW)] == [outcome]


def test_absent_is_what_is_not_found_as_often_as_it_was_moved():
    seen = Seen(there=Counter({("A", "k"): 1}))
    twice = [moved(row=0), moved(row=1)]
    assert absent(twice, seen) == [twice[1]]
    assert [found for _one, found in outcomes(twice, seen, NOW)] == ["there", CONSUMED]
