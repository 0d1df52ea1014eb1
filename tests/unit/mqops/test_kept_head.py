"""The head of the ledger on MQOPS.LEDGER: who can write the lake, and may not get from that queue, cuts nothing off."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import commands
import pytest
from act_support import planned
from ledger_opened import act, prove
from mq_support import DLQ, LEDGER, Manager, dead_letter

from mqops.lake.run import RunFolder
from mqops.ledger.core.chain import Head
from mqops.ledger.core.head_body import CORREL_ID, KeptHead, claimed, pack
from mqops.ledger.core.seal import Key, Keys
from mqops.ledger.file import LedgerFile

STRANGE_KEY = Keys([Key(id="0123456789abcdef", secret=b"the attacker's own key")])
KILLED = """
import os, signal
from mqops.cli import main
from mqops.ledger import drain
put_head = drain.put_head
drain.put_head = lambda *given: (put_head(*given), os.kill(os.getpid(), signal.SIGKILL))
main(["ledger", "drain", "-m", "QM1"])
"""
"""A drain that is killed when its lines are on disk, before its unit of work is committed."""


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def lake(tmp_path) -> Path:
    return tmp_path / "lake"


def acted(manager: Manager, lake: Path) -> RunFolder:
    """A run whose markers are still on the queue."""
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    assert act(manager.connection, run).moved == 1
    return run


def proved(manager: Manager, lake: Path) -> RunFolder:
    run = acted(manager, lake)
    prove(manager.connection, run)
    return run


def ledger(lake: Path) -> Path:
    return lake / "QM1" / "ledger" / "ledger.jsonl"


def heads(manager: Manager, lake: Path) -> list[int]:
    """The lines that the heads of a lake's ledger name."""
    first = LedgerFile(lake / "QM1").first()
    found = [claimed(body) for _md, body in manager.heads()]
    return [one.head.seq for one in found if one and one.first == first]


def doctor(mqops) -> tuple[str, str]:
    """What `mqops doctor` says of the ledger. Its exit code depends on the machine."""
    said = json.loads(mqops("doctor", "QM1", "--json", expect=None).stdout)
    (found,) = [one for one in said["checks"] if one["check"] == "ledger"]
    return found["state"], found["found"]


def rolled_back(lake: Path, run: RunFolder, before: bytes) -> None:
    """All that a person can do who writes the lake: the ledger is what it was, and nothing noted the run."""
    ledger(lake).write_bytes(before)
    shutil.rmtree(run.path)
    (lake / "QM1" / "ledger" / "head.json").unlink()


def test_a_ledger_that_was_cut_back_with_its_runs_is_missed_and_a_later_run_does_not_hide_it(manager, mqops, lake):
    proved(manager, lake)
    before = ledger(lake).read_bytes()
    run = proved(manager, lake)
    lines = ledger(lake).read_bytes().count(b"\n")
    assert mqops("ledger", "verify").stdout == f"QM1: {lines} lines, unbroken\n"
    assert doctor(mqops) == ("holds", "every line is signed and whole")
    rolled_back(lake, run, before)
    said = mqops("ledger", "verify", expect=1).stdout
    assert f"ends with line {lines - 2}, and its head on {LEDGER} names line {lines}: its end was cut off" in said
    assert doctor(mqops) == (
        "fails",
        f"line {lines}, which its head on {LEDGER} names, is not in it: its end was cut off, or it was written again",
    )
    proved(manager, lake)
    proved(manager, lake)  # the ledger is longer than ever
    assert doctor(mqops)[0] == "fails"
    said = mqops("ledger", "verify", expect=1).stdout
    assert f"Line {lines} of the ledger is not the one that its head on {LEDGER} names" in said


def test_a_ledger_that_was_emptied_with_its_runs_is_missed(manager, mqops, lake):
    rolled_back(lake, proved(manager, lake), b"")
    assert "The ledger ends with line 0, and its head on" in mqops("ledger", "verify", expect=1).stdout


def test_one_or_two_heads_are_there_however_many_runs_there_were(manager, mqops, lake):
    for _run in range(3):
        proved(manager, lake)
    lines = ledger(lake).read_bytes().count(b"\n")
    assert max(heads(manager, lake)) == lines
    assert len(manager.heads()) <= 2
    assert all(md["Persistence"] == 1 for md, _body in manager.heads())


