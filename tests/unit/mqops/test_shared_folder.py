"""What a neighbour can do in a folder that he shares with an export or with Spark: nothing to another user's files."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mq_support import Manager, reveal_estate

from mqops.errors import LakeError
from mqops.lake.files import write_bytes
from mqops.message_file.new_file import new_file, new_folder
from mqops.spark_private import scratch

NEIGHBOUR = 65534
LEFT = ".a.msg.0123456789abcdef"
STICKY, OPEN_TO_ALL = 0o1777, 0o777

SWAPS = """
import os, sys
name, target = sys.argv[1:3]
if os.geteuid() == 0:
    os.setuid(65534)
print(flush=True)
while True:
    for make in (lambda: open("mine", "x").close(), lambda: os.symlink(target, "mine"), lambda: os.mkdir("mine")):
        make()
        try:
            os.rename("mine", name)
        except OSError:
            os.rmdir("mine") if os.path.isdir("mine") and not os.path.islink("mine") else os.unlink("mine")
        else:
            try:
                os.rename(name, "old") if os.path.isdir(name) and not os.path.islink(name) else None
            except FileNotFoundError:
                pass  # where the tests are not root's, it is the victim's own, who has removed it meanwhile
            os.path.isdir("old") and os.rmdir("old")
"""


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of the victim with files in it."""
    folder = tmp_path / "precious"
    (folder / "files").mkdir(parents=True, mode=0o700)
    for name in ("part-00000.parquet", "lock", "files/secret"):
        (folder / name).write_text("the only copy")
    return folder


def shared(tmp_path: Path, mode: int) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    return folder


def assert_untouched(precious: Path) -> None:
    for name in ("part-00000.parquet", "lock", "files/secret"):
        assert (precious / name).read_text() == "the only copy"


def of_a_neighbour(path: Path) -> None:
    """What another user can change; where this may be done, it is another user's."""
    path.chmod(0o777)
    if os.geteuid() == 0:
        path.chmod(0o1755)
        os.chown(path, NEIGHBOUR, NEIGHBOUR)


