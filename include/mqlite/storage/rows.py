"""Rows of the store by name. A statement of `sql` lists the fields of its row as its columns, in their order."""

from __future__ import annotations

from typing import NamedTuple


class NewMessage(NamedTuple):
    """A message to be stored.

    Attributes: `queue` its number; `state` and `rank` as of `sql`; `owner` the connection whose unit of work it is in,
    0 for none; `expires` and `stored` tenths of a second since 1970; identifiers of zeros are None.
    """

    queue: int
    state: int
    rank: int
    owner: int
    expires: int
    persistent: int
    msg_id: bytes
    correl_id: bytes | None
    group_id: bytes | None
    msg_seq_number: int
    msg_offset: int
    stored: int
    md: bytes
    body: bytes


class FoundMessage(NamedTuple):
    """A message that a get or a browse has found.

    Attributes: `seq` its number; `expires` and `stored` tenths of a second since 1970; `backouts` BackoutCount;
    `version` and `deleted` of its queue, `objects` the version of all definitions (`Versions`).
    """

    seq: int
    expires: int
    backouts: int
    stored: int
    persistent: int
    md: bytes
    body: bytes
    rank: int
    state: int
    version: int
    deleted: int
    objects: int


class Versions(NamedTuple):
    """What changes with the attributes of a queue, and with any definition."""

    version: int
    deleted: int
    objects: int


class ExpiredMessage(NamedTuple):
    """A message whose Expiry has passed; `queue` is the number of its queue."""

    queue: int
    md: bytes
    body: bytes


class UncommittedPut(NamedTuple):
    """A message that a unit of work has put and not yet committed.

    Attributes: `seq` its number on the queue manager; `rank` its place by priority, 0 is got first.
    """

    seq: int
    rank: int


class QueueRow(NamedTuple):
    """A local queue.

    Attributes: `id` its number; `version` changes with its attributes; `dynamic` MQQDT_* or 0; `creator` the connection
    that made a dynamic queue; `deleted` 1 if it is logically deleted.
    """

    id: int
    name: str
    depth: int
    version: int
    dynamic: int
    creator: int
    deleted: int


class OpenCounts(NamedTuple):
    """How many handles have a queue open, for what."""

    input: int
    output: int
    exclusive: int


class ManagerRow(NamedTuple):
    """A queue manager. `identity` as of `mqlite.objects.manager.Manager`."""

    name: str
    platform: str
    ccsid: int
    encoding: int
    identity: bytes


class ObjectRow(NamedTuple):
    """A definition; `attributes` as JSON."""

    name: str
    attributes: str


class ConnectionRow(NamedTuple):
    """A connection; `started` when, in ISO form."""

    id: int
    pid: int
    user: str
    application: str
    channel: str
    conn_name: str
    started: str


class MemberConnection(NamedTuple):
    """A connection to a member of a queue-sharing group."""

    member: str
    id: int


class HandleRow(NamedTuple):
    """An open queue and the connection that has it open; `options` MQOO_*."""

    options: int
    input: int
    output: int
    exclusive: int
    pid: int
    user: str
    application: str
    channel: str
    conn_name: str
