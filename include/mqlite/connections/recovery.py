"""Back out the units of work of processes that died. The next process that connects or waits does it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mqlite.attributes import Kind
from mqlite.objects.definitions import Attributes
from mqlite.objects.engine import Engine
from mqlite.storage import sql
from mqlite.storage.alive import AliveFile
from mqlite.storage.rows import MemberConnection, QueueRow
from mqlite.storage.store import Store
from mqlite.triggering import trigger_events as triggering

MANAGED_QUEUES = "SYSTEM.MANAGED."  # queues of managed subscriptions are called so
DURABLE = 1  # a subscription's DURABLE(YES)


def recover(engine: Engine, lives: AliveFile) -> bool:
    """Back out the units of work of dead connections, unlock their messages and close their handles.

    Returns True if there was a dead connection.
    """
    store = engine.store
    if not dead_of(store, lives):
        return False
    with store.write():
        dead = dead_of(store, lives)
        end(engine, dead)
    return bool(dead)


def end(engine: Engine, connections: Sequence[MemberConnection]) -> None:
    """Back out the units of work of connections, unlock their messages and close their handles, in the caller's
    transaction.

    Parameters: `connections` member (blank outside a queue-sharing group) and number of each.
    """
    store = engine.store
    served: dict[str, set[int]] = {member: set() for member, _ in connections}
    for member, connection in connections:
        with store.acting_for(member):
            back_out_all(store, connection)
            served[member] |= drop_handles(store, connection)
            store.execute(sql.DELETE_CONNECTION, (connection,))
    handled = set[int]()  # queues that no program serves any more: their event 12 was handled for all members
    for each in engine.members() if connections else ():
        with each.acting():
            queues = served.get(each.member, set[int]()) - handled
            triggering.closed(each, queues)
        handled |= {queue for queue in queues if not store.value(sql.OPEN_COUNTS, (queue,))}


def stop(engine: Engine, lives: AliveFile, connection: int) -> None:
    """Break a connection that is alive: what its unit of work did is undone, and it finds out with its next call.

    It writes nothing meanwhile: a connection that takes the write lock checks first whether it was stopped.
    """
    with engine.store.write():
        lives.stop(connection)
        end(engine, [MemberConnection(engine.member, connection)])


def dead_of(store: Store, lives: AliveFile) -> list[MemberConnection]:
    """The dead connections, of every member of a queue-sharing group; `member` is blank outside one."""
    if store.member:
        return [row for row in store.rows(MemberConnection, sql.CONNECTIONS_OF_GROUP) if not lives.is_alive(row.id)]
    return [MemberConnection("", number) for (number,) in store.all(sql.CONNECTION_IDS) if not lives.is_alive(number)]


def back_out_all(store: Store, connection: int) -> None:
    """Undo every uncommitted put and get of a connection, in the caller's transaction."""
    for (queue,) in store.all(sql.QUEUE_IDS):
        if store.one(sql.HELD_ON, (queue, connection)) is None:
            continue
        puts = store.execute(sql.BACK_OUT_PUTS, (queue, connection)).rowcount
        gets = store.execute(sql.BACK_OUT_GETS, (queue, connection)).rowcount
        store.execute(sql.RELEASE_ALL, (queue, connection))
        if puts != gets:
            store.execute(sql.CHANGE_DEPTH, (gets - puts, queue))


def drop_handles(store: Store, connection: int) -> set[int]:
    """Close every handle of a connection; queues and subscriptions that lived for it go.

    Returns the queues it had open for input.
    """
    handles = store.all(sql.HANDLES_OF, (connection,))
    queues = {queue for queue, _ in handles}
    store.execute(sql.DELETE_HANDLES, (connection,))
    for name, text in store.all(sql.SUBSCRIPTIONS_OF, (connection,)):
        leave_subscription(store, name, json.loads(text))
    for queue, name in store.all(sql.TEMPORARY_OF, (connection,)):
        queues.discard(queue)
        delete_queue(store, queue, name)
    for queue in queues:
        row = store.row(QueueRow, sql.QUEUE_BY_ID, (queue,))
        if row and (row.deleted or abandoned(store, queue, row.name)):
            delete_queue(store, queue, row.name)
    return {queue for queue, for_input in handles if for_input}


def leave_subscription(store: Store, name: str, values: Attributes, *, remove: bool = False) -> None:
    """Close a subscription: a durable one stays unless it is to be removed; else its managed queue goes with it."""
    if values["DURABLE"] == DURABLE and not remove:
        store.execute(sql.SET_OBJECT, (Kind.SUB, name, json.dumps({**values, "CONNECTION": 0}, ensure_ascii=False)))
        return
    store.execute(sql.DELETE_OBJECT, (Kind.SUB, name))
    store.execute(sql.TOUCH_MANAGER)
    queue = str(values["DEST"])
    row = store.row(QueueRow, sql.QUEUE, (queue,))
    if row and abandoned(store, row.id, queue):
        delete_queue(store, row.id, queue)


def abandoned(store: Store, queue: int, name: str) -> bool:
    """Whether a queue was made for a subscription that was deleted, and no program has the queue open."""
    if not name.startswith(MANAGED_QUEUES) or store.one(sql.IS_OPEN, (queue,)):
        return False
    row = store.row(QueueRow, sql.QUEUE_BY_ID, (queue,))
    return row is not None and bool(row.dynamic) and store.one(sql.IS_DESTINATION, (name,)) is None


def delete_queue(store: Store, queue: int, name: str, *, with_authority: bool = True) -> None:
    """Delete a local queue with all its messages; while somebody has it open it is only marked (logically deleted)."""
    store.execute(sql.DELETE_ALL, (queue,))
    store.execute(sql.DELETE_OBJECT, (Kind.QLOCAL, name))
    if with_authority:
        store.execute(sql.DELETE_AUTHORITY, ("QUEUE", name))
    store.execute(sql.TOUCH_MANAGER)
    if store.one(sql.IS_OPEN, (queue,)):
        store.execute(sql.MARK_DELETED, (queue,))
    else:
        store.execute(sql.DELETE_QUEUE, (queue,))
