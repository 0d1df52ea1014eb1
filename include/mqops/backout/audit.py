"""How poison is provided for on a queue manager: every queue with BOTHRESH or BOQNAME, and what is wrong (P11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from mqops.backout.core.misconfigured import Misconfigured, backout_queue_of, misconfigured, of_queue
from mqops.errors import MQError
from mqops.model import AsJson, QueueDefinition
from mqops.mq.authority import Grant, who_may
from mqops.mq.inquire import deadq, queue_definitions, queue_manager_name, queue_names, unseen_queues
from mqops.mq.session import Session
from mqops.mqsc import mqsc_name
from mqops.queue_names import OF_ANSWERS
from mqwire import constants as c

_NOT_OF_APPLICATIONS = ("SYSTEM.", *OF_ANSWERS)
"""How names begin of queues that are the queue manager's, or that a program has for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoutAudit(AsJson):
    """What an audit found.

    Parameters: `checked` the queues with BOTHRESH other than zero; `wrong` those whose messages BOQNAME cannot take;
    `notes` what works and a person should know, each with its MQSC; `unseen` queues that the connection's user may not
    inquire; `rights` why it is not known who may put on backout queues, "" where it is.
    """

    queue_manager: str
    checked: tuple[str, ...] = ()
    wrong: tuple[Misconfigured, ...] = ()
    notes: tuple[Misconfigured, ...] = ()
    unseen: tuple[str, ...] = ()
    rights: str = ""


def wrong_settings(session: Session, queues: Iterable[QueueDefinition]) -> tuple[Misconfigured, ...]:
    """The queues whose BOQNAME cannot take their messages, by the definitions alone. Parameters: `queues` all of the
    queue manager. Raises `MQError`."""
    known = {one.name: one for one in queues}
    return tuple(misconfigured(known, deadq(session), _hidden(session, known)))


def _hidden(session: Session, known: Mapping[str, QueueDefinition]) -> set[str]:
    """The queues that a BOQNAME names, and that are there and may not be inquired by the connection's user."""
    named = {one.backout_queue for one in known.values() if one.threshold} - known.keys() - {""}
    return named & queue_names(session, kind=c.MQQT_ALL) if named else named


def audit(session: Session) -> BackoutAudit:
    """Look at every queue of the queue manager, and at who may put where. Nothing is put or changed.

    Raises:
        MQError: the command server refuses.
    """
    known = {one.name: one for one in queue_definitions(session) if not one.name.startswith(_NOT_OF_APPLICATIONS)}
    wrong = {one.queue: one for one in misconfigured(known, deadq(session), _hidden(session, known))}
    rights = ""
    try:
        for one in _without_right(session, known, wrong):
            wrong[one.queue] = one
    except MQError as error:
        error.raise_if_lost()
        rights = f"who may put on backout queues is not known: {error}"
    return BackoutAudit(
        queue_manager=queue_manager_name(session),
        checked=tuple(sorted(name for name, one in known.items() if one.threshold)),
        wrong=tuple(wrong[name] for name in sorted(wrong)),
        notes=tuple(_notes(known, wrong)),
        unseen=unseen_queues(session, ["*"]),
        rights=rights,
    )


def _without_right(
    session: Session, known: dict[str, QueueDefinition], wrong: dict[str, Misconfigured]
) -> Iterator[Misconfigured]:
    """The queues whose readers, by the authority records, may not put on their backout queue. A program opens the name
    that BOQNAME has, so this name's profile counts, also of an alias (IBM MQ, Authorizations for alias queues)."""

    @cache
    def may(queue: str, what: int) -> list[Grant]:
        return who_may(session, queue, what)

    for name, one in known.items():
        if not one.threshold or not one.backout_queue or name in wrong or one.kind != "local":
            continue
        putters = {(grant.kind, grant.entity) for grant in may(one.backout_queue, c.MQAUTH_OUTPUT)}
        without = [grant for grant in may(name, c.MQAUTH_INPUT) if (grant.kind, grant.entity) not in putters]
        if without:
            who = ", ".join(f"{grant.kind} {grant.entity}" for grant in without)
            why = f"{who} may get from {name} and, by the authority records, may not put on {one.backout_queue}"
            grants = (f"{grant.kind.upper()}({mqsc_name(grant.entity)})" for grant in without)
            profile = f"SET AUTHREC PROFILE({mqsc_name(one.backout_queue)}) OBJTYPE(QUEUE)"
            mend = ", and ".join(f"{profile} {entity} AUTHADD(PUT,PASSALL)" for entity in grants)
            yield of_queue(one, why, mend)


def _notes(known: dict[str, QueueDefinition], wrong: dict[str, Misconfigured]) -> Iterator[Misconfigured]:
    for name in sorted(known):
        one = known[name]
        if not one.backout_queue or name in wrong or one.kind not in {"local", "model"}:
            continue
        kind = "QMODEL" if one.kind == "model" else "QLOCAL"
        if not one.threshold:
            mend = f"ALTER {kind}({mqsc_name(name)}) BOTHRESH(3)"
            yield of_queue(one, "BOTHRESH(0): poison stays on the queue, and BOQNAME takes nothing", mend)
        elif (target := backout_queue_of(one, known)) != one.backout_queue:
            mend = f"ALTER {kind}({mqsc_name(name)}) BOQNAME({mqsc_name(target)})"
            yield of_queue(one, f"{one.backout_queue} is an alias of {target}, which takes the messages", mend)
