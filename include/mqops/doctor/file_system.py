"""Whether the file system of the lake does what mqops relies on, by doing it in a private folder that is removed again.

1. rename: a file replaces another one in one step, and a folder gets another name.
2. O_EXCL and hard links: a file is not made twice, and a second name is the same file (snapshots that did not change).
3. flock: a lock that one process holds is seen by another one, and is free when that process was killed.
4. fsync returns without an error, for a file and for a folder.
5. A file keeps mode 0600, and a folder 0700.

One machine cannot find out whether a lock is seen on another one: that the options of the mount say. Kinds that are
known not to be enough are told by their names, whatever they answer here.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex

from mqops.doctor.check import Check, fails, holds, unknown

NAME = "file system"
PREFIX = ".mqops-doctor-"
DO = (
    "Put the lake on another one: a local disk, or, for several machines, NFS 4.1 or later (Amazon EFS, Azure Files by "
    "NFS, Filestore) or CephFS; neither SMB nor an object store by FUSE (docs/kubernetes.md)"
)
_MOUNTS = Path("/proc/self/mounts")
_UNFIT = ("cifs", "smb3", "smbfs", "vfat", "exfat", "msdos", "fuse.")
"""Kinds of file systems that lack locks, modes or links, or keep them for one machine; `fuse.` with what follows."""
_FIT_BY_FUSE = ("fuse.ceph", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.fuse-overlayfs")
_LOCAL_LOCKS = ("nolock", "local_lock=all", "local_lock=flock")
"""Options of an NFS mount that keep locks on one machine."""
LOCKED_WITHIN = 30.0
"""Seconds."""
_HOLDS = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); time.sleep(60)"


def file_system(lake: Path, mounts: Path = _MOUNTS) -> Check:
    """Test the file system of a lake, or of the folder that it will be made in.

    Parameters: `mounts` the file that lists what is mounted.
    """
    place = next(path for path in (lake, *lake.parents) if path.exists()).resolve()
    kind, options = _mount_of(place, mounts)
    what = f"{place}{f', {kind}' if kind else ''}"
    if not os.access(place, os.W_OK | os.X_OK, effective_ids=True):
        return unknown(NAME, f"{what}: this user cannot write there, so nothing was tried")
    wrong = [*_by_name(kind, options), *_tried(place)]
    if wrong:
        return fails(NAME, f"{what}: {'; '.join(wrong)}", DO)
    return holds(NAME, f"{what}: rename, hard links, flock, fsync and modes are as a lake needs them")


def _mount_of(place: Path, mounts: Path) -> tuple[str, list[str]]:
    """The kind of a file system and the options of its mount; "" and none where the system does not tell."""
    try:
        rows = [line.split() for line in mounts.read_text(errors="surrogateescape").splitlines()]
    except OSError:
        return "", []
    found = [row for row in rows if len(row) > 3 and place.is_relative_to(row[1].replace("\\040", " "))]
    best = max(found, key=lambda row: len(row[1]), default=None)  # the last of equals covers the others
    if best is None:
        return "", []
    row = [one for one in found if one[1] == best[1]][-1]
    return row[2], row[3].split(",")


def _by_name(kind: str, options: list[str]) -> Iterator[str]:
    if kind.startswith(_UNFIT) and kind not in _FIT_BY_FUSE:
        yield f"{kind} does not do on all machines what POSIX promises for locks, modes and links"
    if kind.startswith("nfs"):
        if local := [one for one in options if one in _LOCAL_LOCKS]:
            yield f"mounted with {local[0]}: a lock is not seen on another machine"
        if "vers=3" in options:
            yield "mounted as NFS 3: its locks need a service of their own, and outlive a client that died"


def _tried(place: Path) -> Iterator[str]:
    """What fails of the parts, each in words."""
    folder = place / f"{PREFIX}{token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        yield f"no folder can be made: {error.strerror}"
        return
    try:
        for part, does in PARTS.items():
            if why := failure(does, folder):
                yield f"{part}: {why}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def failure(does: Callable[[Path], str], folder: Path) -> str:
    """Why a part does not do in a folder what it must; "" where it does."""
    try:
        return does(folder)
    except OSError as error:
        return error.strerror or str(error)


def renames(folder: Path) -> str:
    """Rule 1."""
    old, new = folder / "old", folder / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    with old.open("rb") as reader:
        new.replace(old)
        if (old.read_bytes(), new.exists(), reader.read()) != (b"new", False, b"old"):
            return "a file does not take the place of another one as a whole"
    (folder / "a").mkdir()
    (folder / "a").replace(folder / "b")
    return "" if (folder / "b").is_dir() else "a folder does not get its new name"


def links(folder: Path) -> str:
    """Rule 2."""
    one, two = folder / "one", folder / "two"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    os.close(os.open(one, flags, 0o600))
    try:
        os.close(os.open(one, flags, 0o600))
    except FileExistsError:
        pass
    else:
        return "a file that is there is made again (O_EXCL)"
    os.link(one, two)
    same = os.path.samefile(one, two) and one.stat().st_nlink == 2
    return "" if same else "a second name is a file of its own"


def locks(folder: Path) -> str:
    """Rule 3."""
    path = folder / "lock"
    path.touch()
    with subprocess.Popen([sys.executable, "-S", "-c", _HOLDS, str(path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        answer = select.poll()  # takes any number of a file, select does not
        answer.register(other.stdout, select.POLLIN)
        if not answer.poll(LOCKED_WITHIN * 1000):  # as NFS without its lock service: the call does not return
            other.kill()
            return f"a lock was not taken in {LOCKED_WITHIN:.0f} seconds"
        if not other.stdout.readline():
            return "a lock cannot be taken"
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return "two processes have the same lock at the same time"
        except BlockingIOError:
            pass
        finally:
            other.kill()
            other.wait()
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return ""


def syncs(folder: Path) -> str:
    """Rule 4."""
    with (folder / "synced").open("wb") as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return ""


def modes(folder: Path) -> str:
    """Rule 5."""
    file, inside = folder / "private", folder / "inside"
    file.touch(mode=0o600)
    inside.mkdir(mode=0o700)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o777 for path in (file, inside)}
    if found == {"private": 0o600, "inside": 0o700}:
        return ""
    return f"a file made with mode 600 has {found['private']:o}, a folder made with 700 has {found['inside']:o}"


PARTS = {"rename": renames, "hard links": links, "flock": locks, "fsync": syncs, "modes": modes}
"""What is tried, by its name in the text."""
