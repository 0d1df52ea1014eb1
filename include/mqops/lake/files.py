"""Files as the lake needs them: private (0600, folders 0700), on disk when a call returns, replaced in one step."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any
from uuid import uuid4

from mqops import formats
from mqops.command import command
from mqops.errors import LakeError, SettingsError
from mqops.lake.own_group import why_not_own

FILE_MODE = 0o600
FOLDER_MODE = 0o700
SETTLED_NS = 2 * 10**9
"""What is read of a folder that changed less long ago is not kept: a further change may have the same time, as file
systems count."""
CHANGED = "runs_changed"
"""The folder LAKE/<queue manager>/runs_changed (`mqops.lake.changed_runs`)."""
ANATOMY = "anatomy"
"""The folder LAKE/<queue manager>/anatomy: a file for each queue."""
_NUMBER = f'"{formats.KEY}"'.encode()
_NUMBER_FIRST = re.compile(rb'\s*{\s*"' + formats.KEY.encode() + rb'"\s*:\s*([0-9]{1,9})\s*[,}]')
_DEEPEST = 4
"""Folders between a run's folder and its files, at most: RUN/quality/checks/CHECK/result.json."""
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room on the disk"),
    errno.EFBIG: "raise the limit for the size of a file (ulimit -f)",
}


@contextmanager
def lake_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's errors into `LakeError`, naming the file and what to do."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        advice = _ADVICE.get(error.errno or 0, "check path and rights")
        raise LakeError(
            f"The lake failed at {where}: {error.strerror or error}; {advice}, no message was lost"
        ) from error


def make_folder(folder: Path) -> None:
    """Make a private folder and what is missing above it; existing folders above are left as they are.

    Raises:
        LakeError: it cannot be made.
    """
    with lake_errors(folder):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=FOLDER_MODE, exist_ok=True)
            refuse_foreign(path)  # another user may have been faster
            sync(path.parent)


def refuse_foreign(*folders: Path) -> None:
    """Refuse folders that another user can change: he could exchange runs, plans and the ledger in them.

    Each must be a folder itself, not a link to one, of this process's user or root, and writable for its owner alone,
    or besides for a group that is the service's own (`mqops.lake.own_group`). One that does not exist yet is passed
    over.

    Raises:
        LakeError: one is not; the text says how to correct it.
    """
    for path in folders:
        with lake_errors(path):
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue
        me = os.geteuid()
        if not stat.S_ISDIR(found.st_mode):
            raise LakeError(f"{path} is not a folder, or it is a link to one: remove it, or name the folder itself")
        if found.st_uid not in {0, me}:
            take_it = command("chown", "-R", str(me), str(path))
            raise LakeError(
                f"{path} belongs to user {found.st_uid}, who can change what is in it, not to user {me}: "
                f"run mqops as user {found.st_uid} (in Kubernetes: runAsUser of the pod, also of Spark's), or, where "
                f"you trust what is there, `{take_it}`"
            )
        if found.st_mode & stat.S_IWOTH:
            raise LakeError(
                f"Other users can write to {path}: `{command('chmod', 'go-w', str(path))}`, and look at what is in it"
            )
        if found.st_mode & stat.S_IWGRP and (why := why_not_own(found.st_gid)):
            raise LakeError(
                f"Other users can write to {path}: `{command('chmod', 'go-w', str(path))}`, and look at what is in it. "
                f"A group may write there if mqops alone is in it (in Kubernetes: fsGroup of the pod), but {why}"
            )


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append(descriptor: int, content: bytes) -> None:
    """Write behind the end of an open file; returns when it is on disk. Raises `OSError`: the file is as it was."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
        raise


def append_lines(path: Path, content: bytes) -> None:
    """Add lines to a private file; returns when they are on disk. Raises `LakeError`: the file is as it was."""
    make_folder(path.parent)
    with lake_errors(path):
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            torn = end and os.pread(descriptor, 1, end - 1) != b"\n"  # a crash left half a line
            append(descriptor, b"\n" + content if torn else content)
        finally:
            os.close(descriptor)


def mark(path: Path) -> None:
    """Say that a file of a run is written; nothing is said of another file."""
    for folder in path.parents[:_DEEPEST]:
        if folder.parent.name == "runs":
            _mark(folder.parent.parent / CHANGED, folder.name)
            return


def _mark(folder: Path, run: str) -> None:
    with suppress(OSError):  # it is there already, or nobody keeps an index
        os.close(os.open(folder / run, _NEW_FILE, FILE_MODE))
        sync(folder)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file with its format (`mqops.formats`) in one step: a reader sees the old one or the new one, also
    after a power cut.

    Raises:
        LakeError: it cannot be written; the old one stands.
    """
    content = formats.numbered(kind_of(path), value)
    write_bytes(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")


def replace_report(path: Path, value: object) -> None:
    """Replace a JSON file in one step. It is not flushed to the disk, and no error is told: nothing depends on it."""
    temporary = path.with_suffix(".part")
    with suppress(OSError):
        with open(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE), "w") as stream:
            json.dump(value, stream)
        temporary.replace(path)
        mark(path)


def write_json_lines(path: Path, values: Iterable[Any]) -> int:
    """Write a file that has a JSON object a line, as `write_json` does; gives the number of lines."""
    lines = [json.dumps(formats.numbered(kind_of(path), value)) for value in values]
    write_bytes(path, "".join(line + "\n" for line in lines).encode())
    return len(lines)


