"""MQCMIT, MQBACK and MQDISC: how a unit of work ends.

A unit of work is the rows that its connection has put (hidden) and got (hidden, to be deleted). Ending it is one
transaction, waited for on disk where persistent messages are in it.
"""

from __future__ import annotations

from mqlite.connections.connection import Connection, UnitOfWork, forget
from mqlite.connections.recovery import back_out_all, drop_handles
from mqlite.failure import Failure
from mqlite.messages.events import message_available
from mqlite.messages.message_rows import QueuedMessage
from mqlite.storage import sql
from mqlite.storage.rows import QueueRow
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c


def commit(connection: Connection) -> None:
    """MQCMIT: what was put becomes available, what was got is gone."""
    unit = connection.unit
    if not unit.queues:
        return
    store = connection.store
    if store.member and unit.names:
        connection.look_for_dead()  # who do not count as serving a shared queue that messages come to now (T04, T08)
    caused: tuple[QueuedMessage, ...] = ()
    try:
        with store.write(durable=unit.persistent):
            for queue, held in unit.queues.items():
                puts, gets = held.puts, held.gets
                whole = not gets or store.execute(sql.COMMIT_GETS, (queue, connection.id)).rowcount == gets
                if puts and store.member:
                    found, triggers = triggering.committed(connection.engine, queue, connection.id)
                    whole = found == puts and whole
                    caused += triggers
                elif puts:
                    whole = store.execute(sql.COMMIT_PUTS, (queue, connection.id)).rowcount == puts and whole
                if not whole and exists(connection, queue):  # another process took this one for dead
                    raise Failure(c.MQRC_BACKED_OUT, "the unit of work is not whole")
            release_triggers(connection)
    except Failure:
        back_out(connection)
        raise
    connection.unit = UnitOfWork()
    for name in unit.names:
        message_available(connection, name)
    for message in caused:
        connection.announce(message, syncpoint=False)


def release_triggers(connection: Connection) -> None:
    """Trigger messages of type FIRST and DEPTH come to light with the end of the unit of work (T10a)."""
    for queue in connection.unit.kept:
        connection.store.execute(sql.RELEASE_TRIGGERS, (queue, connection.id))


def exists(connection: Connection, queue: int) -> bool:
    """Whether a queue is still there: one deleted with messages of a unit of work takes them with it."""
    row = connection.store.row(QueueRow, sql.QUEUE_BY_ID, (queue,))
    return row is not None and not row.deleted


def back_out(connection: Connection, *, requested: bool = False) -> None:
    """MQBACK: what was put is gone, what was got is back in its place, its BackoutCount one higher (P07, K01).

    Parameters: `requested` by the application itself. Then a marked get is not undone but begins a new unit of work
    (K02), in which it is a get like any other.
    """
    unit = connection.unit
    if not unit.queues:
        return
    store = connection.store
    marked = unit.marked if requested else None
    aside = marked.rows if marked is not None else ()
    with store.write():  # not waited for: what a power failure takes of it is backed out afterwards
        for row in aside:
            store.execute(sql.SET_ASIDE, (row, connection.id))
        for queue in unit.queues:
            puts = store.execute(sql.BACK_OUT_PUTS, (queue, connection.id)).rowcount
            gets = store.execute(sql.BACK_OUT_GETS, (queue, connection.id)).rowcount
            if puts != gets:
                store.execute(sql.CHANGE_DEPTH, (gets - puts, queue))
        release_triggers(connection)
        for row in aside:
            store.execute(sql.SET_ASIDE, (row, -connection.id))
    connection.unit = UnitOfWork()
    for undo in reversed(unit.undo):
        if marked is None or undo is not marked.undo:
            undo()
    if marked is not None:
        marked.begin()
    message_available(connection, "")


def disconnect(connection: Connection, number: int, *, keep: bool = True) -> None:
    """MQDISC: commits the unit of work (`keep`; an ending process backs out), closes every handle."""
    try:
        if keep:
            commit(connection)
    finally:
        try:
            with connection.store.write():
                back_out_all(connection.store, connection.id)
                served = drop_handles(connection.store, connection.id)
                triggering.closed(connection.engine, served)
        finally:
            connection.handles.clear()
            forget(number)
            connection.leave()
        message_available(connection, "")
