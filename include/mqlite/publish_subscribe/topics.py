"""Topics: the full topic string of a name, what the topic tree says of it, and MQPUT to it.

1. The full topic string is the TOPICSTR of the topic object, a slash and ObjectString; either part may be missing.
2. An attribute ASPARENT, or a blank model queue, is that of the nearest topic object above, at last SYSTEM.BASE.TOPIC.
3. A publication is one transaction: a message for each subscription that matches, each with a MsgId of its own.
4. Where one cannot be put: on the dead-letter queue with USEDLQ(YES); else PMSGDLV and NPMSGDLV say whether the whole
   publication fails (2502) or only this subscriber misses it.
5. The messages carry their subscriber's user, so whether the publisher may have reports put on its ReplyToQ is asked at
   the MQPUT.

Retained publications and the MQTopicString property are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mqlite.attributes import TABLE, Kind, Value
from mqlite.calls.opening import CONTEXT_PUTS, OpenObject, check_options, user_of_messages
from mqlite.calls.put import PutRequest, check_put_options, describe, in_syncpoint
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.message_rows import QueuedMessage, cap_expiry, cap_of
from mqlite.objects.definitions import Attributes, Objects
from mqlite.objects.wildcards import wild_match
from mqlite.reports.internal_put import put_internally
from mqlite.reports.reports import ANY, check_target, put_on_dead_letter_queue
from mqlite.security import authority
from mqlite.storage import sql
from mqwire import constants as c
from mqwire.fields import before_nul
from mqwire.structures import MQMD

UNSUPPORTED = c.MQPMO_RETAIN | c.MQPMO_NOT_OWN_SUBS | c.MQPMO_SUPPRESS_REPLYTO | c.MQPMO_WARN_IF_NO_SUBS_MATCHED
PUBLISHING = c.MQOO_OUTPUT | CONTEXT_PUTS | c.MQOO_ALTERNATE_USER_AUTHORITY | c.MQOO_FAIL_IF_QUIESCING
DEFAULT = "SYSTEM.DEFAULT.TOPIC"
ROOTS = ("SYSTEM.BASE.TOPIC", DEFAULT)  # whose topic string is empty
ANY_LEVELS, ONE_LEVEL = "#", "+"
# keyword → the value that stands for the parent's
PARENTS: dict[str, Value] = {"MDURMDL": "", "MNDURMDL": ""} | {
    row.keyword: words["ASPARENT"]
    for row in TABLE[Kind.TOPIC].values()
    if "ASPARENT" in (words := getattr(row.type, "words", {}))
}
ENABLED, USES_DEAD_LETTER_QUEUE = 2, 2  # values of PUB and SUB, and of USEDLQ
ALL, ALL_DURABLE, ALL_AVAILABLE = 1, 2, 3  # values of PMSGDLV and NPMSGDLV
# Whether the subscriptions are durable whose failed delivery is the publisher's.
FAILS = {ALL: (True, False), ALL_DURABLE: (True,), ALL_AVAILABLE: ()}
DURABLE, MANAGED = 1, c.MQDC_MANAGED  # values of a subscription's DURABLE and DESTCLAS


@dataclass(slots=True, kw_only=True)
class OpenTopic(OpenObject):
    """An open topic: `definition` are its attributes with those of the tree above, `subscriptions` those that match."""

    topic: str = ""
    subscriptions: list[Attributes] = field(default_factory=list)


def topic_string(objects: Objects, name: str, string: str) -> str:
    """The full topic string of a topic object's name and an ObjectString.

    Raises Failure (MQRC_UNKNOWN_OBJECT_NAME, MQRC_TOPIC_STRING_ERROR).
    """
    found = objects.get(Kind.TOPIC, name) if name else {}
    if found is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, name)
    full = "/".join(part for part in (str(found.get("TOPICSTR", "")), string) if part)
    if not full:
        raise Failure(c.MQRC_TOPIC_STRING_ERROR, name)
    return full


def check_definition(objects: Objects, name: str, string: str) -> None:
    """DEFINE TOPIC: every topic object has a topic string, and one of its own.

    Raises Failure (MQRC_TOPIC_STRING_ERROR, MQRCCF_TOPICSTR_ALREADY_EXISTS).
    """
    if name in ROOTS:
        return
    if not string:
        raise Failure(c.MQRC_TOPIC_STRING_ERROR, name)
    if any(values["TOPICSTR"] == string for _, other, values in objects.find((Kind.TOPIC,)) if other != name):
        raise Failure(c.MQRCCF_TOPICSTR_ALREADY_EXISTS, string)


def above(objects: Objects, topic: str) -> list[tuple[str, Attributes]]:
    """Topic objects of the topic and of those above it in the tree, nearest first; SYSTEM.BASE.TOPIC is last."""
    found = [
        (name, values)
        for _, name, values in objects.find((Kind.TOPIC,))
        if name != DEFAULT and _is_above(str(values["TOPICSTR"]), topic)
    ]
    return sorted(found, key=lambda each: -len(str(each[1]["TOPICSTR"])))


def _is_above(node: str, topic: str) -> bool:
    return not node or topic == node or topic.startswith(f"{node}/")


def settings(objects: Objects, topic: str) -> Attributes:
    """The attributes of a topic, each from the nearest topic object that has a value of its own."""
    effective: Attributes = {}
    for _, values in reversed(above(objects, topic)):
        effective |= {key: value for key, value in values.items() if value != PARENTS.get(key)}
        if (cap := cap_of([values])) > 0:
            effective["CAPEXPRY"] = cap  # also where CUSTOM says it
        effective["CUSTOM"] = ""
    return effective


def open_topic(connection: Connection, *, name: str, string: str, options: int, user: str = "") -> OpenTopic:
    """MQOPEN of a topic, for publishing.

    Parameters: `string` ObjectString; `user` the alternate user where one is asked for. Raises Failure.
    """
    check_options(options, kind=c.MQOT_TOPIC)
    if options & ~PUBLISHING or not options & c.MQOO_OUTPUT:
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE, name)
    topic = topic_string(connection.objects, name, string)
    nodes = [node for node, _ in above(connection.objects, topic)]
    if user or not connection.privileged:
        authority.check_topic(connection, user, nodes, [publishing(options)])
    publisher = user_of_messages(connection, user, options)
    opened = OpenTopic(kind=Kind.TOPIC, name=name, options=options, topic=topic, user=publisher)
    refresh(connection, opened)
    opened.handle = connection.new_handle(opened)
    return opened


def publishing(options: int) -> set[str]:
    """The authorities on a topic that open options need."""
    return {"PUB" if word == "PUT" else word for word in authority.authorities_of(options)}


def refresh(connection: Connection, opened: OpenTopic) -> None:
    """Read the tree and the subscriptions again if any object has changed."""
    version = connection.store.value(sql.MANAGER_VERSION)
    if version == opened.objects:
        return
    opened.definition = settings(connection.objects, opened.topic)
    opened.subscriptions = [
        values
        for _, _, values in connection.objects.find((Kind.SUB,))
        if matches(str(values["TOPICSTR"]), opened.topic)
    ]
    opened.objects = version


def matches(pattern: str, topic: str) -> bool:
    """Whether a subscription's topic string, with its wildcards, fits a topic: `+` is one level, `#` any number."""
    return wild_match(pattern.split("/"), topic.split("/"), any_number=ANY_LEVELS, fits=_level_fits)


