"""Attributes of the queue manager and its queues, by MQINQ and PCF."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from mqops.errors import MQError, SettingsError, mq_error
from mqops.model import QueueDefinition
from mqops.mq.library import library
from mqops.mq.session import Session, is_gone
from mqops.queue_names import selected
from mqwire import constants as c
from mqwire.fields import before_nul

FEW_ANSWERS = 5_000
"""Milliseconds for the answers to a command about one object."""
MANY_ANSWERS = 60_000
"""Milliseconds for those about many: all of them expire when it is over, as pymqi asks, also while they are got."""

ASKED_BY_NAME = 4
"""How many queues are asked for one by one. The status of more is got by one command, with that of all other queues."""
SILENCE = 30.0
"""Seconds for which the commands of a session are not sent after one that got no answer: each would wait as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """A local queue as it is now. `depth` and `max_depth` in messages, `max_msg_length` in bytes; `transmission`
    whether its USAGE is XMITQ."""

    name: str
    depth: int
    max_depth: int
    max_msg_length: int
    put_allowed: bool
    get_allowed: bool
    open_input: int
    transmission: bool
    backout_threshold: int
    backout_queue: str


@contextmanager
def opened(session: Session, name: str, kind: int) -> Iterator[int]:
    """The handle of an object that is open for inquiry meanwhile. Parameters: `kind` MQOT_*. Raises `MQError`."""
    handle = session.open(name, c.MQOO_INQUIRE | c.MQOO_FAIL_IF_QUIESCING, kind=kind)
    try:
        yield handle
    finally:
        session.close(handle)


def queue_manager_attribute(session: Session, selector: int) -> int | str:
    """An attribute of the queue manager, MQIA_* or MQCA_*. Raises `MQError`."""
    with opened(session, "", c.MQOT_Q_MGR) as handle:
        return session.inquire(handle, selector)


def is_zos(session: Session) -> bool:
    """Whether the queue manager is on z/OS. Raises `MQError`."""
    return int(queue_manager_attribute(session, c.MQIA_PLATFORM)) == c.MQPL_ZOS


def queue_attribute(session: Session, queue: str, selector: int) -> int | str:
    """An attribute of a queue, MQIA_* or MQCA_*, by MQINQ. Raises `MQError`."""
    with opened(session, queue, c.MQOT_Q) as handle:
        return session.inquire(handle, selector)


def is_shareable(session: Session, queue: str) -> bool:
    """Whether several handles may have a local queue, or the base queue of an alias, open for input. Raises `MQError`.

    IBM MQ, "Shareability": without it MQOO_INPUT_SHARED is treated as MQOO_INPUT_EXCLUSIVE.
    """
    return queue_attribute(session, base_queue(session, queue), c.MQIA_SHAREABILITY) == c.MQQA_SHAREABLE


def queue_manager_name(session: Session) -> str:
    """The name of the queue manager that answers, asked once in a session. Raises `MQError`."""
    if not session.own_name:
        session.own_name = str(queue_manager_attribute(session, c.MQCA_Q_MGR_NAME))
    return session.own_name


def deadq(session: Session) -> str:
    """The queue manager's DEADQ, "" where it names none. Raises `MQError`."""
    return str(queue_manager_attribute(session, c.MQCA_DEAD_LETTER_Q_NAME))


def dead_letter_queue(session: Session) -> str:
    """The queue manager's DEADQ.

    Raises:
        MQError: the queue manager cannot be inquired.
        SettingsError: it names none.
    """
    name = deadq(session)
    if not name:
        raise SettingsError(f"{session.name} has no dead-letter queue: ALTER QMGR DEADQ(name), or name the queue")
    return name


