"""Name resolution of MQOPEN and MQPUT1: from the names in an MQOD to the local queue that a message really goes to.

1. Queue manager blank or this one: the queue's own definition. An alias leads once to its target; a remote queue to its
   transmission queue; a model queue to a new dynamic queue (the caller makes it).
2. Another queue manager: a remote queue definition of that name with a blank RNAME is a queue manager alias; else a
   transmission queue of that name; else the default transmission queue; else MQRC_UNKNOWN_REMOTE_Q_MGR. A queue of
   that name that is not a transmission queue is an error, not passed over (IBM MQ, "2091 MQRC_XMIT_Q_TYPE_ERROR" and
   "2092 MQRC_XMIT_Q_USAGE_ERROR").
3. The queue-sharing group's own name, or with SQQMNAME(IGNORE) that of another member: a shared queue is here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqlite.attributes import Kind
from mqlite.failure import Failure
from mqlite.objects.definitions import Attributes, Objects
from mqlite.objects.sharing_group import is_shared
from mqwire import constants as c

TRANSMISSION = c.MQUS_TRANSMISSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Where a name leads.

    Parameters: `kind` and `name` of the definition that was opened; `queue` the local queue (a transmission queue where
    there is a `remote_queue_manager`); `attributes` of that definition (its defaults and inhibits count),
    `through` those of every other definition on the way; `model` attributes of the model queue where a dynamic queue
    has to be made; `only_puts` whether the name of another queue manager led here, so that the handle is for puts only.
    """

    kind: Kind
    name: str
    queue: str
    attributes: Attributes
    through: tuple[Attributes, ...] = ()
    remote_queue: str = ""
    remote_queue_manager: str = ""
    model: Attributes | None = None
    only_puts: bool = False


def resolve(objects: Objects, own_name: str, queue: str, queue_manager: str) -> Resolved:
    """Resolve the two names of an MQOD.

    Raises Failure with the reason code that MQOPEN gives.
    """
    if queue_manager and queue_manager != own_name and objects.reaches_group(queue_manager):
        found = objects.get(Kind.QLOCAL, queue)
        if found is not None and is_shared(found):
            return _local(objects, own_name, queue)
    if queue_manager and queue_manager != own_name:
        return replace(_elsewhere(objects, own_name, queue, queue_manager), only_puts=True)
    return _local(objects, own_name, queue)


def _elsewhere(objects: Objects, own_name: str, queue: str, queue_manager: str) -> Resolved:
    """A queue of another queue manager, or of this one by a queue manager alias."""
    alias = objects.get(Kind.QREMOTE, queue_manager)
    if alias is None or alias["RNAME"]:
        return _remote(objects, own_name, queue, queue_manager, "", opened=(Kind.QREMOTE, queue))
    target = str(alias["RQMNAME"])
    if target and target != own_name:
        return _remote(objects, own_name, queue, target, str(alias["XMITQ"]), alias, opened=(Kind.QREMOTE, queue))
    found = _local(objects, own_name, queue)
    if found.model is not None:  # IBM MQ, "2057 MQRC_Q_TYPE_ERROR"
        raise Failure(c.MQRC_Q_TYPE_ERROR, queue)
    return found


def _local(objects: Objects, own_name: str, queue: str) -> Resolved:
    if not queue:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, "blank queue name")
    found = objects.queue(queue)
    if found is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, queue)
    kind, attributes = found
    if kind is Kind.QLOCAL:
        return Resolved(kind=kind, name=queue, queue=queue, attributes=attributes)
    if kind is Kind.QMODEL:
        return Resolved(kind=kind, name=queue, queue="", attributes=attributes, model=attributes)
    if kind is Kind.QALIAS:
        return _alias(objects, own_name, queue, attributes)
    remote, where = str(attributes["RNAME"]), str(attributes["RQMNAME"])
    return _remote(objects, own_name, remote, where, str(attributes["XMITQ"]), attributes, opened=(Kind.QREMOTE, queue))


