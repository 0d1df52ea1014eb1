"""What a dead-letter queue is made of and what the table would do: from the lake of genuine runs, and no browse."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ledger_opened import act, observe, prove
from mq_support import DLQ, dead_letter, one_file_a_message

from mqops.decide.in_process import decide
from mqops.decide.on_snapshot import Recorded
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.lake.run import RunFolder
from mqops.look.dead_letters import dead_letter_queues, dead_letters
from mqops.look.expiry_forecast import forecast
from mqops.look.message import TableFrom, table_from
from mqops.look.run_row import run_line
from mqops.look.words.run_name import name_of
from mqops.rules import parse

FIRST = "DESTQ(FULL) ACTION(RETRY) RETRY(2)\nDESTQ(PAY*) ACTION(FWD) FWDQ(B)\n"
NOW = "DESTQ(FULL) ACTION(RETRY) RETRY(2)\nAPPLNAME(billing) ACTION(FWD) FWDQ(B)\nDESTQ(PAY*) ACTION(DISCARD)\n"


def handled(manager, lake, text, *, queue="", dry=False):
    table = parse(text).table
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text=text, queue=queue)
    run, plan = plan_run(DEAD_LETTERS, request)
    if not dry:
        carry_out(DEAD_LETTERS, request, run, plan)
    return run


def table(text) -> TableFrom:
    return table_from(text, "now.rules")


@pytest.fixture
def manager(queue_manager):
    made = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\nDEFINE QLOCAL(FULL) PUT(DISABLED)\n")
    made.put(DLQ, [dead_letter("FULL", b"one"), dead_letter("PAY.IN", b"two", reason=2085)])
    return made


def test_groups_growth_and_what_the_table_of_now_would_do(manager, lake):
    first = handled(manager, lake, FIRST)  # one fails, one is moved away
    manager.put(DLQ, [dead_letter("PAY.IN", b"3", reason=2085), *[dead_letter("PAY.OUT", b"4")] * 2, ({}, b"none")])
    second = handled(manager, lake, "DESTQ(FULL) ACTION(RETRY) RETRY(2)\n")
    (last,) = dead_letter_queues(lake)
    assert (last.queue, last.run, last.messages) == (DLQ, second.run, 5)
    found = dead_letters(lake, last, table(NOW))
    groups = {(one.group.reason, one.group.origin_q): one for one in found.groups}
    assert {key: (one.messages, one.growth) for key, one in groups.items()} == {
        ("MQRC_Q_FULL", "PAY.OUT"): (2, 2),
        ("MQRC_Q_FULL", "FULL"): (1, 0),
        ("MQRC_UNKNOWN_OBJECT_NAME", "PAY.IN"): (1, 0),
        ("no MQDLH", ""): (1, 1),
    }
    decided = {key: [(str(d.decision), d.line, d.messages) for d in one.decided] for key, one in groups.items()}
    assert decided == {
        ("MQRC_Q_FULL", "PAY.OUT"): [("DISCARD", 3, 2)],
        ("MQRC_Q_FULL", "FULL"): [("RETRY to FULL@QM1", 1, 1)],
        ("MQRC_UNKNOWN_OBJECT_NAME", "PAY.IN"): [("DISCARD", 3, 1)],
        ("no MQDLH", ""): [("ERROR", None, 1)],
    }
    assert [(one.run, one.messages) for one in found.trend] == [(first.run, 2), (second.run, 5)]
    assert (found.judged, found.rules_source, found.problem) == (5, "now.rules", "")


def test_a_message_whose_tries_have_failed_is_judged_by_itself(manager, lake):
    handled(manager, lake, FIRST)
    manager.put(DLQ, [dead_letter("FULL", b"fresh")])
    handled(manager, lake, FIRST)
    manager.put(DLQ, [dead_letter("FULL", b"fresher")])
    handled(manager, lake, FIRST)  # the first one has no try left
    (last,) = dead_letter_queues(lake)
    (group,) = dead_letters(lake, last, table(FIRST)).groups
    assert sorted((str(one.decision), one.messages) for one in group.decided) == [
        ("IGNORE", 1),
        ("RETRY to FULL@QM1", 2),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* MQOPS EXTENSIONS\nBODY('two') ACTION(DISCARD)\n", {"DISCARD": 1, "IGNORE": 2}),
        ("* MQOPS EXTENSIONS\nSIZE(>3) ACTION(DISCARD)\n", {"DISCARD": 1, "IGNORE": 2}),
        ("DESTQ(PAY*) ACTION(DISCARD)\n", {"DISCARD": 1, "IGNORE": 2}),
    ],
)
def test_alike_messages_are_decided_as_each_one_is(manager, lake, text, expected):
    manager.put(DLQ, [dead_letter("FULL", b"three")])
    run = handled(manager, lake, "DESTQ(NONE) ACTION(DISCARD)\n")
    recorded, judge = Recorded.of(run.path), parse(text).table
    decide = recorded.decision_by(judge)
    alone = Counter(str(decide(one)[0]) for one in recorded.messages(*judge.questions))
    together: Counter[str] = Counter()
    for one in recorded.alike(*judge.questions, most=99):
        together[str(decide(one.message)[0])] += one.messages
    assert together == alone == Counter(expected)
    assert sum(one.messages for one in recorded.alike(*judge.questions, most=2)) == (2 if judge.questions else 3)


def named(run):
    return f'the run "{name_of(run_line(run))}"'


def test_why_nothing_is_judged_is_told(manager, lake):
    run = handled(manager, lake, FIRST)
    (last,) = dead_letter_queues(lake)
    assert dead_letters(lake, last, None).problem == "The estate names no rules table for QM1"
    assert dead_letters(lake, last, None, problem="not readable").problem == "not readable"
    for part in run.snapshot.glob("*.parquet"):
        part.unlink()
    found = dead_letters(lake, last, table(FIRST))
    assert found.problem == f"The snapshot of {named(run)} was removed, so the table cannot judge it"
    assert (found.rules_source, found.judged, len(found.groups)) == ("", 0, 2)
    assert dead_letter_queues(lake / "nothing") == []


def test_what_a_run_has_taken_is_read_from_the_ledger_once(manager, lake):
    """The pages of expiry and of dead letters ask for the same, and of a large run it takes long."""
    run = handled(manager, lake, FIRST)
    (last,) = dead_letter_queues(lake)
    now = datetime.now(UTC)
    forecast(lake, "QM1", now=now, limit=now)
    (run.lake_folder / "ledger" / "ledger.jsonl").unlink()
    found = dead_letters(lake, last, table(NOW))
    assert (found.left, found.judged) == (1, 1)


def test_what_runs_have_taken_is_left_out_until_an_undo_puts_it_back(manager, lake):
    run = handled(manager, lake, FIRST)  # one fails, one is moved away
    (last,) = dead_letter_queues(lake)

    def known() -> tuple:
        found = dead_letters(lake, last, table(NOW))
        groups = {one.group.origin_q: [str(what.decision) for what in one.decided] for one in found.groups}
        assert found.judged == sum(one.messages for one in found.groups) == found.left
        return found.left, [one.run for one in found.acted], groups

    full = {"FULL": ["RETRY to FULL@QM1"]}
    assert known() == (1, [run.run], full)
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    undo, plan = plan_run(UNDO, request)
    assert known() == (1, [run.run], full)
    carry_out(UNDO, request, undo, plan)
    assert known() == (2, [run.run, undo.run], {**full, "PAY.IN": ["DISCARD"]})
    took, back = dead_letters(lake, last, table(NOW)).acted
    assert (took.moved, took.left, took.put_back) == (1, 1, 0)
    assert (back.undo, back.moved, back.put_back) == (True, 0, 1)


def test_what_runs_have_taken_is_left_out_of_a_snapshot_in_several_files(manager, lake):
    run = handled(manager, lake, FIRST)
    one_file_a_message(run.snapshot)
    (last,) = dead_letter_queues(lake)
    found = dead_letters(lake, last, table(NOW))
    assert (found.left, found.judged, [one.group.origin_q for one in found.groups]) == (1, 1, ["FULL"])


def test_what_a_run_has_taken_whose_plan_was_removed_is_not_known(manager, lake):
    run = handled(manager, lake, FIRST)
    shutil.rmtree(run.plan)
    (last,) = dead_letter_queues(lake)
    found = dead_letters(lake, last, table(NOW))
    assert (found.left, found.judged, len(found.groups), len(found.acted)) == (None, 0, 2, 1)
    assert found.problem == f"The plan of {named(run)} was removed: which messages it has taken is not known any more"


def test_an_undo_of_a_discard_puts_back_and_takes_nothing(manager, lake):
    run = handled(manager, lake, "DESTQ(PAY*) ACTION(DISCARD)\n")
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    undo, plan = plan_run(UNDO, request)
    carry_out(UNDO, request, undo, plan)
    (last,) = dead_letter_queues(lake)
    took, back = dead_letters(lake, last, table(NOW)).acted
    assert (took.discarded, took.moved, took.put_back) == (1, 0, 0)
    assert (back.discarded, back.moved, back.put_back) == (0, 0, 1)


def test_what_a_run_of_several_queues_has_done_is_said_of_this_one(manager, lake):
    """Also of an undo, which takes messages back from a queue and puts them on another one."""
    manager.mqsc("DEFINE QLOCAL(WAITING)\nDEFINE QLOCAL(OTHER)\n")
    manager.put("WAITING", [dead_letter("PAY.IN", b"1"), dead_letter("FULL", b"2")])
    manager.put("OTHER", [dead_letter("PAY.IN", body) for body in (b"3", b"4", b"5")])
    text, run = "DESTQ(PAY*) ACTION(FWD) FWDQ(B)\n", RunFolder.at(lake, "QM1", "two")
    observe(manager.connection, run, ["WAITING", "OTHER"])
    decide(run, parse(text).table, text=text, source="t.rules")
    (last,) = [one for one in dead_letter_queues(lake) if one.queue == "WAITING"]

    def known(record=last) -> list[tuple]:
        found = dead_letters(lake, record, table(NOW)).acted
        return [(one.run, one.moved, one.left, one.put_back, one.whole) for one in found]

    act(manager.connection, run)
    assert known() == [(run.run, 4, 0, 0, True)]  # what act has said so far, of both queues
    prove(manager.connection, run)
    assert known() == [(run.run, 1, 1, 0, False)]
    manager.put("B", [dead_letter("PAY.IN", b"own")])
    handled(manager, lake, text, queue="B", dry=True)
    (there,) = [one for one in dead_letter_queues(lake) if one.queue == "B"]
    undoing = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    undo, plan = plan_run(UNDO, undoing)
    carry_out(UNDO, undoing, undo, plan)
    assert known() == [(run.run, 1, 1, 0, False), (undo.run, 0, 0, 1, False)]
    assert known(there) == [(undo.run, 4, 0, 0, False)]


def test_a_queue_that_a_dry_run_found_empty_after_a_run_that_is_proved_later(manager, lake):
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(FIRST).table, text=FIRST)
    manager.mqsc("ALTER QLOCAL(FULL) PUT(ENABLED)\n")
    run, _plan = plan_run(DEAD_LETTERS, request)
    act(manager.connection, run)
    plan_run(DEAD_LETTERS, request)
    (last,) = dead_letter_queues(lake)
    assert last.messages == 0
    prove(manager.connection, run)
    found = dead_letters(lake, last, table(NOW))
    assert (found.left, found.groups) == (0, ())
