"""Connecting the two ends of a channel: finds the partner among the queue managers there are and opens both ports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqlite.attributes import Kind, Value
from mqlite.channels.engine_port import EnginePort
from mqlite.channels.partner import Candidate, Ends, PartnerMissing, choose, where
from mqlite.objects.definitions import Objects
from mqlite.objects.manager import Manager
from mqlite.storage import service_lock, sql
from mqlite.storage.channel_status import StatusFile
from mqlite.storage.rows import ManagerRow
from mqlite.storage.store import DATABASE, Store
from mqwire import constants as c

ANSWERING = (c.MQCHT_RECEIVER, c.MQCHT_REQUESTER)


def bind(manager: Manager, channel: str) -> Ends:
    """Connect a sending channel's two ends. Raises PartnerMissing, Refused."""
    values = channel_values(manager, channel)
    conname, queue = str(values["CONNAME"]), str(values["XMITQ"])
    home, named = where(manager.folder.parent, conname)
    found = choose(list(_candidates(manager, home, channel, named)), conname, queue)
    if not service_lock.holder(found.folder):
        raise PartnerMissing(f"AMQ9520E: queue manager {found.name} is not running")
    status = StatusFile(found.folder)
    there = status.read(channel)
    if there is not None and there.wanted == "STOP":
        status.close()
        raise PartnerMissing(f"AMQ9558E: channel {channel} is stopped at {found.name}")
    partner = manager_at(found.folder)
    return Ends(
        sender=EnginePort(manager, channel),
        receiver=EnginePort(partner, channel),
        receiver_values=channel_values(partner, channel),
        receiver_status=status,
        receiver_folder=found.folder,
        channel=channel,
    )


def manager_at(folder: Path) -> Manager:
    """The queue manager in a folder of any home."""
    store = Store(folder)
    try:
        row = store.row(ManagerRow, sql.MANAGER)
    finally:
        store.close()
    assert row is not None
    return Manager(folder=folder, **row._asdict())


def channel_values(manager: Manager, channel: str) -> dict[str, Value]:
    """The definition of a channel. Raises PartnerMissing if it was deleted."""
    store = Store(manager.folder)
    try:
        values = Objects(store, manager.platform).get(Kind.CHANNEL, channel)
    finally:
        store.close()
    if values is None:
        raise PartnerMissing(f"AMQ9519E: channel {channel} not found at {manager.name}")
    return values


def _candidates(manager: Manager, home: Path, channel: str, named: str) -> Iterator[Candidate]:
    """Every other queue manager with a receiver of that name."""
    for path in sorted(home.glob(f"*/{DATABASE}")):
        if path.parent.resolve() == manager.folder.resolve():
            continue
        other = manager_at(path.parent)
        if named and other.name != named:
            continue
        store = Store(other.folder)
        try:
            objects = Objects(store, other.platform)
            values = objects.get(Kind.CHANNEL, channel)
            listeners = [found for _, _, found in objects.find((Kind.LISTENER,))]
        finally:
            store.close()
        if values is not None and values["CHLTYPE"] in ANSWERING:
            ports = frozenset(int(str(found["PORT"])) for found in listeners)
            yield Candidate(folder=other.folder, name=other.name, ports=ports)
