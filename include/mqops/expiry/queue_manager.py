"""Expiry on a queue manager: queues and their depths, a browse that makes it discard what has expired, the command.

The browse takes no data along (a buffer of no length, truncation accepted): only descriptors travel, and only the queue
manager decides what has expired and sends the reports that were asked for (law 6).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from mqops.clock import utc, utc_now
from mqops.errors import MQError, SettingsError, mq_error
from mqops.expiry.core.candidates import QueueNow, with_kinds
from mqops.expiry.core.outcome import DeadLetterQueue, QueueScan, Remaining
from mqops.mq.browse import OPEN_OPTIONS, SLACK
from mqops.mq.inquire import (
    command,
    dead_letter_queue,
    deadq,
    depth,
    inquire_queues,
    is_zos,
    monitored,
    queue_manager_attribute,
    queue_manager_name,
)
from mqops.mq.named_queue import definition_of
from mqops.mq.session import Session
from mqops.queue_names import selected
from mqops.storage import dead_letters_in_estate, named_in_estate
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

BROWSE_OPTIONS = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_BROWSE_NEXT | c.MQGMO_ACCEPT_TRUNCATED_MSG
) | c.MQGMO_PROPERTIES_FORCE_MQRFH2
_descriptor = MQMD_LAYOUT.reader("expiry", "report", "persistence", "put_date", "put_time")


def local_queues(session: Session) -> list[QueueNow]:
    """All local queues with their depths and what they are for, by two inquiries. The estate names storage queues and
    further dead-letter queues.

    Raises:
        MQError: the queue manager cannot be inquired.
    """
    told = monitored(session)
    attributes = (
        *(c.MQIA_CURRENT_Q_DEPTH, c.MQIA_INHIBIT_GET, c.MQCA_BACKOUT_REQ_Q_NAME),
        *((c.MQIA_QSG_DISP,) if is_zos(session) else ()),
    )
    queues = [
        QueueNow(
            name=row[c.MQCA_Q_NAME],
            depth=row[c.MQIA_CURRENT_Q_DEPTH],
            get_allowed=row[c.MQIA_INHIBIT_GET] == c.MQQA_GET_ALLOWED,
            last_put=told[row[c.MQCA_Q_NAME]].last_put if row[c.MQCA_Q_NAME] in told else "",
            shared=row.get(c.MQIA_QSG_DISP) == c.MQQSGD_SHARED,
            oldest=told[row[c.MQCA_Q_NAME]].oldest if row[c.MQCA_Q_NAME] in told else None,
            backout_queue=str(row.get(c.MQCA_BACKOUT_REQ_Q_NAME, "")),
        )
        for row in inquire_queues(session, "*", attributes)
    ]
    name = queue_manager_name(session)
    try:
        dead, storage = dead_letters_in_estate(name), named_in_estate(name)
    except SettingsError:
        dead = storage = ()  # the scan goes on: `mqops estate check` says what is wrong
    return with_kinds(queues, dead_letters={deadq(session), *dead}, storage=storage)


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
        remaining, began = Remaining(), utc()
        for _ in range(2 * there + SLACK):
            got = session.get(handle, BROWSE_OPTIONS, room=0, name=queue)
            if got is None:
                break
            expiry, report, persistence, date, time = _descriptor(got.md)
            age = 0 if expiry == c.MQEI_UNLIMITED else _age(date, time, began)
            remaining.add(expiry, report=report, persistence=persistence, age=age)
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
        histogram=remaining.lifetimes.histogram(at),
        shortest=remaining.shortest,
        exact=not busy and not still_busy,
        last_put=last_put,
        scanned_at=at.isoformat(),
    )


def _age(date: bytes, time: bytes, now: datetime) -> int:
    """Seconds since a message was put; 0 where that is not known, or is to come by this machine's clock."""
    put = _put_at(date, time[:6])
    return max(0, int((now - put).total_seconds())) if put else 0


@lru_cache(maxsize=4096)
def _put_at(date: bytes, time: bytes) -> datetime | None:
    """Parameters: `date` and `time` YYYYMMDD and HHMMSS, UTC."""
    try:
        return datetime.strptime((date + time).decode("ascii"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


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


def expiry_interval(session: Session) -> int:
    """EXPRYINT of a queue manager on z/OS, in seconds, 0 for OFF. Raises `MQError`."""
    return int(queue_manager_attribute(session, c.MQIA_EXPIRY_INTERVAL))


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