def read_private(path: Path) -> bytes:
    """What is in a key file, up to 1 MiB. A symbolic link is not followed.

    Raises:
        OSError: it cannot be read.
        SettingsError: others may read or write it. The group may, on a volume of the service's own group.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as stream:
        found = os.fstat(stream.fileno())
        content = stream.read(1 << 20)
    others, group = found.st_mode & stat.S_IRWXO, found.st_mode & stat.S_IRWXG
    if others or (group and not _is_of_volume(found, path.parent)):
        raise SettingsError(f"Others may read or write the key file {path}: {command('chmod', '600', str(path))}")
    return content


def _is_of_volume(found: os.stat_result, folder: Path) -> bool:
    """Whether a file and its folder are a volume's for the service's own group: setgid, and the same group."""
    of = folder.stat()
    shares = stat.S_ISGID | stat.S_IWGRP
    return of.st_mode & shares == shares and of.st_gid == found.st_gid and not why_not_own(found.st_gid)


def kind_of(path: Path) -> str:
    """What `mqops.formats` calls a file of the lake."""
    return ANATOMY if path.parent.name == ANATOMY else path.name  # those are named by queues


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step, as `write_json` does.

    Raises:
        LakeError: it cannot be written; the old one stands.
    """
    mark(path)
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")  # nobody can have made it beforehand
    with lake_errors(path):
        try:
            with open(os.open(temporary, _NEW_FILE, FILE_MODE), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
            sync(path.parent)
            mark(path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()


def file_state(path: Path | str) -> tuple[int, ...]:
    """Tells one state of a file or folder from another: which one it is, when it was written, bytes. Empty where it is
    not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_json(path: Path) -> Any:
    """Read a JSON file and return its value.

    Raises:
        LakeError: it is missing, or not JSON in UTF-8.
        NewerFormat: a newer version wrote it.
    """
    with lake_errors(path):
        content = path.read_bytes()
    value = json_of(content, path)
    formats.refuse_newer(kind_of(path), path, value)
    return value


def json_of(content: bytes, path: Path) -> Any:
    """The value of a JSON file whose format is not looked at. Raises `LakeError`: it is not JSON in UTF-8."""
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise LakeError(f"{path} is not JSON: {error}") from error


def read_json_lines(path: Path) -> Iterator[Any]:
    """The objects of a file that has one a line.

    Raises:
        LakeError: it cannot be read, or a line is not JSON.
        NewerFormat: a newer version wrote a line.
    """
    with lake_errors(path):
        lines = path.read_bytes().splitlines()
    for line in lines:
        value = json_of(line, path)
        formats.refuse_newer(kind_of(path), path, value)
        yield value


def refuse_newer_lines(path: Path) -> None:
    """Refuse a file of JSON lines that a newer version wrote, by its first line: for a file that Spark reads. Raises as
    `read_json_lines`."""
    with lake_errors(path), path.open("rb") as stream:
        if first := stream.readline():
            formats.refuse_newer(kind_of(path), path, json_of(first, path))


def refuse_newer(path: Path, content: bytes) -> None:
    """Refuse what a newer version wrote, before it is read. What stands first in the file is found without reading it.

    Parameters: `content` of the file. Raises `NewerFormat`; `LakeError` as `json_of`.
    """
    kind = kind_of(path)
    if found := _NUMBER_FIRST.match(content):
        formats.refuse_newer_number(kind, path, int(found[1]))
    elif _NUMBER in content:
        formats.refuse_newer(kind, path, json_of(content, path))


def make_durable(folder: Path) -> dict[str, int]:
    """Bring all files below a folder to disk and make them private; returns their names below it and sizes in bytes.

    For what others wrote (Spark, pyarrow), before anything relies on it (law 4).

    Raises:
        LakeError: the disk refused.
    """
    sizes: dict[str, int] = {}
    with lake_errors(folder):
        for parent, _folders, names in os.walk(folder, topdown=False):
            for name in names:
                path = Path(parent, name)
                sizes[str(path.relative_to(folder))] = _make_private(path)
            Path(parent).chmod(FOLDER_MODE)
            sync(Path(parent))
        sync(folder.parent)
    return dict(sorted(sizes.items()))


@contextmanager
def written_anew(folder: Path) -> Iterator[Path]:
    """A place beside a folder, which a Spark job writes: what is there at the end takes the folder's place.

    A job may go on when whoever started it was killed, and the next one begins meanwhile. In one folder Hadoop's
    committer would take the files of both. So each has a place of its own; the next one removes what is left of it.

    Raises:
        LakeError: the folder cannot be replaced.
    """
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    new, old = (folder.with_name(f".{folder.name}-{uuid4().hex}") for _ in range(2))
    try:
        yield new
        with lake_errors(folder):
            with suppress(FileNotFoundError):
                folder.replace(old)
            new.replace(folder)
    finally:
        for one in (new, old):
            shutil.rmtree(one, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder and below, 0 where there is none. A file that N folders share by links counts for
    an Nth.

    Raises:
        LakeError: it cannot be read.
    """
    found = 0
    with lake_errors(folder):
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return 0
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += size_of(Path(entry.path))
            else:
                state = entry.stat(follow_symlinks=False)
                found += state.st_size // max(1, state.st_nlink)
    return found


def missing_files(folder: Path, sizes: Mapping[str, int]) -> list[str]:
    """Which of these files (name → size in bytes) are not there as they were."""
    found = {name: path.stat().st_size for name in sizes if (path := folder / name).is_file()}
    return [name for name, size in sizes.items() if found.get(name) != size]


def _make_private(path: Path) -> int:
    """Make a file private and bring it to disk; its size in bytes. A link is an error."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, FILE_MODE)
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
