"""Back out the units of work of processes that died. Whoever connects or waits does it for them."""

from __future__ import annotations

from mqlite import sql, triggering
from mqlite.alive import AliveFile
from mqlite.attributes import Kind
from mqlite.engine import Engine
from mqlite.store import Store


def recover(engine: Engine, lives: AliveFile) -> bool:
    """Back out, unlock and close all that belongs to dead connections; True if there was any."""
    store = engine.store
    if not any(not lives.is_alive(row[0]) for row in store.all(sql.CONNECTION_IDS)):
        return False
    with store.write():
        dead = [row[0] for row in store.all(sql.CONNECTION_IDS) if not lives.is_alive(row[0])]
        served = set[int]()
        for connection in dead:
            back_out_all(store, connection)
            served |= drop_handles(store, connection)
            store.execute(sql.DELETE_CONNECTION, (connection,))
        triggering.closed(engine, served)
    return bool(dead)


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
    """Close every handle of a connection; queues that lived for it go. Returns the queues it had open for input."""
    handles = store.all(sql.HANDLES_OF, (connection,))
    queues = {queue for queue, _ in handles}
    store.execute(sql.DELETE_HANDLES, (connection,))
    for queue, name in store.all(sql.TEMPORARY_OF, (connection,)):
        queues.discard(queue)
        delete_queue(store, queue, name)
    for queue in queues:
        row = store.one(sql.QUEUE_BY_ID, (queue,))
        if row and row[5]:
            delete_queue(store, queue, row[0])
    return {queue for queue, for_input in handles if for_input}


def delete_queue(store: Store, queue: int, name: str) -> None:
    """Delete a local queue with all its messages; while somebody has it open it is only marked (logically deleted)."""
    store.execute(sql.DELETE_ALL, (queue,))
    store.execute(sql.DELETE_OBJECT, (Kind.QLOCAL, name))
    store.execute(sql.TOUCH_MANAGER)
    if store.one(sql.IS_OPEN, (queue,)):
        store.execute(sql.MARK_DELETED, (queue,))
    else:
        store.execute(sql.DELETE_QUEUE, (queue,))
