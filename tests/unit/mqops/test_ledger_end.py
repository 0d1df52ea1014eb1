"""`mqops ledger verify` misses lines at the end, too: each proof of a run keeps the head of the chain (law 5)."""

from __future__ import annotations

import json
import shutil

import pytest
from act_support import planned
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter

from mqops.ledger.core.chain import Head, write_line
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile

TABLE = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def runs(manager, mqops):
    """Two runs, the second of which discards, their summaries."""
    summaries = []
    for queue in ("A", "B"):
        manager.put(DLQ, [dead_letter(queue, b"x")])
        summaries.append(json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--json", text=TABLE).stdout))
    return summaries


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lake" / "QM1" / "ledger" / "ledger.jsonl"


def test_a_run_keeps_the_head_it_was_proved_with(runs, mqops, path, tmp_path):
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for summary in runs:
        assert summary["ledger_head"] == lines[summary["ledger_seq"] - 1]["hash"]
        kept = json.loads((tmp_path / "lake/QM1/runs" / summary["run"] / "summary.json").read_text())
        assert kept == {"format": 1} | summary
    assert mqops("ledger", "verify").stdout == f"QM1: {len(lines)} lines, unbroken\n"


def test_a_tail_that_was_cut_off_is_missed(runs, mqops, path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert mqops("ledger", "verify", expect=1).stdout == (
        f"QM1: {len(lines) - 1} lines, The ledger ends with line {len(lines) - 1}, and the summary of run "
        f"{runs[0]['run']} names line {len(lines)}: its end was cut off; restore it from a copy, and keep this one for "
        "the inquiry\n"  # the last line says what was seen of the first run's message
    )
    path.write_bytes(b"".join(lines[:-2]))
    assert f"run {runs[1]['run']} names line {len(lines) - 1}" in mqops("ledger", "verify", expect=1).stdout
    assert not json.loads(mqops("ledger", "verify", "--json", expect=1).stdout)["ok"]


@pytest.mark.parametrize("lines", [0, None])
def test_a_ledger_that_was_emptied_or_removed_is_missed(runs, mqops, path, lines):
    path.write_bytes(b"") if lines == 0 else shutil.rmtree(path.parent)
    said = mqops("ledger", "verify", expect=1).stdout
    assert (runs[0]["run"] in said) if lines == 0 else (f"there is no ledger {path}" in said)


def test_a_chain_written_anew_by_a_holder_of_the_key_does_not_hold_the_proofs(runs, mqops, path):
    keys = LedgerFile(path.parent.parent, str).keys
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    head, anew = Head(), []
    for entry in entries:
        at = "1999-01-01" if entry["seq"] == 2 else entry["recorded_at"]
        line, head = write_line(head, Marker.from_json(entry), at, keys)
        anew.append(line)
    path.write_bytes(b"".join(anew))
    assert len(list(LedgerFile(path.parent.parent, str).entries())) == len(entries)  # the chain itself is whole
    first = runs[0]["ledger_seq"]
    assert mqops("ledger", "verify", expect=1).stdout.startswith(
        f"QM1: {first} lines, Line {first} of the ledger is not the one that the summary of run {runs[0]['run']} names"
    )


def test_deleted_runs_and_those_of_earlier_versions_say_nothing(runs, mqops, path, tmp_path):
    lines = path.read_bytes().splitlines(keepends=True)
    folders = [tmp_path / "lake/QM1/runs" / summary["run"] for summary in runs]
    shutil.rmtree(folders[1])
    assert mqops("ledger", "verify").stdout == f"QM1: {len(lines)} lines, unbroken\n"
    for name in ("summary.json", "outcomes.json"):
        old = json.loads((folders[0] / name).read_text())
        (folders[0] / name).write_text(json.dumps({key: old[key] for key in old if not key.startswith("ledger_")}))
    path.write_bytes(b"".join(lines[:-1]))
    assert mqops("ledger", "verify").stdout == f"QM1: {len(lines) - 1} lines, unbroken\n"


def test_a_run_that_was_proved_before_the_ledger_had_a_line_says_nothing(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, tmp_path / "lake")
    assert prove(manager.connection, run).ledger_seq == 0
    assert mqops("ledger", "verify").stdout == "QM1: 0 lines, unbroken\n"


def test_help_says_what_is_not_proved(mqops):
    said = " ".join(mqops("ledger", "verify", "--help").stdout.split())
    assert "a person who can write to the lake can cut off the lines after the last proof" in said
    assert "a holder of the key can sign anything" in said


def test_the_summary_of_a_run_says_what_the_queue_was_made_of(manager, mqops, runs):
    application = runs[0]["anatomy"][0]["top"][0]["application"]
    assert [one["anatomy"][0]["messages"] for one in runs] == [1, 1]
    manager.put(DLQ, [dead_letter("A", b"x")] * 2)
    said = mqops("dlq", "run", "--once", DLQ, "QM1", text=TABLE).stdout
    assert (
        f"{DLQ} was made of 2 messages, +1 since run {runs[1]['run']}\n"
        f"       2  MQRC_Q_FULL  A@QM1  {application}, +2\n"
    ) in said


def test_a_run_that_was_cut_off_with_its_proofs_is_missed_by_what_it_noted(runs, mqops, path, tmp_path):
    """The attacker cuts off a run's lines, and removes all proofs; issued.json and act.json of the run stay."""
    lines = path.read_bytes().splitlines(keepends=True)
    for name in ("summary.json", "outcomes.json"):
        for proof in (tmp_path / "lake/QM1/runs").glob(f"*/{name}"):
            proof.unlink()
    kinds = [(json.loads(line)["kind"], json.loads(line)["run"]) for line in lines]
    second = runs[1]["run"]
    begun, acted = kinds.index(("issued", second)), kinds.index(("acted", second))
    path.write_bytes(b"".join(lines[:acted]))
    said = mqops("ledger", "verify", expect=1).stdout
    assert (
        f"Neither the ledger nor MQOPS.LEDGER has what the runs noted: run {second} moved 1 message (act.json)" in said
    )
    path.write_bytes(b"".join(lines[:begun]))
    assert (
        f"has what the runs noted: run {second} was begun (issued.json)" in mqops("ledger", "verify", expect=1).stdout
    )
    result = json.loads(mqops("ledger", "verify", "--json", MQLITE_HOME=str(tmp_path / "none")).stdout)["ledgers"][0]
    assert (result["ok"], result["error"]) == (True, "")
    assert f"run {second} was begun (issued.json), and the ledger does not have it" in result["not_known"]


def test_a_run_that_was_killed_before_its_proof_is_no_alarm(manager, runs, mqops, tmp_path):
    """Its markers are on MQOPS.LEDGER, and the ledger has nothing of it; when they are recorded the ledger has all."""
    manager.put(DLQ, [dead_letter("A", b"y")])
    run, _plan = planned(manager, tmp_path / "lake", TABLE)
    before = mqops("ledger", "verify").stdout
    assert act(manager.connection, run).moved == 1
    assert mqops("ledger", "verify").stdout == before
    prove(manager.connection, run)
    assert "unbroken" in mqops("ledger", "verify").stdout
    assert manager.depth("MQOPS.LEDGER") == 0
