"""Queue-sharing groups: several queue managers of a home with one store, and queues that are all of theirs.

1. The folder `+GROUP` of the home holds the group's files. A member's folder holds links to them under the names that
   every queue manager's files have, so that nobody has to know: one store, hence one transaction for private and shared
   queues, and any member backs out the units of work of another member's dead process.
2. What is a member's own stays its own: objects, private queues and their messages, connections, users, channels.
3. A queue defined with QSGDISP(SHARED) belongs to the group, with its messages, and is seen from every member.
4. The last member that is deleted takes the group with it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sqlite3
from pathlib import Path

from mqlite.attributes.queues import SHARING_DISPOSITIONS
from mqlite.objects.definitions import Attributes
from mqlite.storage import sql
from mqlite.storage.alive import FILE as ALIVE
from mqlite.storage.store import DATABASE, GROUP_PREFIX, Store, group_of
from mqlite.storage.write_lock import WRITE_LOCK, write_lock

EXPIRY_LOCK = "expiry.lock"
LINKS = {DATABASE: "qsg.db", WRITE_LOCK: WRITE_LOCK, ALIVE: ALIVE}  # member's file → the group's
GROUP_NAME = re.compile(r"[A-Z][A-Z0-9@#$]{0,3}")
PRIVATE, SHARED = SHARING_DISPOSITIONS["QMGR"], SHARING_DISPOSITIONS["SHARED"]


def is_shared(local: Attributes) -> bool:
    """Whether a queue belongs to the group."""
    return local.get("QSGDISP") == SHARED


def group_folder(folder: Path) -> Path:
    """Where the files of the group are that the queue manager in `folder` belongs to."""
    return folder.parent / f"{GROUP_PREFIX}{group_of(folder)}"


def check_names(folder: Path, group: str) -> None:
    """Raises ValueError where the names of a new queue manager, in `folder`, and of its group will not do."""
    if (folder.parent / f"{GROUP_PREFIX}{folder.name}").exists():
        raise ValueError(f"{folder.name} is the name of a queue-sharing group: choose another name")
    if not group:
        return
    if not GROUP_NAME.fullmatch(group):
        raise ValueError(f"{group!r} is not the name of a queue-sharing group: 1 to 4 of A-Z 0-9 @ # $, a letter first")
    if group == folder.name or (folder.parent / group).exists():
        raise ValueError(f"{group} is the name of a queue manager: choose another name for the group")


def join(folder: Path, group: str) -> None:
    """Make the queue manager whose empty folder it is a member; the first one makes the group."""
    place = folder.parent / f"{GROUP_PREFIX}{group}"
    place.mkdir(exist_ok=True, mode=0o700)
    lock = write_lock(place)
    lock.acquire()
    try:
        database = place / LINKS[DATABASE]
        if not database.exists():
            os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        draft = sqlite3.connect(database, isolation_level=None)
        draft.execute(sql.JOURNAL)
        if draft.execute(sql.HAS_SCHEMA).fetchone() is None:
            draft.executescript(f"BEGIN; {sql.GROUP_SCHEMA} COMMIT;")
        draft.close()
        for own, file in LINKS.items():
            (folder / own).symlink_to(Path("..", place.name, file))
    finally:
        lock.release()


def leave(store: Store) -> None:
    """Delete all that is a member's own from the group's store, and the group with its last member."""
    place = group_folder(store.folder)
    with store.write(durable=True):
        for (queue,) in store.all(sql.QUEUES_OF, (store.member,)):
            store.execute(sql.DELETE_ALL, (queue,))
        for statement in sql.FORGET_MEMBER:
            store.execute(statement, (store.member,))
        last = not store.all(sql.MEMBERS)
    if last:
        store.close()
        shutil.rmtree(place)


def expiry_intervals(store: Store) -> dict[str, int]:
    """EXPRYINT of each member, where they differ (E17: they should be the same); nothing where not."""
    found: dict[str, int] = dict(store.all(sql.EXPIRY_INTERVALS)) if store.member else {}
    return found if len(set(found.values())) > 1 else {}


def difference(group: str, intervals: dict[str, int]) -> str:
    """What is said of intervals that differ."""
    listed = ", ".join(f"{member} {interval or 'OFF'}" for member, interval in intervals.items())
    return f"EXPRYINT differs in queue-sharing group {group}: {listed}"


class ScanDuty:
    """The duty to scan the shared queues of a group: a lock that one process holds, and loses with its life (E17).

    Parameters: `folder` of the member. Attributes: `held` whether it is this process's.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(group_folder(folder) / EXPIRY_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.held = False

    def take(self) -> bool:
        """Take the lock if no process holds it; returns whether this process holds it now."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        self.held = True
        return True

    def give_up(self) -> None:
        """Let another one have it."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self.held = False


def named_anywhere(store: Store, name: str) -> bool:
    """Whether any member, or the group, has a queue of that name."""
    return store.one(sql.NAMED_ANYWHERE, (name,)) is not None
