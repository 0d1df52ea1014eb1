"""What the conditions for a trigger event need to know, by MQINQ and PCF inquiry of any queue manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mqops.counted import counted
from mqops.errors import MQError, SettingsError
from mqops.mq.inquire import (
    QueueState,
    command,
    dead_letter_queue,
    inquire_queues,
    is_zos,
    opened,
    queue_attribute,
    queue_manager_attribute,
    queue_manager_name,
    queue_state,
)
from mqops.mq.named_queue import leads_nowhere, wrong_name
from mqops.mq.session import Session, is_gone
from mqops.trigger.core.conditions import CHANNEL_INITIATOR
from mqops.trigger.core.triggered_queue import (
    MQTM_BYTES,
    DeadLetterQueue,
    Disposition,
    InitiationQueue,
    Reader,
    TriggeredQueue,
)
from mqops.trigger.in_estate import named_in_estate
from mqwire import constants as c
from mqwire.structures import MQDLH

DEFAULT_INITIATION_QUEUE = "SYSTEM.DEFAULT.INITIATION.QUEUE"
"""The one that every queue manager has, and that runmqtrm serves unless another is named."""

_HANDLE_ATTRIBUTES = [
    *(c.MQCACF_APPL_TAG, c.MQCACF_USER_IDENTIFIER, c.MQCACH_CHANNEL_NAME, c.MQIACF_OPEN_INPUT_TYPE),
]
_STATUS = (c.MQIACF_UNCOMMITTED_MSGS, c.MQCACF_LAST_PUT_DATE, c.MQCACF_LAST_PUT_TIME)
_USABLE = {
    c.MQIA_USAGE: c.MQUS_NORMAL,
    c.MQIA_INHIBIT_PUT: c.MQQA_PUT_ALLOWED,
    c.MQIA_INHIBIT_GET: c.MQQA_GET_ALLOWED,
}
"""What a local queue has that takes trigger messages."""
_DISPOSITIONS: dict[int, Disposition] = {c.MQQSGD_COPY: "COPY", c.MQQSGD_SHARED: "SHARED"}
_OTHER_KINDS = {c.MQQT_REMOTE: "a remote queue", c.MQQT_MODEL: "a model queue", c.MQQT_CLUSTER: "a cluster queue"}


@dataclass(frozen=True, slots=True)
class Manager:
    """What holds for all queues: the queue manager's name, whether it is on z/OS, TRIGINT in milliseconds."""

    name: str
    zos: bool
    interval: int


def manager(session: Session) -> Manager:
    """Raises `MQError`."""
    return Manager(
        queue_manager_name(session),
        is_zos(session),
        int(queue_manager_attribute(session, c.MQIA_TRIGGER_INTERVAL)),
    )


def triggered_queue(session: Session, name: str, of: Manager) -> TriggeredQueue:
    """A local queue, or the one that an alias stands for, as it is now.

    Raises:
        MQError: there is no such queue, or it may not be inquired.
        SettingsError: the name is that of a remote or model queue, which holds no messages.
    """
    with opened(session, name, c.MQOT_Q) as handle:
        queue = _Object(session, handle)
        kind = queue.number(c.MQIA_Q_TYPE)
        base = queue.text(c.MQCA_BASE_Q_NAME) if kind == c.MQQT_ALIAS else ""
        if kind == c.MQQT_LOCAL:
            return _of_local(session, queue, name, of)
    if base:
        return replace(triggered_queue(session, base, of), alias=name)
    raise SettingsError(
        f"{name} is {_OTHER_KINDS.get(kind, 'no local queue')}, which holds no messages: name a local queue, for a "
        "remote queue its transmission queue"
    )


class _Object:
    """An object that is open for inquiry."""

    def __init__(self, session: Session, handle: int) -> None:
        self._session, self._handle = session, handle

    def number(self, selector: int) -> int:
        return int(self._session.inquire(self._handle, selector))

    def text(self, selector: int) -> str:
        return str(self._session.inquire(self._handle, selector))


