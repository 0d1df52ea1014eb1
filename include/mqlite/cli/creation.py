"""`mqlite create` and `mqlite delete`: create a queue manager with its SYSTEM objects, and delete one."""

from __future__ import annotations

import shutil
from importlib import resources

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.attributes.types import NAME_CHARACTERS
from mqlite.connections import recovery
from mqlite.mqsc.runner import run_script
from mqlite.objects import manager as managers
from mqlite.objects import sharing_group
from mqlite.objects.engine import Engine
from mqlite.objects.manager import COMMAND_QUEUES, Manager
from mqlite.platform import Platform
from mqlite.storage import service_lock, sql
from mqlite.storage.alive import alive_file
from mqlite.storage.rows import ConnectionRow
from mqlite.storage.store import Store
from mqwire.ccsid import encode
from mqwire.errors import WireError

# What z/OS administrators define for programs that know the other platforms' name only, such as pymqi's PCFExecute.
COMMAND_QUEUE_ALIAS = "\nDEFINE QALIAS(SYSTEM.ADMIN.COMMAND.QUEUE) TARGET(SYSTEM.COMMAND.INPUT)\n"


class InUse(Exception):
    """Applications are connected, or the service is running."""


def create(name: str, *, platform: str = Platform.UNIX, ccsid: int | None = None, group: str = "") -> Manager:
    """A queue manager with its SYSTEM objects.

    platform: `unix` or `zos` (EBCDIC, big-endian). ccsid: instead of the platform's own. group: queue-sharing group.
    Raises FileExistsError if there is one, ValueError if the name or the CCSID is none that it can have.
    """
    if ccsid is not None and not _has_names(ccsid, platform):
        code = "EBCDIC, such as 500 or 1047" if platform == Platform.ZOS else "ASCII, such as 1208 or 819"
        raise ValueError(
            f"CCSID {ccsid} cannot be that of a queue manager of platform {platform}: choose one that is known here "
            f"and has the letters of names as in {code}"
        )
    made = managers.create(name, platform=platform, ccsid=ccsid, group=group)
    script = resources.files("mqlite.cli").joinpath("system_objects.mqsc").read_text(encoding="utf-8")
    script = script.replace("&COMMANDQ", COMMAND_QUEUES[platform])
    if platform == Platform.ZOS:
        script += COMMAND_QUEUE_ALIAS
    output: list[str] = []
    admin = EngineAdministration(made)
    try:
        tally = run_script(admin, script.splitlines(), output.append)
    finally:
        admin.close()
    if tally.exit_code:
        raise RuntimeError("\n".join(output))
    return made


def _has_names(ccsid: int, platform: str) -> bool:
    """Whether names can be in it (IBM MQ, "CodedCharSetId": single bytes for the characters of object names)."""
    letters = "".join(sorted(NAME_CHARACTERS))
    try:
        found = encode(letters, ccsid)
    except WireError:
        return False
    if platform == Platform.ZOS:
        return len(found) == len(letters) and encode("A", ccsid) == b"\xc1"
    return found == letters.encode("ascii")


def delete(name: str) -> None:
    """Delete a queue manager with all its messages.

    Raises Failure (MQRC_Q_MGR_NAME_ERROR) if there is none, InUse if it is running or applications are connected.
    """
    found = managers.load(name)
    store = Store(found.folder)
    try:
        recovery.recover(Engine.of(found, store), alive_file(found.folder))
        users = [f"process {row.pid} is connected: end it" for row in store.rows(ConnectionRow, sql.CONNECTIONS)]
        if service_lock.holder(found.folder):
            users.append("its service runs: end it with `mqlite end`")
        if users:
            raise InUse(f"AMQ5610E: queue manager {found.name} is running; {'; '.join(dict.fromkeys(users))}")
        if store.member:
            sharing_group.leave(store)
    finally:
        store.close()
    shutil.rmtree(found.folder)
