"""A queue manager's home: a folder of $MQLITE_HOME that holds `qm.db` and its lock files, private to its owner."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mqlite.attributes import Kind, valid_name
from mqlite.failure import Failure
from mqlite.objects import sharing_group
from mqlite.objects.definitions import Attributes, Objects
from mqlite.platform import Platform
from mqlite.storage import sql
from mqlite.storage.rows import ManagerRow
from mqlite.storage.store import DATABASE, Store, group_of
from mqwire import constants as c

APPLICATION_CCSID = 1208
COMMAND_LEVEL, VERSION = 940, "09040000"
COMMAND_QUEUES: Mapping[str, str] = {Platform.UNIX: "SYSTEM.ADMIN.COMMAND.QUEUE", Platform.ZOS: "SYSTEM.COMMAND.INPUT"}
PLATFORM_NUMBERS: Mapping[str, int] = {Platform.UNIX: c.MQPL_UNIX, Platform.ZOS: c.MQPL_ZOS}
# platform -> CCSID, encoding
PLATFORMS: Mapping[str, tuple[int, int]] = {Platform.UNIX: (1208, c.MQENC_NATIVE), Platform.ZOS: (500, c.MQENC_S390)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """What does not change in the life of a queue manager.

    Parameters: `identity` 8 bytes that make its message identifiers and tokens unlike any other's.
    """

    folder: Path
    name: str
    platform: str
    ccsid: int
    encoding: int
    identity: bytes

    @property
    def application_ccsid(self) -> int:
        """What MQCCSI_Q_MGR means in a program's own descriptor: the character set its data is in.

        Programs of this machine are ASCII. They reach a z/OS-like queue manager as a client reaches z/OS: in their
        character set, not in the queue manager's, which is that of the headers it writes itself (MQDLH, MQXQH).
        """
        return APPLICATION_CCSID if self.platform == Platform.ZOS else self.ccsid

    @property
    def group(self) -> str:
        """The queue-sharing group it belongs to, blank for none."""
        return group_of(self.folder)


def kept_attributes(manager: Manager) -> Attributes:
    """Attributes that the queue manager sets and no command changes, by MQSC keyword."""
    return {
        "ADVCAP": c.MQCAP_NOT_SUPPORTED,
        "AMQPCAP": c.MQCAP_NOT_SUPPORTED,
        "CMDLEVEL": COMMAND_LEVEL,
        "COMMANDQ": COMMAND_QUEUES[manager.platform],
        "DISTL": 0,
        "MAXPRTY": 9,
        "PLATFORM": PLATFORM_NUMBERS[manager.platform],
        "QMID": f"{manager.name}_{manager.identity.hex().upper()}"[:48],
        "QSGNAME": manager.group,
        "SPLCAP": c.MQCAP_NOT_SUPPORTED,
        "SYNCPT": 1,
        "VERSION": VERSION,
        "XRCAP": c.MQCAP_NOT_SUPPORTED,
    }


def message_id(manager: Manager, number: int) -> bytes:
    """24 bytes that no other message of this queue manager has: its name, its identity with a running number."""
    first = int.from_bytes(manager.identity, "big")
    prefix = b"AMQ " + manager.name.encode("latin-1")[:12].ljust(12)
    return prefix + ((first + number) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "big")


def connection_identifier(identity: bytes, number: int) -> bytes:
    """The 24 bytes of a connection identifier: the queue manager's own 8, then the connection's number."""
    return b"AMQC" + bytes(4) + identity + number.to_bytes(8, "big")


def home() -> Path:
    """The folder of queue managers.

    Raises Failure (MQRC_Q_MGR_NOT_AVAILABLE) where MQLITE_HOME is not set.
    """
    place = os.environ.get("MQLITE_HOME")
    if not place:
        raise Failure(c.MQRC_Q_MGR_NOT_AVAILABLE, "MQLITE_HOME is not set: name the folder of queue managers in it")
    return Path(place)


def names() -> list[str]:
    """The queue managers there are, sorted."""
    return sorted(path.parent.name for path in home().glob(f"*/{DATABASE}"))


def folder_of(name: str) -> Path:
    """Where a queue manager lives; a slash or percent sign of its name is escaped."""
    return home() / folder_name(name)


def folder_name(name: str) -> str:
    """What a queue manager's folder is called."""
    return name.replace("%", "%25").replace("/", "%2F")