def test_a_drain_that_is_killed_between_the_lines_and_the_commit_is_no_alarm(manager, mqops, lake):
    proved(manager, lake)
    acted(manager, lake)
    there = heads(manager, lake)
    lines = ledger(lake).read_bytes().count(b"\n")
    environment = {**manager.environment, "MQOPS_LAKE": str(lake)}
    died = commands.run([sys.executable, "-c", KILLED], env=environment, text=True, capture_output=True)
    assert died.returncode == -9, died.stderr
    assert ledger(lake).read_bytes().count(b"\n") > lines
    assert "unbroken" in mqops("ledger", "verify").stdout
    assert heads(manager, lake) == there
    mqops("ledger", "drain", "-m", "QM1")
    assert "unbroken" in mqops("ledger", "verify").stdout
    assert max(heads(manager, lake)) == ledger(lake).read_bytes().count(b"\n")


def test_two_lakes_have_each_their_own_head(manager, mqops, lake, tmp_path):
    other = tmp_path / "other"
    proved(manager, lake)
    before = ledger(lake).read_bytes()
    run = proved(manager, lake)
    proved(manager, other)
    mqops("ledger", "drain", "-m", "QM1", MQOPS_LAKE=str(other))
    for each in (lake, other):
        assert max(heads(manager, each)) == ledger(each).read_bytes().count(b"\n")
        said = mqops("ledger", "verify", MQOPS_LAKE=str(each)).stdout
        assert said.endswith(" lines, unbroken\n")
        assert said.count("\n") == 1
    rolled_back(lake, run, before)
    assert "its end was cut off" in mqops("ledger", "verify", expect=1).stdout
    assert "unbroken" in mqops("ledger", "verify", MQOPS_LAKE=str(other)).stdout


@pytest.mark.parametrize("key", ["0123456789abcdef", ""])
def test_a_forged_head_is_told_and_not_believed(manager, mqops, lake, key):
    """Signed with a strange key, or with the name of the lake's own."""
    proved(manager, lake)
    file = LedgerFile(lake / "QM1")
    keys = Keys([Key(id=key or file.keys.newest().id, secret=STRANGE_KEY.newest().secret)])
    forged = pack(KeptHead(first=file.first(), head=Head(seq=999, hash="a" * 64), end=9999), keys)
    manager.put(LEDGER, [({"CorrelId": CORREL_ID, "Format": "MQSTR"}, forged)])
    said = mqops("ledger", "verify").stdout
    assert f"unbroken\nQM1: 1 message on {LEDGER} that no key of this lake signed claims to be its head, put by" in said
    mqops("ledger", "drain", "-m", "QM1")
    assert (999 in heads(manager, lake)) == bool(key)  # set aside where its key is known, and it is not signed with it
    set_aside = "did not come from mqops (1 not a marker)" in mqops("ledger", "verify").stdout
    assert set_aside == (not key)
    mqops("ledger", "drain", "-m", "QM1", "--foreign", "*", "--why", "nobody of ours signed them")
    assert heads(manager, lake) == [2]  # the true one stays
    assert "did not come from mqops (1 not a marker)" in mqops("ledger", "verify").stdout


def test_a_head_that_was_taken_off_is_told_until_a_person_says_it_is_well(manager, mqops, lake):
    proved(manager, lake)
    manager.mqsc(f"CLEAR QLOCAL({LEDGER})")
    lost = f"its head is not on {LEDGER} any more"
    assert lost in doctor(mqops)[1]
    assert lost in mqops("ledger", "verify", expect=1).stdout
    proved(manager, lake)
    said = mqops("ledger", "verify", expect=1).stdout
    assert lost in said
    note = LedgerFile(lake / "QM1").head_note
    assert str(note) in said
    note.unlink()
    proved(manager, lake)
    assert "unbroken" in mqops("ledger", "verify").stdout
    assert max(heads(manager, lake)) == ledger(lake).read_bytes().count(b"\n")


def test_without_an_answer_of_the_queue_manager_it_is_not_known(manager, mqops, lake, tmp_path):
    run = acted(manager, lake)
    nowhere = {"MQLITE_HOME": str(tmp_path / "none")}
    manager.mqsc(f"ALTER QLOCAL({LEDGER}) PUT(DISABLED)")
    prove(manager.connection, run)  # a head that is refused does not hold up the record
    assert "not_known" not in mqops("ledger", "verify", **nowhere).stdout
    assert heads(manager, lake) == []
    manager.mqsc(f"ALTER QLOCAL({LEDGER}) PUT(ENABLED)")
    proved(manager, lake)
    found = json.loads(mqops("ledger", "verify", "--json", **nowhere).stdout)["ledgers"][0]
    assert (found["ok"], found["error"]) == (True, "")
    assert f"whether {LEDGER} has the head of a longer ledger is not known: " in found["not_known"]
