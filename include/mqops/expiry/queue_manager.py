"""Expiry on a queue manager: queues and their depths, a browse that makes it discard what has expired, the command.

The browse takes no data along (a buffer of no length, truncation accepted): only descriptors travel, and only the queue
manager decides what has expired and sends the reports that were asked for (law 6).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from datetime import datetime

from mqops.clock import utc_now
from mqops.errors import MQError, SettingsError, mq_error
from mqops.expiry.core.candidates import QueueNow
from mqops.expiry.core.outcome import DeadLetterQueue, QueueScan, Remaining
from mqops.mq.browse import OPEN_OPTIONS, SLACK
from mqops.mq.inquire import (
    command,
    dead_letter_queue,
    depth,
    inquire_queues,
    is_zos,
    last_puts,
    queue_manager_attribute,
)
from mqops.mq.named_queue import definition_of
from mqops.mq.session import Session
from mqops.queue_names import selected
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

BROWSE_OPTIONS = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_BROWSE_NEXT | c.MQGMO_ACCEPT_TRUNCATED_MSG
) | c.MQGMO_PROPERTIES_FORCE_MQRFH2
_expiry = MQMD_LAYOUT.reader("expiry")


def local_queues(session: Session) -> list[QueueNow]:
    """All local queues with their depths. Raises `MQError`: the queue manager cannot be inquired."""
    puts = last_puts(session)
    attributes = (c.MQIA_CURRENT_Q_DEPTH, c.MQIA_INHIBIT_GET, *((c.MQIA_QSG_DISP,) if is_zos(session) else ()))
    return [
        QueueNow(
            name=row[c.MQCA_Q_NAME],
            depth=row[c.MQIA_CURRENT_Q_DEPTH],
            get_allowed=row[c.MQIA_INHIBIT_GET] == c.MQQA_GET_ALLOWED,
            last_put=puts.get(row[c.MQCA_Q_NAME], ""),
            shared=row.get(c.MQIA_QSG_DISP) == c.MQQSGD_SHARED,
        )
        for row in inquire_queues(session, "*", attributes)
    ]


def named_by(queues: Iterable[QueueNow], patterns: Iterable[str]) -> list[QueueNow]:
    """Those that are named by `patterns` (see `selected`).

    Raises:
        MQError: a name without `*` is none of them (2085).
    """
    wanted = tuple(patterns)
    found = [queue for queue in queues if selected(queue.name, wanted)]
    there = {queue.name for queue in found}
    for name in wanted:
        if "*" not in name and name not in there:
            raise mq_error(c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQCMD_INQUIRE_Q", object_name=name)
    return sorted(found, key=lambda queue: queue.name)


def bases_of(session: Session, queues: Iterable[QueueNow], patterns: Iterable[str]) -> dict[str, str]:
    """Alias → its base queue, of the names among `patterns` that are no local queue's.

    Raises:
        MQError: there is no queue of a name (2085).
        SettingsError: a name is that of a remote or model queue.
    """
    local = {queue.name for queue in queues}
    found = {}
    for name in patterns:
        if "*" in name or name in local:
            continue
        there = definition_of(session, name)
        if there and there.kind in {"remote", "model"}:
            raise SettingsError(f"{name} is a {there.kind} queue, which holds no messages: name a local queue")
        if there and there.kind == "alias" and there.base:
            _refuse_no_local(session, name, there.base, local)
            found[name] = there.base
    return found


def _refuse_no_local(session: Session, alias: str, base: str, local: Container[str]) -> None:
    """Raises `MQError` for an alias of what is no local queue (2085). One that may not be inquired is let through."""
    if base in local:
        return
    try:
        behind = definition_of(session, base)
    except MQError as error:
        if error.reason != c.MQRC_NOT_AUTHORIZED:
            raise
        return
    if behind is None or behind.kind != "local":
        raise mq_error(c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQCMD_INQUIRE_Q", object_name=alias)


def scan_queue(session: Session, queue: str, *, now: Callable[[], datetime], last_put: str = "") -> QueueScan:
    """Browse a queue to its end, so that the queue manager discards what has expired.

    Parameters: `now` gives the time, with time zone; `last_put` what the queue manager answered before, for the next
    scan.

    Raises:
        MQError: the queue cannot be browsed.
    """
    handle = session.open(queue, OPEN_OPTIONS)
    try:
        there, busy = _depth_and_users(session, handle)
        remaining = Remaining()
        for _ in range(2 * there + SLACK):
            got = session.get(handle, BROWSE_OPTIONS, room=0, name=queue)
            if got is None:
                break
            remaining.add(_expiry(got.md)[0])
        at = now()
        after, still_busy = _depth_and_users(session, handle)
    finally:
        session.close(handle)
    return QueueScan(
        queue=queue,
        there=there,
        discarded=there - after,
        left=remaining.messages,
        in_flight=after - remaining.messages,
        next_expiry=remaining.next_expiry(at),
        soon=dict(remaining.soon),
        exact=not busy and not still_busy,
        last_put=last_put,
        scanned_at=at.isoformat(),
    )


def _depth_and_users(session: Session, handle: int) -> tuple[int, bool]:
    messages, *users = (
        int(session.inquire(handle, selector))
        for selector in (c.MQIA_CURRENT_Q_DEPTH, c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT)
    )
    return messages, any(users)


def dead_letters_now(session: Session) -> DeadLetterQueue | None:
    """The dead-letter queue before a scan, None where there is none, or where it may not be inquired."""
    since = utc_now()
    try:
        name = dead_letter_queue(session)
        there = depth(session, name)
    except (MQError, SettingsError):
        return None
    return DeadLetterQueue(name=name, before=there, after=there, since=since)


def dead_letters_since(session: Session, before: DeadLetterQueue | None) -> DeadLetterQueue | None:
    """The dead-letter queue before a scan and now, None where that is not known. Parameters: `before` as
    `dead_letters_now` gave it."""
    now = dead_letters_now(session)
    return replace(before, after=now.after) if before and now and now.name == before.name else None


def group_of(session: Session) -> str:
    """The queue-sharing group of the queue manager, blank for none. Raises `MQError`."""
    return str(queue_manager_attribute(session, c.MQCA_QSG_NAME)) if is_zos(session) else ""


def has_refresh(session: Session) -> bool:
    """Whether the platform has REFRESH QMGR TYPE(EXPIRY): z/OS has. Raises `MQError`."""
    return is_zos(session)


def refresh_expiry(session: Session, generic_name: str) -> bool:
    """REFRESH QMGR TYPE(EXPIRY) NAME(generic_name), by PCF (E18); False where the command server does not know it.

    Raises:
        MQError: the command server refused.
    """
    arguments = {c.MQIACF_REFRESH_TYPE: c.MQRT_EXPIRY, c.MQCACF_OBJECT_NAME: generic_name.encode()}
    try:
        command(session, "MQCMD_REFRESH_Q_MGR", arguments, object_name=generic_name)
    except MQError as error:
        if error.reason == c.MQRCCF_CFH_COMMAND_ERROR:
            return False
        raise
    return True