def _refuse_foreign(place: Path, *owners: int) -> None:
    """Check that nobody but root, this process's user and `owners` (user ids) can change $MQLITE_HOME.

    Raises ValueError, which says what to do.
    """
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise ValueError(f"MQLITE_HOME {place} is a link: name the folder itself")
    if found.st_uid not in {0, os.geteuid(), *owners}:
        raise ValueError(f"MQLITE_HOME {place} belongs to user {found.st_uid}: use a folder of your own")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError(f"other users can write to MQLITE_HOME {place}: run chmod go-w on it, or use another folder")


def create(name: str, *, platform: str = Platform.UNIX, ccsid: int | None = None, group: str = "") -> Manager:
    """Make a queue manager without its SYSTEM objects; in a queue-sharing group if one is named.

    Raises FileExistsError if it is there, ValueError if the name is no MQ name, the group's will not do, or another
    user can change $MQLITE_HOME.
    """
    if not valid_name(name):
        raise ValueError(f"{name!r} is not a queue manager name: 1 to 48 of A-Z a-z 0-9 . / _ %")
    folder = folder_of(name)
    sharing_group.check_names(folder, group)
    if group and platform != Platform.ZOS:
        raise ValueError("a queue-sharing group needs z/OS-like queue managers: add --platform zos")
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _refuse_foreign(folder.parent)
    folder.mkdir(mode=0o700)
    own_ccsid, encoding = PLATFORMS[platform]
    if group:
        sharing_group.join(folder, group)
    else:
        os.close(os.open(folder / DATABASE, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        draft = sqlite3.connect(folder / DATABASE, isolation_level=None)
        draft.execute(sql.JOURNAL)
        draft.executescript(sql.SCHEMA)
        draft.close()
    store = Store(folder)
    with store.write(durable=True):
        identity = secrets.token_bytes(8)
        store.execute(sql.ADD_MANAGER, (name, platform, ccsid or own_ccsid, encoding, identity))
        Objects(store, platform).define(Kind.QMGR, name, {"CCSID": ccsid or own_ccsid, "QMNAME": name})
    store.close()
    return load(name)


def _only_one() -> str:
    """The name of the queue manager, if there is one and no other. Raises Failure: MQRC_Q_MGR_NAME_ERROR."""
    there = names()
    if not there:
        why = f"there is no queue manager in {home()}: make one with `mqlite create NAME`"
        raise Failure(c.MQRC_Q_MGR_NAME_ERROR, why)
    if len(there) > 1:
        why = f"no name was given, and there are several queue managers: name one of {', '.join(there)}"
        raise Failure(c.MQRC_Q_MGR_NAME_ERROR, why)
    return there[0]


def load(name: str) -> Manager:
    """The queue manager of that name; blank for the only one there is. Raises as `opened`."""
    manager, store = opened(name)
    store.close()
    return manager


def opened(name: str) -> tuple[Manager, Store]:
    """The same, with its store, which the caller closes.

    Raises Failure: MQRC_Q_MGR_NAME_ERROR; MQRC_NOT_AUTHORIZED if another user can change $MQLITE_HOME.
    """
    if not name:
        name = _only_one()
    folder = folder_of(name)
    if not (folder / DATABASE).exists():
        raise Failure(c.MQRC_Q_MGR_NAME_ERROR, f"there is no queue manager {name} in {home()}")
    try:
        _refuse_foreign(folder.parent, folder.stat().st_uid)
    except ValueError as foreign:
        raise Failure(c.MQRC_NOT_AUTHORIZED, str(foreign)) from foreign
    store = Store(folder)
    try:
        row = store.row(ManagerRow, sql.MANAGER)
        if row is None:
            raise Failure(c.MQRC_Q_MGR_NAME_ERROR, name)
    except BaseException:
        store.close()
        raise
    return Manager(folder=folder, **row._asdict()), store