def _alias(objects: Objects, own_name: str, name: str, attributes: Attributes) -> Resolved:
    target = str(attributes["TARGET"])
    if attributes["TARGTYPE"] != c.MQOT_Q:
        raise Failure(c.MQRC_UNKNOWN_ALIAS_BASE_Q, "aliases of topics are not supported")
    found = objects.queue(target)
    if found is None:
        raise Failure(c.MQRC_UNKNOWN_ALIAS_BASE_Q, target)
    kind, base = found
    if kind is Kind.QLOCAL:
        return Resolved(kind=Kind.QALIAS, name=name, queue=target, attributes=attributes, through=(base,))
    if kind is Kind.QREMOTE:
        remote, where = str(base["RNAME"]), str(base["RQMNAME"])
        return _remote(
            objects, own_name, remote, where, str(base["XMITQ"]), attributes, base, opened=(Kind.QALIAS, name)
        )
    raise Failure(c.MQRC_ALIAS_BASE_Q_TYPE_ERROR, target)


def _remote(
    objects: Objects,
    own_name: str,
    queue: str,
    queue_manager: str,
    transmission_queue: str,
    *through: Attributes,
    opened: tuple[Kind, str],
) -> Resolved:
    """A queue elsewhere, reached by a transmission queue of this queue manager."""
    if not queue or queue_manager == own_name or not queue_manager:
        raise Failure(c.MQRC_REMOTE_Q_NAME_ERROR, queue)
    found, named = _way(objects, own_name, queue_manager, transmission_queue, defined=bool(through))
    first = through[0] if through else found
    rest = (*through[1:], found) if through else ()
    return Resolved(
        kind=opened[0], name=opened[1], queue=named, attributes=first, through=rest, remote_queue=queue,
        remote_queue_manager=queue_manager,
    )  # fmt: skip


def _way(
    objects: Objects, own_name: str, queue_manager: str, transmission_queue: str, *, defined: bool
) -> tuple[Attributes, str]:  # fmt: skip
    """The transmission queue that is named; else the one of the queue manager's name; else the default one.

    Parameters: `defined` whether a remote queue definition leads here, which may lead to a local queue only.
    """
    name = transmission_queue or queue_manager
    found = objects.queue(name)
    if found is None and transmission_queue:
        raise Failure(c.MQRC_UNKNOWN_XMIT_Q, name)
    if found is not None and found[0] is not Kind.QLOCAL and defined:
        raise Failure(c.MQRC_XMIT_Q_TYPE_ERROR, name)
    if found is None or found[0] is not Kind.QLOCAL:
        return _default(objects, own_name, queue_manager)
    if found[1]["USAGE"] != TRANSMISSION:
        raise Failure(c.MQRC_XMIT_Q_USAGE_ERROR, name)
    return found[1], name


def _default(objects: Objects, own_name: str, queue_manager: str) -> tuple[Attributes, str]:
    manager = objects.get(Kind.QMGR, own_name)
    named = str(manager["DEFXMITQ"]) if manager else ""
    if not named:
        raise Failure(c.MQRC_UNKNOWN_REMOTE_Q_MGR, queue_manager)
    found = objects.get(Kind.QLOCAL, named)
    if found is None:
        raise Failure(c.MQRC_UNKNOWN_DEF_XMIT_Q, named)
    if found["USAGE"] != TRANSMISSION:
        raise Failure(c.MQRC_DEF_XMIT_Q_USAGE_ERROR, named)
    return found, named


def resolve_reply(objects: Objects, own_name: str, queue: str) -> tuple[str, str]:
    """ReplyToQ and ReplyToQMgr of a message whose putter named no queue manager.

    A remote queue definition of the queue's name is a reply-to alias; else the queue is one of this queue manager.
    """
    alias = objects.get(Kind.QREMOTE, queue)
    if alias is None or not alias["RNAME"]:
        return queue, own_name
    return str(alias["RNAME"]), str(alias["RQMNAME"]) or own_name
