"""`mqops doctor` tries what a lake needs of its file system: each part on a folder where it really fails."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from mqops.doctor import file_system as trial
from mqops.doctor.check import State
from mqops.doctor.file_system import PREFIX, failure, file_system, links, locks, modes, renames, syncs


def test_a_local_disk_holds_and_nothing_of_the_trial_stays(tmp_path: Path) -> None:
    found = file_system(tmp_path / "lake")
    assert found.state is State.HOLDS, found
    assert found.what.startswith(f"{tmp_path}, ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_keeps_no_files_fails() -> None:
    """/proc: root may write there, and cannot make a folder. Others may not even try."""
    found = file_system(Path("/proc/sys/lake"))
    assert found.state is not State.HOLDS
    assert ("no folder can be made" in found.what) or ("cannot write there" in found.what)


def test_locks_that_each_process_has_for_itself_fail(tmp_path: Path) -> None:
    """What a mount with local_lock does: behind one name each process locks a file of its own."""
    (tmp_path / "lock").symlink_to("/proc/self/comm")
    assert failure(locks, tmp_path) == "two processes have the same lock at the same time"


def test_a_lock_that_is_never_given_ends_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a mount whose lock service does not answer: the call of the other process does not return."""
    monkeypatch.setattr(trial, "LOCKED_WITHIN", 0.5)
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert failure(locks, tmp_path) == "a lock was not taken in 0 seconds"


def test_a_file_that_cannot_be_replaced_fails(tmp_path: Path) -> None:
    (tmp_path / "b" / "full").mkdir(parents=True)
    assert failure(renames, tmp_path) == "Directory not empty"


def test_a_name_that_cannot_be_linked_fails(tmp_path: Path) -> None:
    (tmp_path / "two").symlink_to("/nowhere")
    assert failure(links, tmp_path) == "File exists"


def test_what_is_no_file_cannot_be_brought_to_disk(tmp_path: Path) -> None:
    (tmp_path / "synced").symlink_to("/dev/null")
    assert failure(syncs, tmp_path) == "Invalid argument"


def test_modes_that_are_not_kept_are_told(tmp_path: Path) -> None:
    (tmp_path / "private").touch()
    (tmp_path / "private").chmod(0o644)
    assert failure(modes, tmp_path) == "a file made with mode 600 has 644, a folder made with 700 has 700"


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("ext4 rw,relatime", ""),
        ("nfs4 rw,vers=4.1,hard,local_lock=none", ""),
        ("ceph rw", ""),
        ("fuse.ceph-fuse rw", ""),
        ("cifs rw,vers=3.1.1", "cifs does not do on all machines what POSIX promises"),
        ("fuse.s3fs rw", "fuse.s3fs does not do"),
        ("fuse.gcsfuse rw", "fuse.gcsfuse does not do"),
        ("nfs4 rw,vers=4.2,local_lock=flock", "mounted with local_lock=flock: a lock is not seen on another machine"),
        ("nfs rw,vers=3,nolock", "mounted with nolock"),
        ("nfs rw,vers=3,local_lock=none", "mounted as NFS 3"),
    ],
)
def test_kinds_that_one_machine_cannot_try_are_told_by_the_mount(tmp_path: Path, mount: str, said: str) -> None:
    kind, options = mount.split()
    lake = tmp_path / "a lake"
    lake.mkdir()
    place = str(lake).replace(" ", "\\040")
    (tmp_path / "mounts").write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {place} {kind} {options} 0 0\n")
    found = file_system(lake, tmp_path / "mounts")
    assert found.state is (State.FAILS if said else State.HOLDS), found
    assert said in found.what
    assert f", {kind}" in found.what
    assert ("NFS 4.1 or later (Amazon EFS" in found.remedy) == bool(said)
    assert not list(lake.glob(f"{PREFIX}*"))
