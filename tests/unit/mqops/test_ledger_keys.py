"""The process that proves a run has another key than the one that acted: it stops, and nothing balances over it."""

from __future__ import annotations

import json

import pytest
from act_support import after_commits, planned, proved
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter

from mqops.errors import SettingsError, Stopped
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.file import LedgerFile
from mqops.ledger.set_aside import counts
from mqops.ledger.signing import add_key, make_key
from mqops.ledger.writer import head_on_disk
from mqops.mq.connection import connect
from mqops.prove.recovery import drain_earlier_runs

LEDGER = "MQOPS.LEDGER"
KEYS = "MQOPS_LEDGER_KEYS"


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A) MAXDEPTH(99999)\n")


def run_of(manager, lake, number: int) -> RunFolder:
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(number)])
    return planned(manager, lake)[0]


def test_law5_a_proof_that_looks_for_the_key_in_another_place_stops(manager, lake, tmp_path, monkeypatch):
    """The job had no MQOPS_LEDGER_KEYS, the task has: the markers are of this run, not forged."""
    run = run_of(manager, lake, 3)
    act(manager.connection, run)
    monkeypatch.setenv(KEYS, str(tmp_path / "apart"))
    path = tmp_path / "apart" / "QM1.json"
    with pytest.raises(SettingsError, match=rf"the key file {path} is gone; it was in .*keys\.json: put it back"):
        prove(manager.connection, run)
    assert not path.exists()
    assert not run.path.joinpath("summary.json").exists()
    assert manager.depth(LEDGER) == 2
    monkeypatch.delenv(KEYS)
    assert proved(manager, run) == {"planned": 3, "moved": 3}


def test_law1_nothing_is_moved_with_a_second_key(manager, lake, tmp_path, monkeypatch):
    monkeypatch.setenv(KEYS, str(tmp_path / "apart"))
    first = run_of(manager, lake, 1)
    act(manager.connection, first)
    prove(manager.connection, first)
    monkeypatch.delenv(KEYS)
    run = run_of(manager, lake, 3)
    own = lake / "QM1" / "ledger" / "keys.json"
    for with_note in (True, False):  # an earlier version did not write the note; then the ledger tells
        with pytest.raises(SettingsError, match=f"the key file {own} is gone.*`mqops ledger rekey"):
            act(manager.connection, run)
        assert not own.exists()
        if with_note:
            (lake / "QM1" / "ledger" / "signed_by.json").unlink()
    assert manager.depth(DLQ) == 3
    assert manager.depth("A") == 1


def test_a_key_that_was_read_verifies_on_and_another_key_file_in_its_place_is_refused(tmp_path):
    mine, other = (LedgerFile(tmp_path / name / "QM1", str) for name in ("mine", "other"))
    for ledger in (mine, other):
        make_key(ledger)
    key = mine.keys.newest()
    mine.keys.path.unlink()
    assert mine.keys.find(key.id) == key
    other.keys.path.rename(mine.keys.path)
    for _again in range(2):
        with pytest.raises(SettingsError, match=f"signed with key {key.id}, and the key file .* does not have it: put"):
            mine.keys.newest()


def test_a_key_file_that_others_may_read_by_now_is_refused_though_its_key_was_read(tmp_path):
    ledger = LedgerFile(tmp_path / "QM1", str)
    make_key(ledger)
    ledger.keys.newest()
    ledger.keys.path.chmod(0o644)
    with pytest.raises(SettingsError, match=r"Others may read or write the key file .*: chmod 600"):
        head_on_disk(ledger)


def test_nothing_is_signed_where_the_last_key_is_revoked(tmp_path):
    ledger = LedgerFile(tmp_path / "QM1", str)
    make_key(ledger)
    file = read_json(ledger.keys.path)
    revoked = file | {"keys": [file["keys"][0] | {"revoked": True}]}
    ledger.keys.path.write_text(json.dumps(revoked))
    with pytest.raises(SettingsError, match=r"There is no key to sign with in .*`mqops ledger rekey` makes a new key"):
        ledger.keys.newest()


@pytest.mark.parametrize("step", [act, prove])
def test_a_key_file_without_the_key_that_began_the_run_is_refused(manager, lake, tmp_path, monkeypatch, step):
    """Both files are there, and the note is that of the wrong one: the run says which key began it."""
    run = run_of(manager, lake, 3)
    halted(manager, run)
    monkeypatch.setenv(KEYS, str(tmp_path / "apart"))
    note = lake / "QM1" / "ledger" / "signed_by.json"
    note.unlink()
    other = LedgerFile(tmp_path / "other" / "QM1", str)
    make_key(other)
    key = read_json(run.issued_json)["key"]
    with pytest.raises(SettingsError, match=f"is signed with key {key}, and the key file .*QM1.json does not have it"):
        step(manager.connection, run)
    assert manager.depth(LEDGER) == 3


def test_a_run_that_the_ledger_has_to_its_end_is_proved_without_the_key_that_began_it(manager, lake):
    run = run_of(manager, lake, 3)
    act(manager.connection, run)
    prove(manager.connection, run)
    ledger = LedgerFile(run.lake_folder, str)
    ledger.keys.path.unlink()
    assert add_key(ledger) != read_json(run.issued_json)["key"]
    assert proved(manager, run) == {"planned": 3, "moved": 3}


def halted(manager: Manager, run: RunFolder) -> None:
    """Acts on a run until its first unit of work is committed."""
    halt = after_commits(lambda number: stop(run.path, Stop(by="carol", at="now")) if number == 1 else None)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=1, port=halt)
    lift(run.path)


@pytest.mark.parametrize("true", [True, False])
def test_markers_of_a_run_in_work_signed_by_an_unknown_key_stay_and_stop_the_proof(
    manager, lake, tmp_path, mqops, true
):
    """Nothing but the markers tells of the key: no note, and a run that does not say it."""
    run = run_of(manager, lake, 3)
    halted(manager, run)
    ledger = lake / "QM1" / "ledger"
    (ledger / "keys.json").rename(tmp_path / "keys.json")
    (ledger / "signed_by.json").unlink()
    issued = read_json(run.issued_json)
    del issued["key"]
    write_json(run.issued_json, issued)
    wrong = LedgerFile(tmp_path / "other" / "QM1", str)
    make_key(wrong)
    wrong.keys.path.rename(ledger / "keys.json")
    expected = f"2 markers of run {run.run} on {LEDGER} are signed with a key that this lake does not have"
    with pytest.raises(SettingsError, match=expected) as refused:
        prove(manager.connection, run)
    assert "--foreign" not in str(refused.value)  # nothing proposes to take off what no key of ours verifies
    with connect(manager.connection) as session:
        assert any(line.startswith(expected) for line in drain_earlier_runs(session, lake, "QM1").remarks())
    assert manager.depth(LEDGER) == 3
    assert not counts(lake / "QM1")
    if not true:
        mqops("ledger", "drain", "-m", "QM1", "--foreign", run.run, "--why", "forged", "--lake", str(lake))
        assert counts(lake / "QM1") == {"forged": 3}
        assert manager.depth(LEDGER) == 0
        return
    (ledger / "signed_by.json").unlink()
    (tmp_path / "keys.json").rename(ledger / "keys.json")
    assert proved(manager, run) == {"planned": 3, "moved": 1, "left": 2}