def _of_local(session: Session, queue: _Object, name: str, of: Manager) -> TriggeredQueue:
    process, named = queue.text(c.MQCA_PROCESS_NAME), queue.text(c.MQCA_INITIATION_Q_NAME)
    open_input = queue.number(c.MQIA_OPEN_INPUT_COUNT)
    transmission = queue.number(c.MQIA_USAGE) == c.MQUS_TRANSMISSION
    initiation = _initiation_queue(session, named, of) if named else None
    wrong = not named or (initiation is not None and (not initiation.local or initiation.transmission))
    usable = _usable_initiation_queue(session, name, of, transmission=transmission) if wrong else ""
    if named and initiation is None and (meant := wrong_name(session, named)):
        usable = meant.instead
    status = _status(session, name)
    undelivered = initiation is not None and not initiation.refused and initiation.local and initiation.takes_none
    return TriggeredQueue(
        name=name,
        queue_manager=of.name,
        zos=of.zos,
        interval=of.interval,
        control=queue.number(c.MQIA_TRIGGER_CONTROL) == c.MQTC_ON,
        type=queue.number(c.MQIA_TRIGGER_TYPE),
        trigger_depth=queue.number(c.MQIA_TRIGGER_DEPTH),
        priority=queue.number(c.MQIA_TRIGGER_MSG_PRIORITY),
        fifo=queue.number(c.MQIA_MSG_DELIVERY_SEQUENCE) == c.MQMDS_FIFO,
        default_priority=queue.number(c.MQIA_DEF_PRIORITY),
        transmission=transmission,
        disposition=_disposition(queue, of),
        put_allowed=queue.number(c.MQIA_INHIBIT_PUT) == c.MQQA_PUT_ALLOWED,
        get_allowed=queue.number(c.MQIA_INHIBIT_GET) == c.MQQA_GET_ALLOWED,
        depth=queue.number(c.MQIA_CURRENT_Q_DEPTH),
        max_depth=queue.number(c.MQIA_MAX_Q_DEPTH),
        open_input=open_input,
        readers=_readers(session, name) if open_input else (),
        uncommitted=status.uncommitted,
        last_put=status.last_put,
        process=process,
        process_defined=_is_defined(session, process) if process else _has_process(session, name),
        process_in_data="" if process or transmission else _process_in_data(session, queue.text(c.MQCA_TRIGGER_DATA)),
        initiation_name=named,
        initiation=initiation,
        usable_initiation=usable,
        usable_served=bool(usable) and _served_if_known(session, usable),
        dead_letters=_dead_letters(session) if undelivered else None,
    )


def _disposition(queue: _Object, of: Manager) -> Disposition:
    return _DISPOSITIONS.get(queue.number(c.MQIA_QSG_DISP), "") if of.zos else ""


def _is_defined(session: Session, process: str) -> bool | None:
    """None where this user may not inquire it: then one condition is unknown, and the others are judged."""
    try:
        with opened(session, process, c.MQOT_PROCESS):
            return True
    except MQError as error:
        if is_gone(error):
            return False
        if error.reason == c.MQRC_NOT_AUTHORIZED:
            return None
        raise


def _has_process(session: Session, name: str) -> bool:
    """Whether a process of this name is there; False, too, where it may not be inquired: it matters only for the
    command that is proposed."""
    try:
        return bool(_is_defined(session, name))
    except MQError as error:
        error.raise_if_lost()
        return False


def _process_in_data(session: Session, data: str) -> str:
    """The process that TRIGDATA names, as a whole or as its first word; "" where it names none."""
    words = dict.fromkeys((data, *data.split()[:1]))
    return next((one for one in words if 0 < len(one) <= c.MQ_PROCESS_NAME_LENGTH and _has_process(session, one)), "")


def _dead_letters(session: Session) -> DeadLetterQueue:
    """Whether the queue manager's dead-letter queue takes a trigger message behind an MQDLH."""
    try:
        name = dead_letter_queue(session)
    except SettingsError:
        return DeadLetterQueue(refuses="the queue manager names no dead-letter queue (DEADQ is blank)")
    try:
        if wrong := wrong_name(session, name):
            return DeadLetterQueue(name=name, refuses=f"DEADQ names {name}, {wrong.why}")
        return DeadLetterQueue(name=name, refuses=_refusal(queue_state(session, name)))
    except MQError as error:
        if error.reason != c.MQRC_NOT_AUTHORIZED:
            raise
        return DeadLetterQueue(name=name, known=False, refuses=f"the connection's user may not inquire {name} (+inq)")


