"""Files as the lake needs them: private (0600, folders 0700), on disk when a call returns, replaced in one step."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mqops.errors import LakeError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
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
            _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file in one step: a reader sees the old one or the new one, also after a power cut.

    Raises:
        LakeError: it cannot be written; the old one stands.
    """
    write_bytes(path, json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step, as `write_json` does.

    Raises:
        LakeError: it cannot be written; the old one stands.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with lake_errors(path):
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, FILE_MODE), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        LakeError: it is missing or not JSON.
    """
    with lake_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LakeError(f"{path} is not JSON: {error}") from error


def make_durable(folder: Path) -> dict[str, int]:
    """Bring all files below a folder to disk and make them private; returns their names below it and sizes in bytes.

    For what others wrote (Spark, pyarrow), before anything relies on it (DESIGN law 4).

    Raises:
        LakeError: the disk refused.
    """
    sizes: dict[str, int] = {}
    with lake_errors(folder):
        for parent, _folders, names in os.walk(folder, topdown=False):
            for name in names:
                path = Path(parent, name)
                path.chmod(FILE_MODE)
                sizes[str(path.relative_to(folder))] = _sync(path)
            Path(parent).chmod(FOLDER_MODE)
            _sync_folder(Path(parent))
        _sync_folder(folder.parent)
    return dict(sorted(sizes.items()))


def missing_files(folder: Path, sizes: dict[str, int]) -> list[str]:
    """Which of these files (name → size in bytes) are not there as they were."""
    found = {name: path.stat().st_size for name in sizes if (path := folder / name).is_file()}
    return [name for name, size in sizes.items() if found.get(name) != size]


def _sync(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    _sync(folder)