def depth(session: Session, queue: str) -> int:
    """Current depth of a queue, of an alias that of its base queue, in messages, those of unfinished units of work
    included; -1 where only the alias may be inquired.

    An alias has no depth of its own, and who may use it needs no authority to its base queue (IBM MQ, Some cases where
    the MQINQ call fails; Considerations for alias queues).

    Raises:
        MQError: the queue is not there or may not be inquired.
    """
    with opened(session, queue, c.MQOT_Q) as handle:
        base = _base_of(session, handle)
        if not base:
            return int(session.inquire(handle, c.MQIA_CURRENT_Q_DEPTH))
    try:
        with opened(session, base, c.MQOT_Q) as handle:
            return int(session.inquire(handle, c.MQIA_CURRENT_Q_DEPTH))
    except MQError as error:
        if error.reason != c.MQRC_NOT_AUTHORIZED:
            raise
        return c.MQIAV_NOT_APPLICABLE


def queue_state(session: Session, queue: str) -> QueueState:
    """What a local queue would do with a message. Raises `MQError`."""
    with opened(session, queue, c.MQOT_Q) as handle:
        return _state_of(session, handle, queue)


def type_and_state(session: Session, queue: str) -> tuple[int, QueueState | None]:
    """The type of a queue (MQQT_*), and its state where it is a local queue, by one opening. Raises `MQError`."""
    with opened(session, queue, c.MQOT_Q) as handle:
        kind = int(session.inquire(handle, c.MQIA_Q_TYPE))
        return kind, _state_of(session, handle, queue) if kind == c.MQQT_LOCAL else None


def _state_of(session: Session, handle: int, queue: str) -> QueueState:
    def number(selector: int) -> int:
        return int(session.inquire(handle, selector))

    return QueueState(
        name=queue,
        depth=number(c.MQIA_CURRENT_Q_DEPTH),
        max_depth=number(c.MQIA_MAX_Q_DEPTH),
        max_msg_length=number(c.MQIA_MAX_MSG_LENGTH),
        put_allowed=number(c.MQIA_INHIBIT_PUT) == c.MQQA_PUT_ALLOWED,
        get_allowed=number(c.MQIA_INHIBIT_GET) == c.MQQA_GET_ALLOWED,
        open_input=number(c.MQIA_OPEN_INPUT_COUNT),
        transmission=number(c.MQIA_USAGE) == c.MQUS_TRANSMISSION,
        backout_threshold=number(c.MQIA_BACKOUT_THRESHOLD),
        backout_queue=str(session.inquire(handle, c.MQCA_BACKOUT_REQ_Q_NAME)),
    )


def base_queue(session: Session, queue: str) -> str:
    """The local queue that an alias stands for, else the name itself (an alias of an alias does not exist).

    Raises:
        MQError: the queue is not there or may not be inquired.
    """
    with opened(session, queue, c.MQOT_Q) as handle:
        return _base_of(session, handle) or queue


def gone_of(session: Session, queues: Iterable[str]) -> tuple[str, ...]:
    """Those of these queues that are not there any more. Raises `MQError`: a queue cannot be inquired."""
    return tuple(queue for queue in queues if not _is_there(session, queue))


def _is_there(session: Session, queue: str) -> bool:
    try:
        with opened(session, queue, c.MQOT_Q):
            return True
    except MQError as error:
        if is_gone(error):
            return False
        raise


def base_queue_if_known(session: Session, queue: str) -> str:
    """As `base_queue`; the name itself if the queue manager refuses to answer. Raises `MQError` for a lost
    connection."""
    try:
        return base_queue(session, queue)
    except MQError as error:
        error.raise_if_lost()
        return queue


def _base_of(session: Session, handle: int) -> str:
    """The queue that an alias stands for, blank for a queue that is not an alias."""
    if int(session.inquire(handle, c.MQIA_Q_TYPE)) != c.MQQT_ALIAS:
        return ""
    return str(session.inquire(handle, c.MQCA_BASE_Q_NAME))


class ResolvedQueue(NamedTuple):
    """The queue on which messages stand after a put to a name (IBM MQ, "Queue name resolution").

    Attributes: `queue` the local queue, blank if there is none or it cannot be browsed; `why` the reason for a blank
    `queue`; `transmission_queue` on which the messages wait if they go to another queue manager, else blank; `remote`
    the name of the queue on that queue manager; `direct` whether the name itself is the transmission queue: then the
    queue manager adds no MQXQH to a message.
    """

    queue: str
    why: str = ""
    transmission_queue: str = ""
    direct: bool = False
    remote: str = ""