def _level_fits(pattern: str, level: str) -> bool:
    return pattern in (level, ONE_LEVEL)


def publish(connection: Connection, opened: OpenObject, request: PutRequest) -> bytearray:
    """MQPUT to a topic; returns the descriptor with what the queue manager filled in.

    Raises Failure (MQRC_PUT_INHIBITED, MQRC_NOT_AUTHORIZED, MQRC_PUBLICATION_FAILURE, MQRC_FUNCTION_NOT_SUPPORTED ...).
    """
    if not isinstance(opened, OpenTopic):
        raise Failure(c.MQRC_NOT_OPEN_FOR_OUTPUT)
    if request.options & UNSUPPORTED:
        raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED)
    if request.options & c.MQPMO_LOGICAL_ORDER:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    check_put_options(request.options & ~c.MQPMO_SCOPE_QMGR, opened.options)
    syncpoint = in_syncpoint(connection, request.options)
    refresh(connection, opened)
    if opened.definition.get("PUB", ENABLED) != ENABLED:
        raise Failure(c.MQRC_PUT_INHIBITED, opened.topic)
    stored, body = describe(connection, opened, request)
    cap_expiry(stored, cap_of([opened.definition]))
    original = MQMD.unpack(bytes(stored))
    if original.report & ANY:
        check_target(connection, opened.user, before_nul(original.reply_to_q), before_nul(original.reply_to_q_mgr))
    durable = original.persistence == c.MQPER_PERSISTENT and not syncpoint
    with connection.store.write(durable=durable):
        refresh(connection, opened)
        check_limits(connection, opened, body, syncpoint=syncpoint)
        placed = [_deliver(connection, opened, each, stored, body, syncpoint) for each in opened.subscriptions]
    for each in placed:
        if each is not None:
            connection.announce(each, syncpoint=syncpoint)
    return request.md


