"""Whether a queue manager was ended: the file `ended` in its folder, made by `mqlite end`, removed by `mqlite start`.

A queue manager without the file takes connections, whether its service runs or not.
"""

from __future__ import annotations

import os
from pathlib import Path

from mqlite.failure import Failure
from mqwire import constants as c

FILE = "ended"
QUIESCING, ENDED = b"quiescing", b"ended"
_REASONS = {QUIESCING: c.MQRC_Q_MGR_QUIESCING, ENDED: c.MQRC_Q_MGR_NOT_AVAILABLE}


def note(folder: Path, state: bytes) -> None:
    """From now on the queue manager is QUIESCING or ENDED."""
    draft = folder / f"{FILE}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600), "wb") as file:
        file.write(state)
    draft.replace(folder / FILE)


def forget(folder: Path) -> None:
    """The queue manager is started again."""
    (folder / FILE).unlink(missing_ok=True)


def state(folder: Path) -> bytes:
    """QUIESCING, ENDED, or nothing."""
    try:
        return (folder / FILE).read_bytes()
    except FileNotFoundError:
        return b""


def check(folder: Path) -> None:
    """Raises Failure for what MQCONN answers then (MQRC_Q_MGR_QUIESCING, MQRC_Q_MGR_NOT_AVAILABLE)."""
    found = state(folder)
    if found:
        raise Failure(_REASONS.get(found, c.MQRC_Q_MGR_NOT_AVAILABLE), folder.name)