def try_resolve_queue(session: Session, queue: str, queue_manager: str) -> ResolvedQueue:
    """As `resolve_queue`, but an error becomes the `why` of the result.

    Parameters: `queue_manager` blank for the queue manager that is connected.
    """
    try:
        return resolve_queue(session, queue, queue_manager)
    except MQError as error:
        return ResolvedQueue("", str(error))


def resolve_queue(session: Session, queue: str, queue_manager: str) -> ResolvedQueue:
    """Resolve a name as MQOPEN does. A name ends at its first NUL, as in every call to the queue manager.

    Parameters: `queue_manager` blank for the queue manager that is connected.

    Raises:
        MQError: the name cannot be opened or inquired.
    """
    queue, queue_manager = before_nul(queue), before_nul(queue_manager)
    own = queue_manager_name(session)
    if queue_manager not in {"", own}:
        return _by_open(session, queue, queue_manager, own, f"it is a queue of queue manager {queue_manager}")
    there = _described(session, queue)
    if there.base:
        there = _described(session, there.base)
    if there.type == c.MQQT_REMOTE:
        return _by_open(session, queue, "", own, "it is not a local queue")
    if there.type != c.MQQT_LOCAL:
        return ResolvedQueue("", "it is not a local queue")
    if there.usage == c.MQUS_TRANSMISSION:
        return ResolvedQueue("", "it is a transmission queue", transmission_queue=there.name, direct=True)
    return ResolvedQueue(there.name)


class _Described(NamedTuple):
    name: str
    type: int
    base: str
    usage: int


def _described(session: Session, queue: str) -> _Described:
    """What decides where a name leads, by one opening: of an alias its base queue, of a local queue its usage."""
    with opened(session, queue, c.MQOT_Q) as handle:
        kind = int(session.inquire(handle, c.MQIA_Q_TYPE))
        base = str(session.inquire(handle, c.MQCA_BASE_Q_NAME)) if kind == c.MQQT_ALIAS else ""
        usage = int(session.inquire(handle, c.MQIA_USAGE)) if kind == c.MQQT_LOCAL else c.MQUS_NORMAL
    return _Described(queue, kind, base, usage)


def _by_open(session: Session, queue: str, queue_manager: str, own: str, why: str) -> ResolvedQueue:
    """Resolve a name by opening it. Parameters: `own` name of the queue manager; `why` the destination cannot be
    browsed if messages wait on a transmission queue.

    The queue manager makes an MQXQH only for a queue of another queue manager. The names are compared, too: a shared
    queue has its queue-sharing group's name in place of the queue manager's.
    """
    there = session.local_queue(queue, queue_manager)
    if queue_attribute(session, there, c.MQIA_USAGE) != c.MQUS_TRANSMISSION:
        return ResolvedQueue(there)
    final, manager = session.final_queue(queue, queue_manager)
    direct = manager in {"", own} or final == there
    return ResolvedQueue("", why, transmission_queue=there, direct=direct, remote="" if direct else final)


def cannot_be_put_to(session: Session, queue: str, queue_manager: str = "") -> MQError | None:
    """The error of opening a queue for a handler's puts, None if there is none. Nothing is put.

    Parameters: `queue_manager` blank for the one that is connected.
    """
    options = c.MQOO_OUTPUT | c.MQOO_PASS_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
    try:
        session.close(session.open(queue, options, queue_manager=queue_manager))
    except MQError as error:
        return error
    return None


def has_uncommitted(session: Session, queue: str) -> bool:
    """Whether units of work have puts or gets on a queue (of an alias: its base queue) that are not committed, by PCF.

    Raises:
        MQError: the queue may not be inquired, or the command server refused.
    """
    name = base_queue(session, queue)
    asked: dict[int, Any] = {c.MQCA_Q_NAME: name.encode(), c.MQIACF_Q_STATUS_ATTRS: [c.MQIACF_UNCOMMITTED_MSGS]}
    rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, object_name=name)
    return any(row.get(c.MQIACF_UNCOMMITTED_MSGS, 0) for row in rows)