def check_limits(connection: Connection, opened: OpenTopic, body: bytes, *, syncpoint: bool) -> None:
    """Raises Failure (MQRC_MSG_TOO_BIG_FOR_Q_MGR, MQRC_SYNCPOINT_LIMIT_REACHED)."""
    manager = connection.objects.manager(opened.objects)
    if len(body) > int(str(manager["MAXMSGL"])):
        raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q_MGR, opened.topic)
    if syncpoint and connection.unit.messages + len(opened.subscriptions) > int(str(manager["MAXUMSGS"])):
        raise Failure(c.MQRC_SYNCPOINT_LIMIT_REACHED)


def _deliver(  # noqa: PLR0917
    connection: Connection, opened: OpenTopic, subscription: Attributes, stored: bytearray, body: bytes, syncpoint: bool
) -> QueuedMessage | None:
    """Put a publication where one subscription wants it, in the caller's transaction; None where it is missed.

    Raises Failure (MQRC_PUBLICATION_FAILURE).
    """
    queue, queue_manager = str(subscription["DEST"]), str(subscription["DESTQMGR"])
    md = addressed(connection, opened, subscription, stored)
    try:
        return put_internally(connection, queue, queue_manager, bytearray(md), body, syncpoint=syncpoint)
    except Failure as failure:
        dead_letter = None
        if opened.definition.get("USEDLQ") == USES_DEAD_LETTER_QUEUE:
            whole = MQMD.unpack(bytes(md))
            dead_letter = put_on_dead_letter_queue(
                connection, (queue, queue_manager), whole, body, failure.reason, syncpoint=syncpoint
            )
        if dead_letter is None and _fails(opened, subscription, md):
            raise Failure(c.MQRC_PUBLICATION_FAILURE, queue) from failure
        return dead_letter


def _fails(opened: OpenTopic, subscription: Attributes, md: bytearray) -> bool:
    """Whether the publisher hears of a message that could not be delivered."""
    persistent = d.persistence_of(md) == c.MQPER_PERSISTENT
    keyword, default = ("PMSGDLV", ALL_DURABLE) if persistent else ("NPMSGDLV", ALL_AVAILABLE)
    return (subscription["DURABLE"] == DURABLE) in FAILS[int(str(opened.definition.get(keyword, default)))]


def addressed(connection: Connection, opened: OpenTopic, subscription: Attributes, stored: bytearray) -> bytearray:
    """The descriptor of a publication as one subscription gets it (IBM: field details for MQSD)."""
    md = bytearray(stored)
    _, _, _, _, _, ccsid, priority, persistence, _, correl_id, *_ = d.for_put(md)
    asked = int(str(subscription["PUBPRTY"]))
    if asked == c.MQPRI_PRIORITY_AS_PARENT:
        asked = int(str(opened.definition.get("DEFPRTY", 0)))
    elif asked == c.MQPRI_PRIORITY_AS_Q_DEF:
        local = connection.objects.get(Kind.QLOCAL, str(subscription["DEST"])) or {}
        asked = int(str(local.get("DEFPRTY", priority)))
    given = bytes.fromhex(str(subscription["DESTCORL"]))
    d.set_resolved(
        md, ccsid, asked if asked >= 0 else priority, persistence, connection.new_msg_id(),
        given if any(given) else correl_id, 0,
    )  # fmt: skip
    token = bytes.fromhex(str(subscription["PUBACCT"]))
    own = connection.manager.application_ccsid
    user, identity = str(subscription["SUBUSER"]), str(subscription["PUBAPPID"])
    d.set_identity(md, d.field_of(user, 12, own), token, d.field_of(identity, 32, own))
    return md
