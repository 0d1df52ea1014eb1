"""Users of one queue manager: `users.json` beside `qm.db`, mode 0600, each password as a salted scrypt hash.

The engine asks `check` where CONNAUTH wants a password; `mqlite user` writes. An application connects often, with the
same password: what was right once in this process is known again by a hash with a key that only this process has.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import tempfile
from pathlib import Path

COST, BLOCK, PARALLEL = 1 << 14, 8, 1  # 16 MiB and some 50 ms a check
NAME_LENGTH = 1024  # MQCSP user id

_KEY = os.urandom(32)
_RIGHT: set[bytes] = set()
"""Of each stored hash and password that `check` has found to belong together: their hash with `_KEY`."""


def add(folder: Path, name: str, password: str) -> None:
    """Add a user or give one a new password.

    Raises ValueError for an empty name or password, or a name longer than 1024 characters.
    """
    if not name or len(name) > NAME_LENGTH or not password:
        raise ValueError("a user needs a name of at most 1024 characters and a password")
    users = _read(folder)
    users[name] = _hashed(password, os.urandom(16), COST, BLOCK, PARALLEL)
    _write(folder, users)


def remove(folder: Path, name: str) -> bool:
    """Remove a user; False if there was none."""
    users = _read(folder)
    if users.pop(name, None) is None:
        return False
    _write(folder, users)
    return True


def names(folder: Path) -> list[str]:
    """The users, sorted."""
    return sorted(_read(folder))


def check(folder: Path, name: str, password: str) -> bool:
    """True if the user exists and this is the password. An unknown user takes as long as a wrong password."""
    stored = _read(folder).get(name)
    salt, cost, block, parallel = os.urandom(16), COST, BLOCK, PARALLEL
    if stored is not None:
        _, numbers, encoded, _ = stored.split("$")
        cost, block, parallel = (int(number) for number in numbers.split(","))
        salt = base64.b64decode(encoded)
    known = hmac.digest(_KEY, f"{stored} {password}".encode("utf-8", "surrogateescape"), "sha256")
    if known in _RIGHT:
        return True
    computed = _hashed(password, salt, cost, block, parallel)
    right = stored is not None and hmac.compare_digest(stored, computed)
    if right:
        _RIGHT.add(known)
    return right


def _hashed(password: str, salt: bytes, cost: int, block: int, parallel: int) -> str:
    digest = hashlib.scrypt(
        password.encode("utf-8", "surrogateescape"), salt=salt, n=cost, r=block, p=parallel, maxmem=256 * cost * block
    )
    encoded = [base64.b64encode(part).decode() for part in (salt, digest)]
    return f"scrypt${cost},{block},{parallel}${encoded[0]}${encoded[1]}"


def _read(folder: Path) -> dict[str, str]:
    path = folder / "users.json"
    if not path.exists():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _write(folder: Path, users: dict[str, str]) -> None:
    """Replace the file as a whole, so that no reader sees half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="users.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(users, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(folder / "users.json")
