"""What stands behind a name: a queue's definition as MQINQ tells it, an alias said in words, a DEADQ that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from mqops.errors import ADVICE, MQError, SettingsError, mq_error
from mqops.misnamed import Misnamed, is_alias, misnamed
from mqops.model import QueueDefinition
from mqops.mq.inquire import KINDS, base_queue, dead_letter_queue, inquire_queues, opened, queue_names
from mqops.mq.session import Session
from mqops.mqsc import mqsc_name
from mqops.queue_names import selected
from mqwire import constants as c

_TELLS = {
    c.MQRC_DYNAMIC_Q_NAME_ERROR: "model",
    **dict.fromkeys((c.MQRC_UNKNOWN_ALIAS_BASE_Q, c.MQRC_ALIAS_BASE_Q_TYPE_ERROR), "alias"),
    **dict.fromkeys((c.MQRC_UNKNOWN_XMIT_Q, c.MQRC_UNKNOWN_DEF_XMIT_Q, c.MQRC_XMIT_Q_TYPE_ERROR), "remote"),
    c.MQRC_UNKNOWN_REMOTE_Q_MGR: "remote",
}
"""Reason why a name cannot be opened for inquiry → the kind of queue that has this reason."""


def definition_of(session: Session, name: str) -> QueueDefinition | None:
    """The queue of a name, None where there is none.

    A model queue cannot be inquired by MQINQ: opening it makes a dynamic queue, and mqops gives no name for one (2011).

    Raises:
        MQError: the queue may not be inquired.
    """
    try:
        with opened(session, name, c.MQOT_Q) as handle:
            kind = KINDS.get(int(session.inquire(handle, c.MQIA_Q_TYPE)), "other")
            base = str(session.inquire(handle, c.MQCA_BASE_Q_NAME)) if kind == "alias" else ""
            usage = int(session.inquire(handle, c.MQIA_USAGE)) if kind == "local" else c.MQUS_NORMAL
    except MQError as error:
        if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME:
            return None
        if error.reason not in _TELLS:
            raise
        kind = _TELLS[error.reason]
        return _alias_as_commanded(session, name) if kind == "alias" else QueueDefinition(name=name, kind=kind)
    return QueueDefinition(name=name, kind=kind, base=base, transmission=usage == c.MQUS_TRANSMISSION)


def _alias_as_commanded(session: Session, name: str) -> QueueDefinition:
    """An alias that leads to no queue, by PCF; without its base where the command server refuses."""
    attributes = (c.MQCA_BASE_Q_NAME, c.MQIA_BASE_TYPE)
    try:
        row = next(iter(inquire_queues(session, name, attributes, kind=c.MQQT_ALIAS)), {})
    except MQError as error:
        error.raise_if_lost()
        row = {}
    kind = "topic" if row.get(c.MQIA_BASE_TYPE) == c.MQOT_TOPIC else "alias"
    return QueueDefinition(name=name, kind=kind, base=str(row.get(c.MQCA_BASE_Q_NAME, "")))


def leads_nowhere(error: MQError) -> bool:
    """Whether a queue could not be opened because its name is not that of a queue here that has messages."""
    return error.reason in _TELLS


def wrong_name(session: Session, name: str) -> Misnamed | None:
    """Why a name is not that of a local queue for messages. None where it is. What an alias stands for is told with it,
    and is `instead` where it is a local queue. Raises as `definition_of`."""
    found = definition_of(session, name)
    wrong = misnamed(name, found, () if found else _local_names(session))
    behind = wrong_name(session, found.base) if found and found.base else None
    return replace(wrong, instead="", why=f"{wrong.why}, {behind.why}") if wrong and behind else wrong


def _local_names(session: Session) -> tuple[str, ...]:
    """The local queues that the command server tells, for a guess; none where it refuses."""
    try:
        return tuple(queue_names(session))
    except MQError as error:
        error.raise_if_lost()
        return ()


def told_with_name(session: Session, error: MQError) -> MQError | None:
    """An error with what stands behind the queue's name that it is about, and what to write instead. None where the
    name is not the cause, or nothing more is known."""
    name = error.object_name.partition(" ")[0]  # "QUEUE of QMGR"
    if error.reason not in _OF_NAMES or not name or error.advice != ADVICE.get(error.reason, ""):
        return None
    try:
        found = definition_of(session, name)
        advice = "" if found is None and error.reason != c.MQRC_UNKNOWN_OBJECT_NAME else _about(session, name, found)
    except MQError:
        return None
    if not advice:
        return None
    return mq_error(error.comp, error.reason, verb=error.verb, object_name=error.object_name, advice=advice)


_OF_NAMES = frozenset({*_TELLS, c.MQRC_UNKNOWN_OBJECT_NAME, c.MQRC_OPTION_NOT_VALID_FOR_TYPE})
"""Reasons that a name of a queue can have, where a local queue is wanted."""
_HOLDS_NONE = {
    "remote": "a remote queue, which holds no messages here: name its transmission queue, or a local queue",
    "model": "a model queue, which holds no messages: name a local queue",
}
"""Kind of queue → what is said of one that is named where a local queue is wanted."""


def _about(session: Session, name: str, found: QueueDefinition | None) -> str:
    """What stands behind a name that cannot be used, and what mends it, "" where a queue is there that can."""
    if found is None:
        names = _local_names(session)
        wrong = misnamed(name, None, names)
        if wrong and wrong.instead:
            return f"It is not there, {wrong.instead} is: names of queues are case-sensitive"
        near = next(iter(difflib.get_close_matches(name, sorted(names), n=1)), "")
        like = f". The nearest name is {near}" if near else ""
        return f"Define it, or correct the name: DEFINE QLOCAL({mqsc_name(name)}){like}"
    if found.kind == "topic":
        return f"It is an alias of the topic {found.base}, which holds no messages: name the queue of a subscription"
    if found.kind == "alias":
        return _about_alias(session, name, found.base)
    return f"It is {_HOLDS_NONE[found.kind]}" if found.kind in _HOLDS_NONE else ""


def _about_alias(session: Session, name: str, base: str) -> str:
    """As `_about`, of an alias. Parameters: `base` "" where that is not known."""
    behind = definition_of(session, base) if base else None
    alter = f"ALTER QALIAS({mqsc_name(name)}) TARGET"
    if behind is None:
        mend = f"DEFINE QLOCAL({mqsc_name(base)}), or {alter}(...)"
        return f"It is an alias of {base or 'a queue'}, which is not there: {mend}"
    if behind.kind == "alias":
        mend = f"{alter}({mqsc_name(behind.base) if behind.base else '...'})"
        return f"It is an alias of {base}, which is an alias too, and the queue manager follows one only: {mend}"
    return f"It is an alias of {base}, {_HOLDS_NONE[behind.kind]}" if behind.kind in _HOLDS_NONE else ""


class Named(NamedTuple):
    """What stands behind a name that a person has written. Parameters: `queue` the local queue, the name itself where
    there is none; `said` a sentence about a name that is not that queue's, "" for a local queue's."""

    queue: str
    said: str = ""


def named_by_person(session: Session, name: str) -> Named:
    """The queue behind a name, and what is to be said of it. Raises `MQError`: it may not be inquired."""
    found = definition_of(session, name)
    if about := _about(session, name, found):
        absent = "there is no queue of that name: " if found is None and about.startswith("Define") else ""
        return Named(name, f"{name}: {absent}{about[0].lower()}{about[1:]}")
    if found and found.base:
        return Named(found.base, is_alias(name, found.base))
    return Named(name)


def why_no_destination(session: Session, name: str) -> str:
    """Why nothing can be put to a name that a person has written, with what mends it; "" where a queue is there. Raises
    `MQError`: it may not be inquired."""
    found = definition_of(session, name)
    why = "" if found and found.kind == "remote" else _about(session, name, found)
    return f"{name}: {why[0].lower()}{why[1:]}" if why else ""


def alias_of(session: Session, name: str) -> str:
    """A sentence about a name that is an alias, with the queue that it stands for; "" for another name. Raises
    `MQError`."""
    base = base_queue(session, name)
    return "" if base == name else is_alias(name, base)


def said_with_base(session: Session, name: str) -> str:
    """A queue's name, of an alias with the queue that it stands for. Raises `MQError`."""
    base = base_queue(session, name)
    return name if base == name else f"{name} (an alias of {base})"


