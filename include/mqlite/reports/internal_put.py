"""What the queue manager itself has made (a report, a dead letter) is put on a queue, by name.

On the way to another queue manager it is wrapped for its channel first. All within the caller's transaction.
"""

from __future__ import annotations

from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages.message_rows import QueuedMessage, add_message, cap_expiry, cap_of, row_of
from mqlite.messages.transmission import transmit
from mqlite.objects.resolve import resolve
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c


def put_internally(
    connection: Connection, queue: str, queue_manager: str, md: bytearray, body: bytes, *, syncpoint: bool = False
) -> QueuedMessage:
    """Put a message on a queue, and see to its triggering.

    Raises Failure with the reason why it cannot stand there.
    """
    resolved = resolve(connection.objects, connection.manager.name, queue, queue_manager)
    found = connection.engine.local_queue(resolved.queue)
    if found is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, resolved.queue)
    definitions = (found.local, resolved.attributes, *resolved.through)
    if any(definition.get("PUT") == c.MQQA_PUT_INHIBITED for definition in definitions):
        raise Failure(c.MQRC_PUT_INHIBITED, found.name)
    cap_expiry(md, cap_of(definitions))
    if resolved.remote_queue_manager:
        md, body = transmit(connection, resolved, md, body, msg_id=connection.new_msg_id())
    owner = connection.id if syncpoint else 0
    row = row_of(found.number, found.local, md, body, owner=owner)
    seq = add_message(connection.store, found.name, found.local, row)
    caused: tuple[QueuedMessage, ...] = ()
    if found.local["TRIGGER"]:
        caused = triggering.message_put(connection.engine, found, rank=row.rank, owner=owner)
    return QueuedMessage(queue=found.number, name=found.name, persistent=bool(row.persistent), seq=seq, caused=caused)
