"""Closed segments, their checkpoints and their index: what a person without the key does to them is noticed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.ledger.signing import add_key
from mqops.ledger.writer import head_on_disk, writer_of

sys.path.insert(0, str(Path(__file__).parents[2]))
from big_ledger import make_ledger, markers, msg_id, plan

from mqops.cli import main
from mqops.errors import LedgerBroken
from mqops.ledger import index, index_tables
from mqops.ledger.core import checkpoint
from mqops.ledger.core.chain import Proof, write_line
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.seal import Key, Keys
from mqops.ledger.file import LedgerFile
from mqops.ledger.index import LedgerIndex
from mqops.ledger.parts import Kept
from mqops.ledger.segments import Segments
from mqops.ledger.verified import verified

STRANGE_KEY = Keys([Key(id="0123456789abcdef", secret=b"the attacker's own key")])
SIZE = 4000


@pytest.fixture
def file(tmp_path) -> LedgerFile:
    """A ledger of 40 messages, in several closed segments and an open one; its lines are of the runs `plan(0)` on."""
    made = make_ledger(tmp_path / "QM1", 40, unit=2, at_once=3, segment_size=SIZE)
    assert len(made.segments.numbers()[0]) > 3
    assert made.path.stat().st_size
    return made


def again(file: LedgerFile) -> LedgerFile:
    return LedgerFile(file.folder.parent, str, segment_size=SIZE)


def told(file: LedgerFile) -> str:
    """What `mqops ledger verify` says is wrong."""
    return verified(again(file)).error


def refused(file: LedgerFile) -> str:
    """What the check before act says is wrong, where the head on the ledger queue is held."""
    try:
        again(file).refuse_broken(head_is_held=True)
    except LedgerBroken as error:
        return str(error)
    return ""


def segment(file: LedgerFile, number: int) -> Path:
    return file.segments.path(file.segments.numbers()[0][number])


def stated(file: LedgerFile, number: int) -> Path:
    return file.segments.checkpoint_path(file.segments.numbers()[1][number])


def test_a_ledger_in_segments_is_unbroken_and_reads_as_one(file):
    expected = list(markers(40, 2))
    assert (told(file), refused(file)) == ("", "")
    assert list(again(file).markers()) == expected
    assert [entry["seq"] for entry in again(file).entries()] == list(range(1, len(expected) + 1))
    assert list(again(file).markers(plan=plan(3))) == expected[6:8]
    with writer_of(again(file)) as writer:
        assert writer.add(expected) == 0
        assert writer.end == sum(path.stat().st_size for path in file.folder.rglob("*.jsonl"))
        assert writer.first == again(file).first()


def test_the_bytes_that_a_head_names_are_found_in_their_segment(file):
    reached = 0
    for line in again(file).lines():
        reached += len(line)
        entry = json.loads(line)
        head = replace(head_on_disk(again(file)), seq=entry["seq"], hash=entry["hash"])
        assert again(file).holds(head, reached)
        assert not again(file).holds(head, reached + 1)
        assert not again(file).holds(replace(head, hash="0" * 64), reached)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_line_that_was_changed_in_a_closed_segment_is_told_and_its_answer_is_refused(file, number):
    path = segment(file, number)
    content = path.read_bytes()
    at = content.rindex(b'"FWD"')
    unit = json.loads(content[content.rindex(b"\n", 0, at) + 1 : content.index(b"\n", at)])
    path.write_bytes(content[:at] + b'"IGN"' + content[at + 5 :])
    assert f"Line {unit['seq']} of the ledger is damaged" in told(file)
    with pytest.raises(LedgerBroken, match=f"Line {unit['seq']} of the ledger is damaged"):
        list(again(file).about(f'"{unit["rows"][0][2]}'))
    with pytest.raises(LedgerBroken, match=f"Line {unit['seq']} of the ledger is damaged"):
        list(again(file).of_messages([unit["rows"][0][2]], "acted"))


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_segment_that_is_missing_is_named_before_act_and_by_verify(file, number):
    path = segment(file, number)
    path.rename(file.folder / "elsewhere")
    line = int(path.stem)
    for said in (told(file), refused(file)):
        assert f"The segment of the ledger that begins with line {line} is missing: put {path} back from" in said
    with pytest.raises(LedgerBroken, match="is missing"):
        list(again(file).markers())
    (file.folder / "elsewhere").rename(path)
    assert (told(file), refused(file)) == ("", "")


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_segment_that_was_removed_with_its_checkpoint_is_missed(file, number):
    segment(file, number).unlink()
    stated(file, number).unlink()
    assert told(file)
    assert refused(file)


def test_a_segment_that_was_cut_back_or_grew_is_missed(file):
    path = segment(file, 1)
    content = path.read_bytes()
    for other in (content[: content.rindex(b"\n", 0, -1) + 1], content + content.splitlines(keepends=True)[-1]):
        path.write_bytes(other)
        assert told(file)
        assert "have not the bytes that the checkpoint" in refused(file)


def test_segments_that_were_exchanged_are_told(file):
    one, other = segment(file, 0), segment(file, 1)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert "does not follow the one before" in told(file)


def test_a_checkpoint_of_another_key_is_told_and_covers_nothing(file):
    number = file.segments.numbers()[1][-1]
    made = file.segments.checkpoint(number)
    stated(file, -1).write_bytes(checkpoint.pack(made, STRANGE_KEY) + b"\n")
    assert "was not written by a holder of the ledger's key" in told(file)
    assert refused(file) == ""
    path = segment(file, -1)
    path.write_bytes(path.read_bytes().replace(b'"FWD"', b'"IGN"', 1))
    assert "is damaged or has been changed" in refused(file)  # its lines are verified as if it was not there


def test_a_checkpoint_that_was_exchanged_for_another_genuine_one_covers_nothing(file):
    stated(file, -1).write_bytes(stated(file, -2).read_bytes())
    assert again(file).segments.last_checkpoint().number == file.segments.numbers()[1][-2]
    assert "is not the one that was written for it" in told(file)
    path = segment(file, -1)
    path.write_bytes(path.read_bytes().replace(b'"FWD"', b'"IGN"', 1))
    assert "is damaged or has been changed" in refused(file)


def test_a_chain_written_anew_without_the_key_behind_the_checkpoints_is_refused(file):
    *before, last = again(file).markers()
    head = file.segments.last_checkpoint().head
    line, _head = write_line(head, last, "now", STRANGE_KEY)
    file.path.write_bytes(line)
    assert before
    assert "was not written by a holder of its key" in refused(file)
    assert "was not written by a holder of its key" in told(file)


def test_all_that_stands_behind_an_earlier_checkpoint_was_cut_off_with_it(file):
    """What remains is a whole ledger: the proofs of the runs, or the head on the ledger queue, miss the lines."""
    head = head_on_disk(again(file))
    run = file.folder.parent / "runs" / "proved"
    run.mkdir(parents=True)
    (run / "summary.json").write_text(json.dumps({"run": "proved", "ledger_seq": head.seq, "ledger_head": head.hash}))
    for number in file.segments.numbers()[0][2:]:
        file.segments.path(number).unlink()
        file.segments.checkpoint_path(number).unlink()
    file.path.unlink()
    assert f"the summary of run proved names line {head.seq}: its end was cut off" in told(file)
    with pytest.raises(LedgerBroken, match="its end was cut off"):
        again(file).refuse_broken()  # the head on the ledger queue is not held
    assert not again(file).holds(head, 10**6)


def test_only_the_proofs_since_the_last_checkpoint_are_read_before_act(file):
    head = head_on_disk(again(file))
    again(file).note_proof(Proof(run="noted", head=head))
    assert refused(file) == ""
    run = file.folder.parent / "runs" / "unread"
    run.mkdir(parents=True)
    (run / "summary.json").write_text("not read")
    assert refused(file) == ""
    file.path.write_bytes(b"")
    assert "the summary of run noted names line" in refused(file)
    (file.folder / "proved.jsonl").unlink()  # then all runs are asked
    with pytest.raises(Exception, match="not JSON"):
        again(file).refuse_broken(head_is_held=True)


def test_a_proof_that_the_lines_do_not_hold_keeps_their_segment_open(tmp_path):
    file = LedgerFile(tmp_path / "QM1", str, segment_size=SIZE)
    lines = list(markers(40, 2))
    with writer_of(file) as writer:
        writer.add(lines[:2])
        head = writer.head
    file.note_proof(Proof(run="other", head=replace(head, hash="ab" * 32)))
    with writer_of(file) as writer:
        for one in lines:
            writer.add([one])
    assert file.segments.numbers() == ([], [])
    assert "the summary of run other names" in refused(file)


def test_an_index_that_another_program_wrote_to_is_not_believed(file):
    """Whoever hides that a run was begun, or invents that a unit of work is recorded, changes the file."""
    hidden = plan(1)
    times = file.index.path.stat()
    with sqlite3.connect(file.index.path) as connection:
        connection.execute("DELETE FROM line WHERE plan IN (SELECT id FROM plan WHERE digest = ?)", (hidden.digest,))
        connection.execute("UPDATE line SET unit = ? WHERE seq = 1", (bytes.fromhex(hidden.issued_id().hex()),))
    connection.close()
    os.utime(file.index.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.index.up_to() is None
    assert len(list(again(file).markers(plan=hidden))) == 2
    assert again(file).index.up_to() is not None  # it was made anew


def test_an_index_with_its_note_of_an_earlier_time_is_made_anew(file, tmp_path):
    early = make_ledger(tmp_path / "early" / "QM1", 4, unit=2, segment_size=SIZE)
    for name in ("index.sqlite", "index.json"):
        source = early.folder / name
        if source.exists():
            shutil.copy2(source, file.folder / name)
        else:
            (file.folder / name).unlink()
    assert [one.unit for one in again(file).markers(plan=plan(5))] == [one.unit for one in list(markers(40, 2))[10:12]]


@pytest.mark.parametrize("closings", [1, 3])
def test_what_is_closed_while_it_is_read_is_read_once(file, monkeypatch, closings):
    before = list(markers(40, 2))
    reader = again(file)
    numbers = reader.segments.numbers
    more = iter(list(markers(80, 2))[40:])

    def closed_meanwhile() -> tuple[list[int], list[int]]:
        """The reader has the open segment open, and lists the closed ones when others have added to it."""
        monkeypatch.undo()
        many = len(numbers()[0]) + closings
        while len(numbers()[0]) < many:
            with writer_of(again(file)) as writer:
                writer.add([next(more)])
        return numbers()

    monkeypatch.setattr(reader.segments, "numbers", closed_meanwhile)
    found = list(reader.markers())
    assert found[: len(before)] == before
    assert [one.unit for one in found] == [one.unit for one in list(markers(80, 2))[: len(found)]]


def test_a_line_that_the_index_leads_to_wrongly_is_no_record(file):
    """Even an index that is believed cannot say that a unit of work is recorded: its line says it."""
    new = replace(list(markers(42, 2))[-1], unit="ff" * 24)
    with sqlite3.connect(file.index.path) as connection:
        connection.execute("UPDATE line SET unit = ? WHERE seq = 1", (bytes.fromhex(new.unit),))
    connection.close()
    with again(file).lock():
        file.index.write_note(file.segments.last_checkpoint())
    with writer_of(again(file)) as writer:
        assert writer.add([new]) == 1


def test_a_ledger_of_one_file_becomes_the_first_segment_as_it_is(tmp_path):
    old = make_ledger(tmp_path / "QM1", 40, unit=2, segment_size=10**9)
    content = old.path.read_bytes()
    with writer_of(again(old)) as writer:
        assert writer.add(list(markers(44, 2))) == 4
    assert segment(old, 0).read_bytes() == content
    assert segment(old, 0).name == "000000000000000001.jsonl"
    assert list(again(old).markers()) == list(markers(44, 2))
    assert (told(old), refused(old)) == ("", "")


def test_what_a_key_signed_that_is_lost_is_checked_by_its_hashes_and_stated_anew(file):
    file.keys.path.unlink()
    add_key(again(file))
    assert again(file).segments.last_checkpoint() is None
    assert (told(file), refused(file)) == ("", "")
    with writer_of(again(file)) as writer:
        assert writer.add(list(markers(42, 2))) == 2
    assert again(file).segments.last_checkpoint().number == file.segments.numbers()[0][-1]
    assert (told(file), refused(file)) == ("", "")


def test_the_file_of_a_line_is_known_where_the_last_closed_segment_has_no_checkpoint(file):
    stated(file, -1).unlink()
    last = json.loads(b"".join(file.segments.lines(file.segments.numbers()[0][-1])).splitlines()[-1])["seq"]
    assert file.segments.file_of(last) == segment(file, -1)
    assert file.segments.file_of(last + 1) == file.path


def test_a_closed_segment_is_not_read_again_while_its_file_is_the_same(file, monkeypatch):
    kept = Kept(wanted=lambda runs: runs, as_of=None)
    assert verified(again(file), kept=kept).error == ""
    read: list[int] = []
    lines = Segments.lines
    monkeypatch.setattr(Segments, "lines", lambda self, number: read.append(number) or lines(self, number))
    assert verified(again(file), kept=kept).error == ""
    assert read == []
    path = segment(file, 1)
    path.write_bytes(path.read_bytes().replace(b'"FWD"', b'"IGN"', 1))
    assert "is damaged" in verified(again(file), kept=kept).error


def test_segments_are_checked_by_several_processes(file, monkeypatch):
    monkeypatch.setattr("mqops.ledger.parts.WORTH", 0)
    assert verified(again(file), cores=2).error == ""
    path = segment(file, 1)
    path.write_bytes(path.read_bytes().replace(b'"FWD"', b'"IGN"', 1))
    found = verified(again(file), cores=2)
    assert "is damaged" in found.error
    assert found.lines == int(path.stem)  # the "issued" line before it


def test_the_reason_of_what_became_of_a_message_is_found_in_an_earlier_segment(file):
    issued, acted = list(markers(40, 2))[2:4]
    late = replace(acted, unit="ee" * 24, rows=(acted.rows[0]._replace(msg_id="ab" * 24),))
    with writer_of(again(file)) as writer:
        writer.add([late])
    found = [Marker.from_json(entry) for entry in again(file).about('"' + "ab" * 24)]
    of_its_run = [one for one in found if one.run == late.run]
    assert (of_its_run[0], of_its_run[-1]) == (issued, late)


def dated(lake_folder: Path, days: int) -> LedgerFile:
    """A ledger with two messages a day, the first on 1 January, in many segments. `plan(0)` acted once more at the end,
    and who finished it stands in between."""
    lines = [
        replace(one, at=f"2026-01-{number // 2 + 1:02}T12:00:00+00:00")
        for number, one in enumerate(markers(2 * days, 2))
    ]
    issued, acted = lines[:2]
    by_another = {"unit": "dd" * 24, "kind": "resumed", "lanes": (), "about": {"finished_by": "day@ops"}}
    lines.insert(days, replace(issued, at=lines[days].at, **by_another))
    lines.append(replace(acted, at=lines[-1].at, unit="ee" * 24))
    file = LedgerFile(lake_folder, lambda: "2026-02-01T00:00:00+00:00", segment_size=SIZE)
    with writer_of(file) as writer:
        for one in lines:
            writer.add([one])
    assert len(file.segments.numbers()[0]) > 8
    return file


@pytest.fixture
def lines_read(monkeypatch) -> list[bytes]:
    """The lines of closed segments that are read, one after another or by their place."""
    read: list[bytes] = []
    lines, check = Segments.lines, index.check_line

    def all_of(self, number):
        for line in lines(self, number):
            read.append(line)
            yield line

    monkeypatch.setattr(Segments, "lines", all_of)
    monkeypatch.setattr(index, "check_line", lambda number, line, seal: read.append(line) or check(number, line, seal))
    return read


def exported(file: LedgerFile, *options: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(main, ["ledger", "export", *options, "--lake", str(file.folder.parents[1])])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.output.splitlines()]


@pytest.mark.parametrize("index_is", ["there", "of an earlier version", "not to be had"])
@pytest.mark.parametrize(
    ("since", "run"),
    [("2026-01-28", ""), ("", "old-0000003"), ("2026-01-28", "old-0000000"), ("2027-01-01", ""), ("", "\udcff")],
    ids=["since", "run", "both", "later", "no run's name"],
)
def test_an_export_reads_only_the_segments_of_its_time_and_runs(  # noqa: PLR0917
    tmp_path, monkeypatch, lines_read, since, run, index_is
):
    file = dated(tmp_path / "QM1", 30)
    expected = [event for event in exported(file) if event["at"] >= since and event["run"].startswith(run)]
    options = [*(["--since", since] if since else []), *(["--run", run] if run else [])]
    if index_is == "of an earlier version":
        monkeypatch.setattr(index_tables, "VERSION", index_tables.VERSION + 1)
        exported(file, *options)
    elif index_is == "not to be had":
        monkeypatch.setattr(LedgerIndex, "_open", lambda _self: None)
    lines_read.clear()
    assert exported(file, *options) == expected
    closed = sum(len(file.segments.path(number).read_bytes().splitlines()) for number in file.segments.numbers()[0])
    if index_is == "not to be had" or not run.isascii():
        assert len(lines_read) >= closed
    else:
        assert len(lines_read) < closed / 3
        assert {event["finished_by"] for event in expected if event["run"] == "old-0000000"} <= {"day@ops"}


def test_an_export_of_a_time_tells_a_change_in_what_it_reads(tmp_path):
    file = dated(tmp_path / "QM1", 30)
    path = segment(file, -1)
    content = path.read_bytes()
    day = json.loads(content.splitlines()[-1])["at"][:10]
    for other, told_of in (
        (content.replace(b'"FWD"', b'"IGN"', 1), "is damaged or has been changed"),
        (b"".join(content.splitlines(keepends=True)[1:]), "does not follow the one before"),
        (None, "is missing"),
    ):
        path.unlink() if other is None else path.write_bytes(other)
        done = CliRunner().invoke(main, ["ledger", "export", "--since", day, "--lake", str(tmp_path)])
        assert (done.exit_code, told_of in done.output) == (1, True)


def test_a_segment_with_a_time_that_is_none_is_read_whatever_time_is_asked_for(file):
    with sqlite3.connect(":memory:") as connection:
        index_tables.make_tables(connection)
        index_tables.stage(connection)
        made = file.segments.checkpoint(1)
        index_tables.enter_segment(connection, [b'{"at":"soon"}', b'{"at":"2026-01-01T00:00:00+00:00"}'], made)
        assert connection.execute(index_tables.SEGMENTS_SINCE, ("2030",)).fetchall() == [(1,)]


def test_the_command_makes_the_index_anew(file):
    file.index.path.write_bytes(b"nonsense")
    lake = str(file.folder.parents[1])
    lines = file.segments.last_checkpoint().head.seq
    done = CliRunner().invoke(main, ["ledger", "index", "QM1", "--lake", lake])
    assert (done.exit_code, done.output) == (0, f"QM1: {lines} lines of closed segments in the index\n")
    assert file.index.up_to().seq == lines
    assert CliRunner().invoke(main, ["ledger", "index", "QM9", "--lake", lake]).exit_code != 0


def test_the_beginning_of_too_many_msgids_is_refused_with_what_to_do(tmp_path):
    """MsgIds of one queue manager begin the same: the account of all its messages would grow with the ledger."""
    made = make_ledger(tmp_path / "QM1", 1400, at_once=2, segment_size=SIZE)
    shown = CliRunner().invoke(main, ["ledger", "show", msg_id(7)[:31], "--lake", str(tmp_path)])
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "QM1: More than 1,000 MsgIds in the ledger begin with 414d51" in shown.stderr
    assert "give more digits" in shown.stderr
    few = msg_id(7)[:-2]  # 256 of them
    assert len({row[2] for entry in again(made).about(f'"{few}') for row in entry.get("rows", ())}) >= 256