def _refusal(queue: QueueState) -> str:
    needed = MQDLH.LAYOUT.size + MQTM_BYTES
    if not queue.put_allowed:
        return f"the dead-letter queue {queue.name} has PUT(DISABLED)"
    if queue.depth >= queue.max_depth:
        return f"the dead-letter queue {queue.name} is full (CURDEPTH {queue.depth:,}, MAXDEPTH {queue.max_depth:,})"
    if queue.max_msg_length < needed:
        least = counted(needed, "byte")
        return f"the dead-letter queue {queue.name} has MAXMSGL({queue.max_msg_length}), and it has {least} there"
    return ""


def _initiation_queue(session: Session, name: str, of: Manager) -> InitiationQueue | None:
    try:
        with opened(session, name, c.MQOT_Q) as handle:
            queue = _Object(session, handle)
            if queue.number(c.MQIA_Q_TYPE) != c.MQQT_LOCAL:
                return InitiationQueue(local=False)
            open_input = queue.number(c.MQIA_OPEN_INPUT_COUNT)
            return InitiationQueue(
                local=True,
                transmission=queue.number(c.MQIA_USAGE) == c.MQUS_TRANSMISSION,
                put_allowed=queue.number(c.MQIA_INHIBIT_PUT) == c.MQQA_PUT_ALLOWED,
                get_allowed=queue.number(c.MQIA_INHIBIT_GET) == c.MQQA_GET_ALLOWED,
                depth=queue.number(c.MQIA_CURRENT_Q_DEPTH),
                max_depth=queue.number(c.MQIA_MAX_Q_DEPTH),
                max_length=queue.number(c.MQIA_MAX_MSG_LENGTH),
                open_input=open_input,
                readers=_readers(session, name) if open_input else (),
                last_put=_status(session, name).last_put,
                disposition=_disposition(queue, of),
            )
    except MQError as error:
        if is_gone(error):
            return None
        if error.reason == c.MQRC_NOT_AUTHORIZED:
            return InitiationQueue(local=True, refused=f"the connection's user may not inquire {name} (+inq)")
        if leads_nowhere(error):
            return InitiationQueue(local=False)
        raise


def is_served(session: Session, initiation_queue: str) -> bool:
    """Whether a program has an initiation queue open for input; False if there is no such queue. Raises `MQError`."""
    try:
        return int(queue_attribute(session, initiation_queue, c.MQIA_OPEN_INPUT_COUNT)) > 0
    except MQError as error:
        if is_gone(error) or leads_nowhere(error):
            return False
        raise


def _served_if_known(session: Session, initiation_queue: str) -> bool:
    """As `is_served`; False where this user may not inquire it: then no command is proposed that relies on it."""
    try:
        return is_served(session, initiation_queue)
    except MQError as error:
        if error.reason != c.MQRC_NOT_AUTHORIZED:
            raise
        return False


def _readers(session: Session, queue: str) -> tuple[Reader, ...]:
    """The programs that have a queue open for input; none if the command server does not tell."""
    asked: dict[int, Any] = {
        c.MQCA_Q_NAME: queue.encode("utf-8", "surrogateescape"),
        c.MQIACF_Q_STATUS_TYPE: c.MQIACF_Q_HANDLE,
        c.MQIACF_Q_STATUS_ATTRS: _HANDLE_ATTRIBUTES,
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, object_name=queue)
    except MQError as error:
        error.raise_if_lost()
        return ()
    return tuple(
        Reader(
            application=row.get(c.MQCACF_APPL_TAG, ""),
            user=row.get(c.MQCACF_USER_IDENTIFIER, ""),
            channel=row.get(c.MQCACH_CHANNEL_NAME, ""),
        )
        for row in rows
        if row.get(c.MQIACF_OPEN_INPUT_TYPE, c.MQQSO_NO) != c.MQQSO_NO
    )


@dataclass(frozen=True, slots=True)
class _Status:
    """What DISPLAY QSTATUS tells: `uncommitted` None and `last_put` "" if the command server does not."""

    uncommitted: bool | None = None
    last_put: str = ""


