"""Closed segments in an archive: compressed, checked, found by every command, and missed as what they are."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mqops.ledger.signing import add_key
from mqops.ledger.writer import writer_of

sys.path.insert(0, str(Path(__file__).parents[2]))
from big_ledger import make_ledger, markers, msg_id, plan

from mqops.cli import main
from mqops.errors import LakeError, LedgerBroken
from mqops.ledger.archive import archive
from mqops.ledger.file import LedgerFile
from mqops.ledger.verified import verified

SIZE = 4000


@pytest.fixture
def file(tmp_path) -> LedgerFile:
    """A ledger of 40 messages, in several closed segments and an open one."""
    made = make_ledger(tmp_path / "lake" / "QM1", 40, unit=2, at_once=3, segment_size=SIZE)
    assert len(made.segments.numbers()[0]) > 3
    return made


def again(file: LedgerFile) -> LedgerFile:
    return LedgerFile(file.folder.parent, str, segment_size=SIZE)


def run(file: LedgerFile, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["ledger", *arguments, "--lake", str(file.folder.parents[1])])


def in_lake(file: LedgerFile) -> list[str]:
    return sorted(path.name for path in file.segments.folder.glob("*.jsonl"))


@pytest.mark.parametrize("elsewhere", [True, False], ids=["moved", "compressed in the lake"])
def test_a_ledger_with_an_archive_is_read_and_verified_as_before(file, tmp_path, elsewhere):
    place = tmp_path / "cold" if elsewhere else file.segments.folder
    closed = file.segments.numbers()[0]
    content = b"".join(again(file).lines())
    done = run(file, "archive", "QM1", *(["--to", str(place)] if elsewhere else []))
    assert done.exit_code == 0, done.output
    assert f"{len(closed) - 1} segments moved to" in " ".join(done.output.split())
    assert in_lake(file) == [file.segments.path(closed[-1]).name]
    packed = sorted(place.glob("*.jsonl.gz"))
    assert len(packed) == len(closed) - 1
    assert b"".join(gzip.decompress(path.read_bytes()) for path in packed) == content[: file.segments.archived().end]
    assert {path.stat().st_mode & 0o777 for path in packed} == {0o600}

    expected = list(markers(40, 2))
    assert b"".join(again(file).lines()) == content
    assert list(again(file).markers()) == expected
    assert list(again(file).markers(plan=plan(0))) == expected[:2]
    assert [one.run for one in again(file).of_messages([msg_id(1)], "acted")] == [plan(0).run]
    assert again(file).recorded([expected[1].unit]) == {expected[1].unit}
    assert verified(again(file), [1, 3]) == verified(again(file), [1, 3], cores=2)
    assert (verified(again(file)).error, verified(again(file)).lines) == ("", len(expected))
    again(file).refuse_broken()
    with writer_of(again(file)) as writer:
        assert writer.add(expected) == 0  # nothing is recorded a second time
        assert writer.first == json.loads(content.partition(b"\n")[0])["hash"]
        assert writer.end == len(content)
    again(file).index.remove()
    assert list(again(file).markers(plan=plan(0))) == expected[:2]
    assert run(file, "show", msg_id(1)).exit_code == 0


def test_an_archive_that_is_not_there_keeps_no_run_from_acting_and_is_named_where_it_is_needed(file, tmp_path):
    place = tmp_path / "cold"
    archive(again(file), place)
    place.rename(tmp_path / "unmounted")
    lines = file.segments.archived().head.seq
    again(file).refuse_broken(head_is_held=True)
    with writer_of(again(file)) as writer:
        assert writer.add(list(markers(44, 2))[40:]) == 4
    assert list(again(file).markers(plan=plan(20))) == list(markers(42, 2))[40:42]
    with pytest.raises(LakeError, match=rf"Lines 1 to {lines} .*mount its folder"):
        list(again(file).markers(plan=plan(0)))
    assert "mount its folder" in verified(again(file)).error
    done = run(file, "verify", "QM1", "--json")
    said = json.loads(done.stdout)["ledgers"][0]
    assert (done.exit_code, said["ok"], said["lines"]) == (0, True, 44)
    assert f"whether lines 1 to {lines} are whole" in said["not_known"]

    other = tmp_path / "other"
    shutil.copytree(tmp_path / "unmounted", other)
    assert run(file, "archive", "QM1", "--to", str(other)).exit_code == 0
    assert list(again(file).markers(plan=plan(0))) == list(markers(2, 2))
    assert verified(again(file)).error == ""


def test_a_reader_that_lists_the_segments_while_they_are_moved_away_misses_none(file, tmp_path, monkeypatch):
    numbers, listed = file.segments.numbers(), os.listdir

    def moved_before(folder: Path) -> list[str]:
        monkeypatch.setattr(os, "listdir", listed)
        archive(again(file), tmp_path / "cold")
        return listed(folder)

    reader = again(file)
    monkeypatch.setattr(os, "listdir", moved_before)
    assert reader.segments.numbers() == numbers
    assert list(reader.markers()) == list(markers(40, 2))


@pytest.mark.parametrize("where", ["changed", "cut", "gone", "no gzip", "a link", "a pipe"])
def test_what_is_changed_in_an_archive_is_noticed(file, tmp_path, where):
    place = tmp_path / "cold"
    archive(again(file), place)
    path = sorted(place.glob("*.jsonl.gz"))[1]
    content = gzip.decompress(path.read_bytes())
    if where == "changed":
        path.write_bytes(gzip.compress(content.replace(b'"FWD"', b'"IGN"', 1)))
    elif where == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif where == "no gzip":
        path.write_bytes(content)
    else:
        path.rename(tmp_path / "it")
        if where == "a link":
            path.symlink_to(tmp_path / "it")
        elif where == "a pipe":
            os.mkfifo(path)
    assert verified(again(file)).error
    assert run(file, "verify", "QM1").exit_code == 1


@pytest.mark.parametrize("how", ["removed", "forged", "further", "an earlier one"])
def test_a_statement_that_mqops_did_not_sign_for_these_segments_hides_nothing(file, tmp_path, how):
    archive(again(file), tmp_path / "cold", before=datetime(2000, 1, 1))
    assert file.segments.archived() is None  # none is that old
    assert archive(again(file), before=datetime(2026, 1, 1, 0, 0, 1), dry_run=True).new == len(in_lake(file)) - 1
    archive(again(file), tmp_path / "cold")
    said = file.segments.statement.read_bytes()
    if how == "removed":
        file.segments.statement.unlink()
    elif how == "forged":
        file.segments.statement.write_bytes(said.replace(b"cold", b"warm"))
    elif how == "further":  # a segment that is in the lake is removed, too
        file.segments.path(file.segments.numbers()[0][-1]).unlink()
    else:
        with writer_of(again(file)) as writer:
            for marker in list(markers(80, 2))[40:]:
                writer.add([marker])
        archive(again(file), tmp_path / "cold")
        file.segments.statement.write_bytes(said)
    with pytest.raises(LedgerBroken):
        again(file).refuse_broken(head_is_held=True)
    assert verified(again(file)).error


def test_a_segment_that_was_changed_is_not_archived(file, tmp_path):
    path = file.segments.path(file.segments.numbers()[0][1])
    path.write_bytes(path.read_bytes().replace(b'"FWD"', b'"IGN"', 1))
    before = in_lake(file)
    with pytest.raises(LedgerBroken, match="Nothing was moved"):
        archive(again(file), tmp_path / "cold")
    assert in_lake(file) == before
    assert file.segments.archived() is None


def test_a_key_that_is_revoked_takes_the_archive_along(file, tmp_path):
    archive(again(file), tmp_path / "cold")
    add_key(again(file), revoke=True)
    assert verified(again(file)).error == ""
    again(file).refuse_broken()
    with writer_of(again(file)) as writer:
        assert writer.add(list(markers(42, 2))) == 2
    assert verified(again(file)).error == ""
    assert list(again(file).markers()) == list(markers(42, 2))


def test_a_process_that_is_killed_while_it_revokes_a_key_leaves_a_ledger_that_is_whole(file, tmp_path):
    archive(again(file), tmp_path / "cold")
    for step in range(100):
        ended = killed(lambda: add_key(again(file), revoke=True), step)
        assert ended in {0, -signal.SIGKILL}
        again(file).refuse_broken()
        assert verified(again(file)).error == ""
        assert list(again(file).markers(plan=plan(0))) == list(markers(2, 2))
        if ended == 0:
            break
    assert step >= 2  # the key file, and the note of the newest key
    with writer_of(again(file)) as writer:
        assert writer.add(list(markers(42, 2))) == 2


def test_a_dry_run_writes_nothing(file, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in file.folder.rglob("*")}
    done = run(file, "archive", "QM1", "--to", str(tmp_path / "cold"), "--dry-run", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["dry_run"], said["ledgers"][0]["new"]) == (0, True, len(in_lake(file)) - 1)
    assert not (tmp_path / "cold").exists()
    assert {path: path.stat().st_mtime_ns for path in file.folder.rglob("*") if path.name != "ledger.lock"} == {
        path: when for path, when in before.items() if path.name != "ledger.lock"
    }


def killed(work: Callable[[], object], step: int) -> int:
    """How work ends that is killed when so many names were given or removed."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def count(event: str, _arguments: object) -> None:
        nonlocal left
        if event in {"os.rename", "os.remove"}:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def test_a_process_that_is_killed_at_any_step_has_lost_nothing(file, tmp_path):
    content = b"".join(again(file).lines())
    for step in range(100):
        ended = killed(lambda: archive(again(file), tmp_path / "cold"), step)
        assert ended in {0, -signal.SIGKILL}
        assert b"".join(again(file).lines()) == content
        assert verified(again(file)).error == ""
        again(file).refuse_broken()
        if ended == 0:
            assert again(file).segments.archived()
            break
    assert step > 5
    assert list(again(file).markers()) == list(markers(40, 2))
    assert len(in_lake(file)) == 1
