"""Subscriptions: MQSUB, MQCLOSE of what it gave, and DEFINE SUB.

1. A subscription is an object of kind SUB by its SubName; without one, by its SUBID. CONNECTION has it open.
2. A managed one has a dynamic queue of its own, made from the model queue that its topic names: BOTHRESH and BOQNAME
   come from there (P12). The queue goes with its subscription, once nobody has it open.
3. A non-durable subscription goes with its handle, and with the process that has it.

What MQSUB does, by its options and by what is there:

| | CREATE | RESUME | ALTER | CREATE + RESUME or ALTER |
|---|---|---|---|---|
| no such subscription | made | 2428 | 2428 | made |
| it is there | 2432 | resumed | changed and resumed | resumed, with ALTER changed |
| somebody has it open | 2432 | 2429 | 2429 | 2429 |
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from mqlite.attributes import Kind, Value, defaults
from mqlite.calls import opening
from mqlite.calls.opening import INPUT, OpenObject, open_queue, queue_of
from mqlite.calls.put import accounting_token
from mqlite.connections.connection import Connection
from mqlite.connections.recovery import MANAGED_QUEUES, leave_subscription
from mqlite.failure import Failure
from mqlite.objects.definitions import Attributes, Objects
from mqlite.objects.manager import Manager
from mqlite.publish_subscribe.topics import DURABLE, ENABLED, MANAGED, above, settings, topic_string
from mqlite.security import authority
from mqlite.storage.store import Store
from mqwire import constants as c

KNOWN = (
    c.MQSO_ALTER | c.MQSO_CREATE | c.MQSO_RESUME | c.MQSO_DURABLE | c.MQSO_MANAGED | c.MQSO_SET_IDENTITY_CONTEXT
    | c.MQSO_NO_MULTICAST | c.MQSO_FIXED_USERID | c.MQSO_ANY_USERID | c.MQSO_NEW_PUBLICATIONS_ONLY
    | c.MQSO_FAIL_IF_QUIESCING | c.MQSO_ALTERNATE_USER_AUTHORITY | c.MQSO_WILDCARD_TOPIC | c.MQSO_SET_CORREL_ID
    | c.MQSO_SCOPE_QMGR | c.MQSO_NO_READ_AHEAD | c.MQSO_READ_AHEAD
)  # fmt: skip
UNSUPPORTED = c.MQSO_GROUP_SUB | c.MQSO_PUBLICATIONS_ON_REQUEST | c.MQSO_WILDCARD_CHAR
EXISTING = c.MQSO_ALTER | c.MQSO_RESUME
NON_DURABLE, PROVIDED, BY_CALL, BY_COMMAND = 2, c.MQDC_PROVIDED, c.MQSUBTYPE_API, c.MQSUBTYPE_ADMIN
ANY_USER, FIXED_USER = 1, 2  # values of VARUSER
GETTING = c.MQOO_INPUT_AS_Q_DEF | c.MQOO_BROWSE | c.MQOO_INQUIRE
MODELS = {True: ("MDURMDL", "SYSTEM.DURABLE.MODEL.QUEUE"), False: ("MNDURMDL", "SYSTEM.NDURABLE.MODEL.QUEUE")}
PRIORITIES = range(c.MQPRI_PRIORITY_AS_PUBLISHED, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeRequest:
    """What an MQSD asks.

    Parameters: `options` MQSO_*; `topic` object name and `string` ObjectString; `name` SubName; `user` the alternate
    user; `expiry` tenths of a second.
    """

    options: int
    topic: str
    string: str
    name: str
    user_data: str
    user: str
    expiry: int
    correl_id: bytes
    priority: int
    token: bytes
    identity: str
    level: int
    selection: bool

    @property
    def durable(self) -> bool:
        return bool(self.options & c.MQSO_DURABLE)

    @property
    def managed(self) -> bool:
        return bool(self.options & c.MQSO_MANAGED)


@dataclass(slots=True, kw_only=True)
class Subscribed:
    """An open subscription: the name of its object and its handle; `opened` is its queue, `values` what it was then."""

    name: str
    values: Attributes
    opened: OpenObject
    handle: int = 0


def subscribe(connection: Connection, request: SubscribeRequest, queue: int) -> Subscribed:
    """MQSUB.

    Parameters: `queue` the handle of an open queue, MQHO_NONE for none. Raises Failure.
    """
    check(request)
    connection.check_quiescing(request.options & c.MQSO_FAIL_IF_QUIESCING)
    connection.look_for_dead()
    given = _given_queue(connection, request, queue)
    with connection.store.write(durable=request.durable or bool(request.options & EXISTING)):
        found = connection.objects.get(Kind.SUB, request.name) if request.name else None
        if found is not None:
            name, values = request.name, resumed(connection, request, found, given)
        elif request.options & c.MQSO_CREATE:
            name, values = created(connection, request, given)
        else:
            raise Failure(c.MQRC_NO_SUBSCRIPTION, request.name)
        connection.objects.save(Kind.SUB, name, {**values, "CONNECTION": connection.id})
    try:
        return _opened(connection, name, values, given)
    except Failure:
        with connection.store.write(durable=request.durable):
            if found is None:
                leave_subscription(connection.store, name, values, remove=True)
            else:
                connection.objects.save(Kind.SUB, name, found)
        raise


def check(request: SubscribeRequest) -> None:
    """Raises Failure for what MQSUB refuses at sight."""
    options = request.options
    if options & UNSUPPORTED or request.selection or request.expiry != c.MQEI_UNLIMITED or request.level not in (0, 1):
        raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED)
    conflicting = (EXISTING, c.MQSO_FIXED_USERID | c.MQSO_ANY_USERID, c.MQSO_NO_READ_AHEAD | c.MQSO_READ_AHEAD)
    if options & ~KNOWN or any(options & pair == pair for pair in conflicting):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if not options & (EXISTING | c.MQSO_CREATE):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & c.MQSO_NEW_PUBLICATIONS_ONLY and not options & c.MQSO_CREATE:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if not request.name and (request.durable or not options & c.MQSO_CREATE):
        raise Failure(c.MQRC_SUB_NAME_ERROR)
    if request.priority not in PRIORITIES:
        raise Failure(c.MQRC_PRIORITY_ERROR)


def _given_queue(connection: Connection, request: SubscribeRequest, handle: int) -> OpenObject | None:
    """The queue an application gives for its subscription. Raises Failure (MQRC_HOBJ_ERROR)."""
    creates = bool(request.options & c.MQSO_CREATE)
    if (creates and request.managed) or (not creates and handle == c.MQHO_NONE):
        return None
    if handle == c.MQHO_NONE and request.options & EXISTING:
        return None
    opened = queue_of(connection, handle)
    usable = INPUT | c.MQOO_BROWSE
    if opened.resolved is not None and opened.resolved.remote_queue_manager:
        usable = c.MQOO_OUTPUT
    if not opened.queue or not opened.options & usable:
        raise Failure(c.MQRC_HOBJ_ERROR)
    return opened


def created(connection: Connection, request: SubscribeRequest, given: OpenObject | None) -> tuple[str, Attributes]:
    """Name and attributes of a new subscription, in the caller's transaction; its managed queue is made.

    Raises Failure (MQRC_SUB_INHIBITED, MQRC_DURABILITY_NOT_ALLOWED, MQRC_HOBJ_ERROR ...).
    """
    topic = topic_string(connection.objects, request.topic, request.string)
    rules = settings(connection.objects, topic)
    check_topic(rules, topic, durable=request.durable)
    check_authority(connection, request, topic, [{"SUB"}])
    values = new(connection.manager, topic, durable=request.durable)
    values |= asked(connection, request, values)
    values |= {"TOPICOBJ": request.topic, "SUBTYPE": BY_CALL, "SUBUSER": request.user or connection.user}
    values["DESTCLAS"] = MANAGED if request.managed else PROVIDED
    if request.managed:
        model = model_of(rules, durable=request.durable)
        authority.check(connection, request.user, "QUEUE", model, {"PUT"})
        values["DEST"] = make_managed(connection.objects, rules, durable=request.durable, creator=connection.id)
    elif given is not None:
        if request.durable and given.local.get("DEFTYPE") == c.MQQDT_TEMPORARY_DYNAMIC:
            raise Failure(c.MQRC_DURABILITY_NOT_ALLOWED, given.name)
        authority.check(connection, request.user, "QUEUE", given.definition_name, {"PUT"})
        values |= destination(given)
    else:
        raise Failure(c.MQRC_HOBJ_ERROR)
    return request.name or str(values["SUBID"]), values


def resumed(
    connection: Connection, request: SubscribeRequest, found: Attributes, given: OpenObject | None
) -> Attributes:
    """MQSUB of a subscription that exists, with MQSO_RESUME or MQSO_ALTER: returns its attributes, with the changes.

    Raises Failure (MQRC_SUB_ALREADY_EXISTS, MQRC_SUBSCRIPTION_IN_USE, MQRC_IDENTITY_MISMATCH, MQRC_NOT_AUTHORIZED,
    ..._NOT_ALTERABLE, MQRC_HOBJ_ERROR).
    """
    if not request.options & EXISTING:
        raise Failure(c.MQRC_SUB_ALREADY_EXISTS, request.name)
    if found["CONNECTION"]:
        raise Failure(c.MQRC_SUBSCRIPTION_IN_USE, request.name)
    user = request.user or connection.user
    if found["VARUSER"] == FIXED_USER and found["SUBUSER"] != user:
        raise Failure(c.MQRC_IDENTITY_MISMATCH, request.name)
    if request.topic or request.string:
        topic = topic_string(connection.objects, request.topic, request.string)
        if topic != found["TOPICSTR"]:
            raise Failure(c.MQRC_TOPIC_NOT_ALTERABLE, topic)
    altering = bool(request.options & c.MQSO_ALTER)
    check_authority(connection, request, str(found["TOPICSTR"]), [{"SUB"}] if altering else [{"SUB"}, {"RESUME"}])
    if altering and request.durable is not (found["DURABLE"] == DURABLE):
        raise Failure(c.MQRC_DURABILITY_NOT_ALTERABLE, request.name)
    changes: Attributes = {}
    if given is not None and given.name != found["DEST"]:
        if not altering or found["DESTCLAS"] == MANAGED:
            raise Failure(c.MQRC_HOBJ_ERROR)
        authority.check(connection, request.user, "QUEUE", given.definition_name, {"PUT"})
        changes |= destination(given)
    if altering:
        changes |= asked(connection, request, found) | stamp("ALT")
    return {**found, "SUBUSER": user, **changes}


def asked(connection: Connection, request: SubscribeRequest, found: Attributes) -> Attributes:
    """The attributes that an application may set and alter (`found`: as they are)."""
    options = request.options
    sets_identity = options & c.MQSO_SET_IDENTITY_CONTEXT
    return {
        "DESTCORL": (request.correl_id.hex().upper() if options & c.MQSO_SET_CORREL_ID else found["DESTCORL"]),
        "PUBACCT": (request.token if sets_identity else accounting_token()).hex().upper(),
        "PUBAPPID": request.identity if sets_identity else "",
        "PUBPRTY": request.priority,
        "USERDATA": request.user_data,
        "VARUSER": ANY_USER if options & c.MQSO_ANY_USERID else FIXED_USER,
    }


def destination(opened: OpenObject) -> Attributes:
    """DEST and DESTQMGR for publications to an open queue."""
    resolved = opened.resolved
    if resolved is not None and resolved.remote_queue_manager:
        return {"DEST": resolved.remote_queue, "DESTQMGR": resolved.remote_queue_manager}
    return {"DEST": opened.name, "DESTQMGR": ""}


def check_authority(
    connection: Connection, request: SubscribeRequest, topic: str, choices: list[set[str]]
) -> None:  # fmt: skip
    """Raises Failure (MQRC_NOT_AUTHORIZED) unless the topic, or one above it, grants one of the choices."""
    if request.user or not connection.privileged:
        nodes = [node for node, _ in above(connection.objects, topic)]
        authority.check_topic(connection, request.user, nodes, choices)


def check_topic(rules: Attributes, topic: str, *, durable: bool) -> None:
    """Raises Failure (MQRC_SUB_INHIBITED, MQRC_DURABILITY_NOT_ALLOWED) where the topic says no."""
    if rules.get("SUB", ENABLED) != ENABLED:
        raise Failure(c.MQRC_SUB_INHIBITED, topic)
    if durable and rules.get("DURSUB", 1) != 1:
        raise Failure(c.MQRC_DURABILITY_NOT_ALLOWED, topic)


def new(manager: Manager, topic: str, *, durable: bool) -> Attributes:
    """The attributes of a new subscription, before anything is asked of it."""
    sub_id = (b"AMQ " + manager.name.encode("latin-1")[:12].ljust(12) + secrets.token_bytes(8)).hex().upper()
    made: Attributes = {"TOPICSTR": topic, "DURABLE": DURABLE if durable else NON_DURABLE, "CONNECTION": 0}
    made |= {"SUBID": sub_id, "DESTCORL": sub_id}
    return {**defaults(Kind.SUB, platform=manager.platform), **made, **stamp("CR"), **stamp("ALT")}


def stamp(prefix: str) -> dict[str, Value]:
    """CRDATE and CRTIME, or ALTDATE and ALTTIME: now."""
    now = datetime.now(UTC)
    return {f"{prefix}DATE": now.strftime("%Y-%m-%d"), f"{prefix}TIME": now.strftime("%H.%M.%S")}


def model_of(rules: Attributes, *, durable: bool) -> str:
    """The name of the model queue for managed subscriptions."""
    keyword, default = MODELS[durable]
    return str(rules.get(keyword) or default)


def make_managed(objects: Objects, rules: Attributes, *, durable: bool, creator: int = 0) -> str:
    """Make the dynamic queue of a managed subscription from the topic's model queue; returns its name (P12).

    Raises Failure (MQRC_UNKNOWN_OBJECT_NAME, MQRC_DURABILITY_NOT_ALLOWED).
    """
    named = model_of(rules, durable=durable)
    model = objects.get(Kind.QMODEL, named)
    if model is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, named)
    if durable and model["DEFTYPE"] == c.MQQDT_TEMPORARY_DYNAMIC:
        raise Failure(c.MQRC_DURABILITY_NOT_ALLOWED, named)
    name = f"{MANAGED_QUEUES}{'DURABLE' if durable else 'NDURABLE'}.{secrets.token_hex(8).upper()}"
    objects.define_dynamic(name, model, creator)
    return name


def _opened(connection: Connection, name: str, values: Attributes, given: OpenObject | None) -> Subscribed:
    """Handles for a subscription and, unless the application gave one, for its queue.

    Raises Failure (MQRC_INVALID_DESTINATION, MQRC_HANDLE_NOT_AVAILABLE, MQRC_NOT_AUTHORIZED).
    """
    opened = given or _destination_opened(connection, values)
    subscribed = Subscribed(name=name, values=values, opened=opened)
    try:
        subscribed.handle = connection.new_handle(subscribed)
    except Failure:
        if given is None:
            opening.close(connection, opened.handle, c.MQCO_NONE)
        raise
    return subscribed


def _destination_opened(connection: Connection, values: Attributes) -> OpenObject:
    queue, queue_manager = str(values["DEST"]), str(values["DESTQMGR"])
    try:
        return open_queue(
            connection, name=queue, queue_manager=queue_manager, dynamic_name="", options=GETTING,
            checked=values["DESTCLAS"] != MANAGED,
        )  # fmt: skip
    except Failure as failure:
        if failure.reason in (c.MQRC_NOT_AUTHORIZED, c.MQRC_HANDLE_NOT_AVAILABLE):
            raise
        raise Failure(c.MQRC_INVALID_DESTINATION, queue) from failure


def close_handle(connection: Connection, handle: int, options: int) -> int:
    """MQCLOSE of whatever the handle is; returns the reason of a warning, 0 for none. Raises Failure."""
    subscribed = connection.handles.get(handle)
    if not isinstance(subscribed, Subscribed):
        return opening.close(connection, handle, options)
    if options not in (c.MQCO_NONE, c.MQCO_KEEP_SUB, c.MQCO_REMOVE_SUB):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    durable = subscribed.values["DURABLE"] == DURABLE
    if options == c.MQCO_KEEP_SUB and not durable:
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    store = connection.store
    with store.write(durable=durable):
        there = connection.objects.get(Kind.SUB, subscribed.name)
        if there is not None and there["SUBID"] == subscribed.values["SUBID"]:
            leave_subscription(store, subscribed.name, there, remove=options == c.MQCO_REMOVE_SUB)
    del connection.handles[handle]
    return 0


def defined(objects: Objects, manager: Manager, values: Attributes, before: Attributes | None) -> Attributes:
    """DEFINE SUB: the attributes of an administrative subscription, in the caller's transaction.

    Parameters: `values` of the command; `before` those of the one it replaces. Raises Failure.
    """
    topic = topic_string(objects, str(values.get("TOPICOBJ", "")), str(values.get("TOPICSTR", "")))
    kept: Attributes = {}
    if before is not None:
        kept = {key: before[key] for key in ("SUBID", "SUBTYPE", "DURABLE", "CRDATE", "CRTIME", "CONNECTION")}
        if topic != before["TOPICSTR"] or values["DESTCLAS"] != before["DESTCLAS"]:
            raise Failure(c.MQRC_TOPIC_NOT_ALTERABLE, topic)
    rules = settings(objects, topic)
    check_topic(rules, topic, durable=True)
    made = {**new(manager, topic, durable=True), "SUBTYPE": BY_COMMAND, **kept}
    made |= {key: value for key, value in values.items() if key != "DESTCORL" or value} | {"TOPICSTR": topic}
    if values["DESTCLAS"] == MANAGED:
        made["DEST"] = before["DEST"] if before else make_managed(objects, rules, durable=True)
    elif not values.get("DESTQMGR") and objects.queue(str(values["DEST"])) is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, str(values["DEST"]))
    return made


def deleted(store: Store, name: str, values: Attributes) -> None:
    """DELETE SUB, in the caller's transaction. Raises Failure (MQRC_SUBSCRIPTION_IN_USE)."""
    if values["CONNECTION"]:
        raise Failure(c.MQRC_SUBSCRIPTION_IN_USE, name)
    leave_subscription(store, name, values, remove=True)