def _status(session: Session, queue: str) -> _Status:
    asked: dict[int, Any] = {
        c.MQCA_Q_NAME: queue.encode("utf-8", "surrogateescape"),
        c.MQIACF_Q_STATUS_ATTRS: list(_STATUS),
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, object_name=queue)
    except MQError as error:
        error.raise_if_lost()
        return _Status()
    uncommitted = [row[c.MQIACF_UNCOMMITTED_MSGS] for row in rows if c.MQIACF_UNCOMMITTED_MSGS in row]
    put = [f"{row.get(c.MQCACF_LAST_PUT_DATE, '')} {row.get(c.MQCACF_LAST_PUT_TIME, '')}".strip() for row in rows]
    return _Status(any(uncommitted) if uncommitted else None, max(put, default=""))


def _usable_initiation_queue(session: Session, queue: str, of: Manager, *, transmission: bool) -> str:
    """An initiation queue for a queue whose INITQ names none: one that the estate or another queue names, before others
    one that is open for input; else the default one of the queue manager, for a transmission queue that of the channel
    initiator."""
    if transmission:
        return CHANNEL_INITIATOR
    try:
        rows = inquire_queues(session, "*", (c.MQCA_INITIATION_Q_NAME, c.MQIA_OPEN_INPUT_COUNT, *_USABLE))
    except MQError as error:
        error.raise_if_lost()
        return DEFAULT_INITIATION_QUEUE  # knowing less, it proposes the one that is always there
    usable = [row for row in rows if all(row.get(attribute) == value for attribute, value in _USABLE.items())]
    served = {row[c.MQCA_Q_NAME]: row.get(c.MQIA_OPEN_INPUT_COUNT, 0) > 0 for row in usable}
    others = {row.get(c.MQCA_INITIATION_Q_NAME, "") for row in rows if row[c.MQCA_Q_NAME] != queue}
    named = (*named_in_estate(of.name).initiation_queues, *sorted(others - {CHANNEL_INITIATOR}))
    there = [name for name in named if name in served]
    return next((name for name in there if served[name]), there[0] if there else DEFAULT_INITIATION_QUEUE)


@dataclass(frozen=True, slots=True)
class Definitions:
    """What triggering is made of on a queue manager: names, in order.

    Attributes: `all_queues` the local queues; `queues` those with TRIGGER or with an INITQ; `processes` that are
    defined, but for IBM's own, each with its APPLICID, None where they may not be inquired; `named` processes that
    queues name.
    """

    all_queues: frozenset[str]
    queues: tuple[str, ...]
    processes: Mapping[str, str] | None
    named: frozenset[str]


def definitions(session: Session) -> Definitions:
    """What an audit looks at. Raises `MQError` if the command server refuses."""
    wanted = (c.MQIA_TRIGGER_CONTROL, c.MQCA_INITIATION_Q_NAME, c.MQCA_PROCESS_NAME)
    rows = inquire_queues(session, "*", wanted)
    concerned = [
        row for row in rows if row.get(c.MQIA_TRIGGER_CONTROL) == c.MQTC_ON or row.get(c.MQCA_INITIATION_Q_NAME)
    ]
    return Definitions(
        all_queues=frozenset(row[c.MQCA_Q_NAME] for row in rows),
        queues=tuple(sorted(row[c.MQCA_Q_NAME] for row in concerned)),
        processes=_processes(session),
        named=frozenset(row.get(c.MQCA_PROCESS_NAME, "") for row in rows),
    )


def _processes(session: Session) -> dict[str, str] | None:
    try:
        rows = command(session, "MQCMD_INQUIRE_PROCESS", {c.MQCA_PROCESS_NAME: b"*"})
    except MQError as error:
        if is_gone(error):
            return {}
        if error.reason == c.MQRC_NOT_AUTHORIZED:
            return None
        raise
    found = {row[c.MQCA_PROCESS_NAME]: str(row.get(c.MQCA_APPL_ID, "")) for row in rows if c.MQCA_PROCESS_NAME in row}
    return {name: program for name, program in found.items() if not name.startswith("SYSTEM.")}