def queues_named(session: Session, names: Iterable[str]) -> tuple[str, ...]:
    """The names, and for each beginning and `*` the local queues that have it, in order, each once.

    Queues `SYSTEM.*` and `MQOPS.*`, and those of answers, are meant only by patterns that begin so, as in `expiry
    scan`.

    Raises:
        MQError: the queue manager cannot be inquired.
        SettingsError: a pattern fits no queue.
    """
    found: dict[str, None] = {}
    for name in names:
        fits: tuple[str, ...] = (name,)
        if name.endswith("*"):
            rows = inquire_queues(session, name)
            fits = tuple(sorted(one for row in rows if selected(one := str(row[c.MQCA_Q_NAME]), (name,))))
            if not fits:
                raise SettingsError(f"{session.name} has no local queue whose name fits {name}: correct the pattern")
        found |= dict.fromkeys(fits)
    return tuple(found)


def mended_deadq(name: str, wrong: Misnamed) -> str:
    """The MQSC that gives a queue manager a DEADQ that is a local queue."""
    if wrong.instead:
        return f"ALTER QMGR DEADQ({mqsc_name(wrong.instead)})"
    if not wrong.there:
        return f"DEFINE QLOCAL({mqsc_name(name)}) DEFPSIST(YES)"
    return "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)"


def usable_dead_letter_queue(session: Session) -> str:
    """The queue manager's DEADQ, if messages can be read there: a local queue, or an alias, which the handlers take.

    Raises:
        MQError: the queue manager cannot be inquired.
        SettingsError: it names none, or no queue that holds messages here, with the MQSC that mends it.
    """
    name = dead_letter_queue(session)
    try:
        wrong = wrong_name(session, name)
    except MQError as error:
        if error.reason != c.MQRC_NOT_AUTHORIZED:
            raise
        return name
    if wrong and not (wrong.instead and wrong.there):
        raise SettingsError(
            f"DEADQ of {session.name} names {name}, {wrong.why}: {mended_deadq(name, wrong)}, or name the queue"
        )
    return name
