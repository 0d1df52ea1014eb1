"""Back out the units of work of processes that died. Whoever connects or waits does it for them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mqlite import sql, triggering
from mqlite.alive import AliveFile
from mqlite.attributes import Kind
from mqlite.engine import Engine
from mqlite.objects import Attributes
from mqlite.store import Store
from mqlite.taken import remove

MANAGED_QUEUES = "SYSTEM.MANAGED."  # queues of managed subscriptions are called so
DURABLE = 1  # a subscription's DURABLE(YES)


def recover(engine: Engine, lives: AliveFile) -> bool:
    """Back out, unlock and close all that belongs to dead connections; True if there was any."""
    store = engine.store
    if not dead_of(store, lives):
        return False
    with store.write():
        dead = dead_of(store, lives)
        store.forget_waiting()
        end(engine, dead)
    for _, connection in dead:
        remove(store.folder, connection)
    return bool(dead)


def end(engine: Engine, connections: Sequence[tuple[str, int]]) -> None:
    """Back out, unlock and close all that belongs to connections, in the caller's transaction.

    Parameters: `connections` member (blank outside a queue-sharing group) and number of each.
    """
    store = engine.store
    served: dict[str, set[int]] = {member: set() for member, _ in connections}
    for member, connection in connections:
        with store.acting_for(member):
            back_out_all(store, connection)
            served[member] |= drop_handles(store, connection)
            store.execute(sql.DELETE_CONNECTION, (connection,))
    told = set[int]()  # queues that nobody serves any more: that was everybody's event
    for each in engine.members() if connections else ():
        with each.acting():
            queues = served.get(each.member, set[int]()) - told
            triggering.closed(each, queues)
        told |= {queue for queue in queues if not store.one(sql.OPEN_COUNTS, (queue,))[0]}


def stop(engine: Engine, lives: AliveFile, connection: int) -> None:
    """Break a connection that is alive: what its unit of work did is undone, and it finds out with its next call.

    It writes nothing meanwhile: whoever has the write lock looks first whether it was stopped.
    """
    with engine.store.write():
        lives.stop(connection)
        end(engine, [(engine.member, connection)])
    remove(engine.store.folder, connection)


def dead_of(store: Store, lives: AliveFile) -> list[tuple[str, int]]:
    """The dead connections, of every member of a queue-sharing group: member (blank outside one) and number."""
    if store.member:
        return [(row[1], row[0]) for row in store.all(sql.CONNECTIONS_OF_GROUP) if not lives.is_alive(row[0])]
    return [("", row[0]) for row in store.all(sql.CONNECTION_IDS, settled=False) if not lives.is_alive(row[0])]


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
        row = store.one(sql.QUEUE_BY_ID, (queue,))
        if row and (row[5] or abandoned(store, queue, row[0])):
            delete_queue(store, queue, row[0])
    return {queue for queue, for_input in handles if for_input}


def leave_subscription(store: Store, name: str, values: Attributes, *, remove: bool = False) -> None:
    """Close a subscription: a durable one stays unless it is to be removed; else its managed queue goes with it."""
    if values["DURABLE"] == DURABLE and not remove:
        store.execute(sql.SET_OBJECT, (Kind.SUB, name, json.dumps({**values, "CONNECTION": 0}, ensure_ascii=False)))
        return
    store.execute(sql.DELETE_OBJECT, (Kind.SUB, name))
    store.execute(sql.TOUCH_MANAGER)
    queue = str(values["DEST"])
    row = store.one(sql.QUEUE, (queue,))
    if row and abandoned(store, row[0], queue):
        delete_queue(store, row[0], queue)


def abandoned(store: Store, queue: int, name: str) -> bool:
    """Whether a queue was made for a subscription that is gone, and nobody has it open any more."""
    if not name.startswith(MANAGED_QUEUES) or store.one(sql.IS_OPEN, (queue,)):
        return False
    dynamic = bool(store.one(sql.QUEUE_BY_ID, (queue,))[3])
    return dynamic and store.one(sql.IS_DESTINATION, (name,)) is None


def delete_queue(store: Store, queue: int, name: str) -> None:
    """Delete a local queue with all its messages; while somebody has it open it is only marked (logically deleted)."""
    store.execute(sql.DELETE_ALL, (queue,))
    store.execute(sql.DELETE_OBJECT, (Kind.QLOCAL, name))
    store.execute(sql.DELETE_AUTHORITY, ("QUEUE", name))
    store.execute(sql.TOUCH_MANAGER)
    if store.one(sql.IS_OPEN, (queue,)):
        store.execute(sql.MARK_DELETED, (queue,))
    else:
        store.execute(sql.DELETE_QUEUE, (queue,))