def swapped_when_looked_at(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch, *, look: int = 1) -> list[int]:
    """Put a link to `target` in the place of `path` when its descriptor was looked at so often; gives the looks."""
    planted, done = path.stat().st_ino, list[int]()

    def watching(call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(descriptor: Any, *more: Any) -> Any:
            found = call(descriptor, *more)
            if isinstance(descriptor, int) and real_stat(descriptor).st_ino == planted:
                done.append(1)
                if len(done) == look:
                    path.rename(path.with_name("elsewhere"))
                    path.symlink_to(target)
            return found

        return watched

    real_stat = os.fstat
    monkeypatch.setattr(os, "fstat", watching(os.fstat))
    monkeypatch.setattr(fcntl, "flock", watching(fcntl.flock))
    return done


@pytest.fixture
def manager(queue_manager, tmp_path, monkeypatch) -> Manager:
    found = queue_manager(mqsc="DEFINE QLOCAL(IN)\n")
    found.put("IN", [({}, b"secret")])
    monkeypatch.setenv("MQOPS_ESTATE", reveal_estate(tmp_path))
    return found


@pytest.mark.parametrize("whose", [of_a_neighbour, lambda path: None], ids=["neighbour", "own"])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
def test_a_link_put_in_the_place_of_what_a_killed_export_left_leads_to_no_loss(
    mqops_here, precious, monkeypatch, make, whose
):
    left = shared(precious.parent, STICKY) / LEFT
    make(left)
    whose(left)
    done = swapped_when_looked_at(left, precious, monkeypatch)
    said = mqops_here("message", "export", "IN", str(left.with_name("a.msg")), "-m", "QM1")
    assert done
    assert_untouched(precious)
    assert left.is_symlink()
    assert f"{left} may be what a killed export left" in said.stderr
    assert b"END 1" in left.with_name("a.msg").read_bytes()


@pytest.mark.parametrize("look", range(1, 5))
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
def test_the_link_may_come_at_any_moment(tmp_path, precious, monkeypatch, make, look):
    left = shared(tmp_path, STICKY) / LEFT
    make(left)
    done = swapped_when_looked_at(left, precious, monkeypatch, look=look)
    with new_file(left.with_name("a.msg")) as new:
        new.stream.write(b"x")
    assert len(done) >= look
    assert_untouched(precious)


@pytest.mark.parametrize("make", [new_file, new_folder])
def test_a_neighbour_who_swaps_all_the_time_gets_nothing_removed(tmp_path, precious, make):
    place = shared(tmp_path, STICKY)
    swaps = [sys.executable, "-c", SWAPS, LEFT, str(precious)]
    with subprocess.Popen(swaps, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as neighbour:
        try:
            assert neighbour.stdout.readline()
            for _ in range(150):
                with make(place / "a.msg") as new:
                    new.stream.write(b"x")
                made = place / "a.msg"
                subprocess.run(["rm", "-r", str(made)], check=True) if made.is_dir() else made.unlink()
            assert neighbour.poll() is None, neighbour.stderr.read()
        finally:
            neighbour.kill()
    assert_untouched(precious)


@pytest.mark.parametrize("whose", [of_a_neighbour, lambda path: path.chmod(OPEN_TO_ALL)], ids=["neighbour", "own"])
def test_where_others_can_rename_nothing_is_removed_and_it_is_told(tmp_path, precious, whose):
    """The neighbour gave a folder of the victim's the name of what a killed export leaves."""
    place = shared(tmp_path, STICKY)
    precious.rename(place / LEFT)
    whose(place)
    with new_file(place / "a.msg") as new:
        new.stream.write(b"x")
    assert new.left_behind == (str(place / LEFT),)
    assert_untouched(place / LEFT)


def test_what_a_neighbour_has_put_there_stays_and_is_told(tmp_path):
    place = shared(tmp_path, STICKY)
    (place / LEFT).touch()
    of_a_neighbour(place / LEFT)
    with new_file(place / "a.msg") as new:
        new.stream.write(b"x")
    assert new.left_behind == (str(place / LEFT),)
    assert (place / LEFT).exists()


@pytest.mark.parametrize("make", [new_file, new_folder])
def test_what_is_written_goes_to_no_place_that_a_link_leads_to(tmp_path, precious, make):
    """In a folder where others can rename, the new file or folder is exchanged while it is written."""
    place = shared(tmp_path, OPEN_TO_ALL)

    def export() -> None:
        with make(place / "a.msg") as new:
            (made,) = place.iterdir()
            made.rename(place / "elsewhere")
            made.symlink_to(precious) if make is new_folder else made.write_text("forged")
            new.stream.write(b"x")

    with pytest.raises(LakeError, match=r"exchanged .* export to a folder of your own"):
        export()
    assert_untouched(precious)


def test_sparks_temporary_folder_exchanged_for_a_link_costs_no_other_folder(tmp_path, precious):
    """At the end, and when the next start removes what a crash left."""
    place = shared(tmp_path, OPEN_TO_ALL)
    with scratch(place) as spark:
        job = spark.folder.parent
        job.rename(place / "elsewhere")
        job.symlink_to(precious)
    assert_untouched(precious)


def test_an_abandoned_folder_of_spark_exchanged_when_it_is_looked_at(tmp_path, precious, monkeypatch):
    place = shared(tmp_path, OPEN_TO_ALL)
    job = place / "mqops-spark-x"
    (job / "files").mkdir(parents=True)
    (job / "lock").touch()
    done = swapped_when_looked_at(job, precious, monkeypatch)
    with scratch(place):
        pass
    assert done
    assert_untouched(precious)


def test_a_folder_that_spark_did_not_make_stays_whatever_its_name(tmp_path, precious):
    place = shared(tmp_path, OPEN_TO_ALL)
    renamed = precious.rename(place / "mqops-spark-x")
    with scratch(place):
        pass
    assert_untouched(renamed)


def test_a_file_is_written_to_no_file_that_somebody_made_beforehand(tmp_path):
    """The draft of an earlier version had the number of the process in its name."""
    theirs = tmp_path / f".keys.json.{os.getpid()}"
    theirs.touch()
    write_bytes(tmp_path / "keys.json", b"secret")
    assert (theirs.read_bytes(), (tmp_path / "keys.json").read_bytes()) == (b"", b"secret")