def settled_queues(session: Session, names: Collection[str]) -> frozenset[str]:
    """Those of these queues that are local and have no uncommitted messages, by PCF; none where the command server does
    not tell. A few are asked for by their names: the queue manager may have thousands. Raises `MQError` for a lost
    connection."""
    asked: dict[int, Any] = {c.MQIACF_Q_STATUS_ATTRS: [c.MQCA_Q_NAME, c.MQIACF_UNCOMMITTED_MSGS]}
    found = set()
    for name in names if len(names) <= ASKED_BY_NAME else ("*",):
        try:
            rows = command(session, "MQCMD_INQUIRE_Q_STATUS", {c.MQCA_Q_NAME: name.encode(), **asked})
        except MQError as error:
            error.raise_if_lost()
            continue
        told = [row for row in rows if c.MQCA_Q_NAME in row and c.MQIACF_UNCOMMITTED_MSGS in row]
        found |= {str(row[c.MQCA_Q_NAME]) for row in told if not row[c.MQIACF_UNCOMMITTED_MSGS]}
    return frozenset(found.intersection(names))


def still_settled(session: Session, settled: frozenset[str]) -> frozenset[str]:
    """Those of `settled_queues` that have no uncommitted messages now either. Raises `MQError` for a lost
    connection."""
    if len(settled) <= ASKED_BY_NAME:
        return settled_queues(session, settled)
    uncommitted = queues_above_zero(session, c.MQIACF_UNCOMMITTED_MSGS)
    return frozenset() if uncommitted is None else settled - uncommitted


def queues_above_zero(session: Session, selector: int) -> frozenset[str] | None:
    """The local queues in whose status a number is above zero, by PCF with a filter, so that the queue manager answers
    for these alone; None where the command server does not tell.

    Parameters: `selector` MQIA_* or MQIACF_* of the number.

    Raises:
        MQError: the connection is lost.
    """
    asked: dict[int, Any] = {c.MQCA_Q_NAME: b"*", c.MQIACF_Q_STATUS_ATTRS: [c.MQCA_Q_NAME, selector]}
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, above_zero=selector)
    except MQError as error:
        error.raise_if_lost()
        return frozenset() if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME else None  # no queue fits the filter
    return frozenset(str(row[c.MQCA_Q_NAME]) for row in rows if c.MQCA_Q_NAME in row and row.get(selector))


KINDS = {c.MQQT_LOCAL: "local", c.MQQT_ALIAS: "alias", c.MQQT_REMOTE: "remote", c.MQQT_MODEL: "model"}
DEFINITION = (
    *(c.MQIA_Q_TYPE, c.MQIA_BACKOUT_THRESHOLD, c.MQCA_BACKOUT_REQ_Q_NAME),
    *(c.MQCA_BASE_Q_NAME, c.MQIA_INHIBIT_PUT, c.MQIA_CURRENT_Q_DEPTH, c.MQIA_USAGE),
    *(c.MQIA_MAX_Q_DEPTH, c.MQIA_MAX_MSG_LENGTH),
)
"""The attributes of a queue that its definition has."""


def queue_definitions(session: Session) -> tuple[QueueDefinition, ...]:
    """The definitions of all queues of the queue manager, of every kind, by PCF. Raises `MQError`."""
    return definitions_in(inquire_queues(session, "*", DEFINITION, kind=c.MQQT_ALL))


def definitions_in(rows: Iterable[Mapping[int, Any]]) -> tuple[QueueDefinition, ...]:
    """The definitions of queues. Parameters: `rows` of `inquire_queues`, with `DEFINITION` among the attributes."""
    return tuple(
        QueueDefinition(
            name=row[c.MQCA_Q_NAME],
            kind=KINDS.get(row[c.MQIA_Q_TYPE], "other"),
            base=row.get(c.MQCA_BASE_Q_NAME, ""),
            threshold=row.get(c.MQIA_BACKOUT_THRESHOLD, 0),
            backout_queue=row.get(c.MQCA_BACKOUT_REQ_Q_NAME, ""),
            put_allowed=row.get(c.MQIA_INHIBIT_PUT, c.MQQA_PUT_ALLOWED) == c.MQQA_PUT_ALLOWED,
            depth=row.get(c.MQIA_CURRENT_Q_DEPTH, 0),
            transmission=row.get(c.MQIA_USAGE) == c.MQUS_TRANSMISSION,
            max_depth=row.get(c.MQIA_MAX_Q_DEPTH, 0),
            max_length=row.get(c.MQIA_MAX_MSG_LENGTH, 0),
        )
        for row in rows
    )


