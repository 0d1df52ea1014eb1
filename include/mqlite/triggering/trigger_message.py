"""The trigger message: an MQTM, the descriptor that goes with it, and where it is put.

1. Text is in the character set of the queue manager, numbers are in its encoding.
2. Priority and persistence are the defaults of the initiation queue; it never expires (T17, E08).
3. One that the initiation queue does not take (2053, 2030) goes to the dead-letter queue behind an MQDLH; one that the
   dead-letter queue does not take either is discarded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.message_rows import QueuedMessage, add_message, row_of
from mqlite.objects.definitions import Attributes
from mqlite.objects.engine import Engine, LocalQueue
from mqlite.storage import sql
from mqwire import constants as c
from mqwire.structures import MQDLH, MQMD, MQTM


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerMessage:
    """A trigger message that is to be written.

    Parameters: `queue` that is triggered; `initiation` queue that it is for; `process` the definition that QUEUE's
    PROCESS names, None where it names none; `owner` the connection in whose unit of work it is put, 0 for none;
    `stays` even if that is backed out.
    """

    queue: LocalQueue
    initiation: LocalQueue
    process: Attributes | None
    owner: int
    stays: bool


def content(queue: LocalQueue, process: Attributes | None) -> MQTM:
    """What a trigger message says; without a process that is the queue and its trigger data (T06)."""
    trigger_message = MQTM(q_name=queue.name, trigger_data=str(queue.local["TRIGDATA"]), appl_type=c.MQAT_UNKNOWN)
    if process is None:
        return trigger_message
    return replace(
        trigger_message,
        process_name=str(queue.local["PROCESS"]),
        appl_type=int(str(process["APPLTYPE"])),
        appl_id=str(process["APPLICID"]),
        env_data=str(process["ENVRDATA"]),
        user_data=str(process["USERDATA"]),
    )


def descriptor(engine: Engine, initiation: LocalQueue) -> MQMD:
    """The descriptor of a trigger message."""
    manager, local = engine.manager, initiation.local
    kept = local["DEFPSIST"] == c.MQPER_PERSISTENT and local.get("DEFTYPE") != c.MQQDT_TEMPORARY_DYNAMIC
    date, time = d.put_moment()
    return MQMD(
        format=c.MQFMT_TRIGGER, encoding=manager.encoding, coded_char_set_id=manager.ccsid,
        priority=int(str(local["DEFPRTY"])),
        persistence=c.MQPER_PERSISTENT if kept else c.MQPER_NOT_PERSISTENT,
        msg_id=engine.new_msg_id(), reply_to_q_mgr=manager.name,
        put_appl_type=c.MQAT_QMGR, put_appl_name=manager.name[:28], put_date=date, put_time=time,
    )  # fmt: skip


def put_on_initiation_queue(engine: Engine, message: TriggerMessage) -> QueuedMessage:
    """Raises Failure with the reason why it cannot stand there."""
    manager = engine.manager
    body = content(message.queue, message.process).pack(encoding=manager.encoding, ccsid=manager.ccsid)
    return _put(engine, message, message.initiation, descriptor(engine, message.initiation), body)


def put_on_dead_letter_queue(
    engine: Engine, message: TriggerMessage, reason: int
) -> tuple[LocalQueue, QueuedMessage] | None:
    """The dead-letter queue and the message on it; None where the message had to be discarded."""
    manager = engine.manager
    queue = engine.local_queue(str(engine.objects.manager()["DEADQ"]))
    if queue is None or queue.local["PUT"] == c.MQQA_PUT_INHIBITED:
        return None
    md = descriptor(engine, message.initiation)
    header = MQDLH(
        reason=reason, dest_q_name=message.initiation.name, dest_q_mgr_name=manager.name, encoding=md.encoding,
        coded_char_set_id=md.coded_char_set_id, format=md.format, put_appl_type=md.put_appl_type,
        put_appl_name=md.put_appl_name, put_date=md.put_date, put_time=md.put_time,
    )  # fmt: skip
    body = b"".join(
        part.pack(encoding=manager.encoding, ccsid=manager.ccsid)
        for part in (header, content(message.queue, message.process))
    )
    try:
        return queue, _put(engine, message, queue, replace(md, format=c.MQFMT_DEAD_LETTER_HEADER), body)
    except Failure:
        return None


def _put(engine: Engine, message: TriggerMessage, queue: LocalQueue, md: MQMD, body: bytes) -> QueuedMessage:
    state = sql.TRIGGER_MESSAGE if message.stays else sql.PUT_IN_UNIT
    row = row_of(queue.number, queue.local, md.pack(), body, owner=message.owner, state=state)
    seq = add_message(engine.store, queue.name, queue.local, row)
    persistent = md.persistence == c.MQPER_PERSISTENT
    return QueuedMessage(queue=queue.number, name=queue.name, persistent=persistent, seq=seq, stays=message.stays)