def inquire_queues(
    session: Session, generic_name: str, selectors: tuple[int, ...] = (), *, kind: int = c.MQQT_LOCAL
) -> list[dict[int, Any]]:
    """Attributes of all queues whose name fits, by PCF MQCMD_INQUIRE_Q: selector → value, text stripped.

    Parameters: `generic_name` a name or a beginning with `*`; `selectors` MQIA_* and MQCA_* that are wanted, none for
    all; `kind` of queues, MQQT_*. A name that fits no queue gives an empty list.

    Raises:
        MQError: the command server refused.
    """
    arguments: dict[int, Any] = {
        c.MQCA_Q_NAME: generic_name.encode("utf-8", "surrogateescape"),
        c.MQIA_Q_TYPE: kind,
    }
    if selectors:
        arguments[c.MQIACF_Q_ATTRS] = [c.MQCA_Q_NAME, *selectors]
    try:
        rows = command(session, "MQCMD_INQUIRE_Q", arguments, object_name=generic_name)
    except MQError as error:
        if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME:
            return []
        raise
    return [row for row in rows if c.MQCA_Q_NAME in row]


def queue_names(session: Session, *, kind: int = c.MQQT_LOCAL) -> set[str]:
    """The names of all queues of a kind, MQQT_*, also of those that this user may not inquire (IBM MQ, "Authorizations
    for PCF commands": Inquire object names has no check). Raises `MQError`."""
    arguments: dict[int, Any] = {c.MQCA_Q_NAME: b"*", c.MQIA_Q_TYPE: kind}
    rows = command(session, "MQCMD_INQUIRE_Q_NAMES", arguments)
    return {str(_text(name)) for row in rows for name in row.get(c.MQCACF_Q_NAMES, ())}


def unseen_queues(session: Session, patterns: Iterable[str], *, told: Collection[str] = ()) -> tuple[str, ...]:
    """The local queues that patterns mean (`mqops.queue_names.selected`) and that this user may not inquire, sorted:
    the queue manager leaves them out of its answers, as if they were not there.

    Parameters: `told` the queues of an inquiry about all of this session. Where no other queue has a name, none is
    unseen, and this costs one question.

    Raises:
        MQError: the command server refused.
    """
    wanted = tuple(patterns)
    before = {name for name in queue_names(session) if selected(name, wanted)}
    if before.issubset(told):
        return ()
    unseen = before - {str(row[c.MQCA_Q_NAME]) for row in inquire_queues(session, "*", (c.MQIA_Q_TYPE,))}
    return tuple(sorted(unseen & queue_names(session) if unseen else ()))  # there before and after


LAST_PUT = (c.MQCACF_LAST_PUT_DATE, c.MQCACF_LAST_PUT_TIME)


class Monitored(NamedTuple):
    """What the queue manager monitors of a queue (MONQ). Parameters: `last_put` date and time, blank where it does not
    tell; `oldest` age of the oldest message in seconds, None where it does not."""

    last_put: str
    oldest: int | None


def monitored(session: Session) -> dict[str, Monitored]:
    """Queue → what the queue manager monitors of it; nothing where it does not answer: knowing less, a scan looks at
    more."""
    wanted = [c.MQCA_Q_NAME, *LAST_PUT, c.MQIACF_OLDEST_MSG_AGE]
    arguments: dict[int, Any] = {c.MQCA_Q_NAME: b"*", c.MQIACF_Q_STATUS_ATTRS: wanted}
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", arguments)
    except MQError:
        return {}
    return {
        row[c.MQCA_Q_NAME]: Monitored(last_put(row), monitored_figure(row.get(c.MQIACF_OLDEST_MSG_AGE)))
        for row in rows
        if c.MQCA_Q_NAME in row
    }


def monitored_figure(value: object) -> int | None:
    """A figure of the status; None where the queue manager does not monitor it (MQMON_NOT_AVAILABLE is -1)."""
    return value if isinstance(value, int) and value >= 0 else None


def last_puts(session: Session) -> dict[str, str]:
    """Queue → date and time of its last put, as the queue manager tells them; without those it does not monitor."""
    return {queue: one.last_put for queue, one in monitored(session).items()}


def last_put(status: Mapping[int, Any]) -> str:
    """Date and time of the last put on a queue by its status, blank where the queue manager does not monitor it."""
    return " ".join(status.get(selector, "") for selector in LAST_PUT).strip()


def command(
    session: Session, name: str, arguments: dict[int, Any], *, object_name: str = "", above_zero: int = 0
) -> list[dict[int, Any]]:
    """Have the command server do a PCF command: the parameters of each answer, text stripped.

    It goes to the queue that the queue manager names as its command queue (COMMANDQ).

    Parameters: `name` MQCMD_*; `above_zero` the selector of a number that is above zero in all answers, 0 for none.
    z/OS answers with messages and a summary besides, which name no object.

    Raises:
        MQError: the command server refused, or did not answer in time.
    """
    wait = FEW_ANSWERS
    if above_zero or any(isinstance(value, bytes) and value.endswith(b"*") for value in arguments.values()):
        _refuse_silent(session)
        wait = MANY_ANSWERS
    with command_server(session, name, object_name, wait=wait) as server:
        filters = [library().Filter(above_zero).greater(0)] if above_zero else []
        replies = getattr(server, name)(arguments, filters)
    return [{key: _text(value) for key, value in reply.items()} for reply in replies]


def _refuse_silent(session: Session) -> None:
    """Ask something small, once in a session and after a command that got no answer: where nothing serves commands,
    that is told soon. A refusal is an answer: on z/OS who may not DISPLAY QMGR may DISPLAY QUEUE. Raises `MQError`."""
    if session.commands_are_answered:
        return
    try:
        with command_server(session, "MQCMD_INQUIRE_Q_MGR", session.name) as server:
            server.MQCMD_INQUIRE_Q_MGR({c.MQIACF_Q_MGR_ATTRS: [c.MQCA_Q_MGR_NAME]})
    except MQError as error:
        error.raise_if_lost()
        if error.reason == c.MQRC_NO_MSG_AVAILABLE:
            raise
    session.commands_are_answered = True


@contextmanager
def command_server(session: Session, name: str, object_name: str = "", *, wait: int = FEW_ANSWERS) -> Iterator[Any]:
    """pymqi's `PCFExecute`: the command server, and one queue for all of its answers.

    Parameters: `name` MQCMD_* of the command, and `object_name` what it is for, which an error names; `wait`
    milliseconds for the answers. Raises `MQError`; at once for `SILENCE` after a command that got no answer.
    """
    mqi = library()
    if session.unanswered_at is not None and time.monotonic() - session.unanswered_at < SILENCE:
        raise mq_error(c.MQCC_FAILED, c.MQRC_NO_MSG_AVAILABLE, verb=name, object_name=object_name)
    queue = str(queue_manager_attribute(session, c.MQCA_COMMAND_INPUT_Q_NAME)).encode()
    try:
        server = mqi.PCFExecute(session.pymqi_manager, command_queue_name=queue, response_wait_interval=wait)
        try:
            yield server
        finally:
            server.disconnect()  # deletes the dynamic queue of its answers
    except (mqi.MQMIError, MQError) as error:
        if error.reason == c.MQRC_NO_MSG_AVAILABLE:
            session.commands_are_answered, session.unanswered_at = False, time.monotonic()
        if isinstance(error, MQError):  # of one of several commands, by who sends them
            raise
        raise mq_error(error.comp, error.reason, verb=name, object_name=object_name) from None


def _text(value: Any) -> Any:
    return value.rstrip(b" \0").decode("latin-1") if isinstance(value, bytes) else value
