"""MQOPEN and MQCLOSE: what is open, for what, and who else has it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from mqlite.attributes import Kind, Value, valid_name
from mqlite.connections.connection import Connection
from mqlite.connections.recovery import abandoned, delete_queue
from mqlite.failure import Failure
from mqlite.messages.message_rows import cap_of
from mqlite.objects.definitions import Attributes
from mqlite.objects.manager import kept_attributes
from mqlite.objects.resolve import Resolved, resolve
from mqlite.platform import Platform
from mqlite.security import authority
from mqlite.storage import sql
from mqlite.storage.rows import FoundMessage, QueueRow, Versions
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c

INPUT = c.MQOO_INPUT_AS_Q_DEF | c.MQOO_INPUT_SHARED | c.MQOO_INPUT_EXCLUSIVE
CONTEXT_PUTS = (
    c.MQOO_PASS_IDENTITY_CONTEXT | c.MQOO_PASS_ALL_CONTEXT | c.MQOO_SET_IDENTITY_CONTEXT | c.MQOO_SET_ALL_CONTEXT
)
KNOWN = (
    INPUT | CONTEXT_PUTS | c.MQOO_BROWSE | c.MQOO_CO_OP | c.MQOO_OUTPUT | c.MQOO_INQUIRE | c.MQOO_SET
    | c.MQOO_SAVE_ALL_CONTEXT | c.MQOO_ALTERNATE_USER_AUTHORITY | c.MQOO_FAIL_IF_QUIESCING
    | c.MQOO_BIND_ON_OPEN | c.MQOO_BIND_NOT_FIXED
    | c.MQOO_BIND_ON_GROUP | c.MQOO_RESOLVE_LOCAL_Q | c.MQOO_NO_READ_AHEAD | c.MQOO_READ_AHEAD
)  # fmt: skip
CHOICES = (
    INPUT,
    c.MQOO_BIND_ON_OPEN | c.MQOO_BIND_NOT_FIXED | c.MQOO_BIND_ON_GROUP,
    c.MQOO_READ_AHEAD | c.MQOO_NO_READ_AHEAD,
)  # at most one of each
OBJECT_KINDS = {c.MQOT_Q_MGR: Kind.QMGR, c.MQOT_PROCESS: Kind.PROCESS, c.MQOT_NAMELIST: Kind.NAMELIST}


@dataclass(slots=True, kw_only=True)
class Cursor:
    """A browse cursor: the rank and number of the message it is on; `locked` its number while locked; `logical` whether
    it was moved there in logical order, None where it was not moved.
    """

    rank: int = -1
    seq: int = 0
    locked: int = 0
    logical: bool | None = None


@dataclass(slots=True, kw_only=True)
class GroupPosition:
    """Where a handle is in a group that it puts, gets or browses in logical order; no group: between two of them.

    Attributes: `sequence` and `offset` of the message that comes next; `in_group` the group flags of the one before it,
    whether that was in `syncpoint` and `persistent`.
    """

    group: bytes = b""
    sequence: int = 1
    offset: int = 0
    in_group: int = 0
    syncpoint: bool = False
    persistent: int = 0

    def move(self, group: bytes, sequence: int, offset: int) -> None:
        """Be somewhere else."""
        self.group, self.sequence, self.offset = group, sequence, offset

    def move_back(self, before: GroupPosition) -> None:
        """Be what this place was."""
        self.move(before.group, before.sequence, before.offset)
        self.in_group, self.syncpoint, self.persistent = before.in_group, before.syncpoint, before.persistent

    @property
    def broken_off(self) -> int:
        """The reason that warns of stopping here: MQRC_INCOMPLETE_GROUP, MQRC_INCOMPLETE_MSG, 0 between two groups."""
        if not self.group:
            return 0
        return c.MQRC_INCOMPLETE_MSG if self.offset else c.MQRC_INCOMPLETE_GROUP


@dataclass(slots=True, kw_only=True)
class Limits:
    """MAXDEPTH and MAXMSGL of a queue, MAXMSGL, MAXUMSGS and MARKINT (milliseconds, -1 for NOLIMIT) of its queue
    manager.
    """

    depth: int = 0
    length: int = 0
    any_length: int = 0
    uncommitted: int = 0
    marked: int = 0


@dataclass(slots=True, kw_only=True)
class OpenObject:
    """An open object.

    Attributes: `queue` its number (0 for what holds no messages) and `name`; `definition` what was opened; `local` the
    attributes of the local queue behind it, `version` when they were read, `objects` the version of all objects then;
    `limits` then; `puts` the PUT attributes of every definition on the way, `cap` the lowest CAPEXPRY of theirs in
    tenths of a second, 0 for none; `resolved` how the name was resolved; `saved` context of the last message got (for
    the pass-context options); `user` that messages put here name.
    """

    kind: Kind
    name: str
    options: int
    queue: int = 0
    version: int = -1
    objects: int = -1
    puts: tuple[Value, ...] = ()
    cap: int = 0
    limits: Limits = field(default_factory=Limits)
    definition: Attributes = field(default_factory=dict)
    local: Attributes = field(default_factory=dict)
    resolved: Resolved | None = None
    cursor: Cursor = field(default_factory=Cursor)
    putting: GroupPosition = field(default_factory=GroupPosition)
    getting: GroupPosition = field(default_factory=GroupPosition)
    browsing: GroupPosition = field(default_factory=GroupPosition)
    saved: bytes | None = None
    user: str = ""
    handle: int = 0

    @property
    def definition_name(self) -> str:
        """The name of the definition that was opened, which for an alias is not the queue's."""
        return self.resolved.name if self.resolved is not None and self.resolved.model is None else self.name

    @property
    def input(self) -> bool:
        """Open for destructive gets."""
        return bool(self.options & INPUT)


def check_options(options: int, *, kind: int) -> None:
    """Raises Failure (MQRC_OPTIONS_ERROR, MQRC_OPTION_NOT_VALID_FOR_TYPE) for what MQOPEN refuses at sight."""
    if options & ~KNOWN or not options & ~c.MQOO_FAIL_IF_QUIESCING:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if any((options & choice).bit_count() > 1 for choice in CHOICES):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & c.MQOO_SAVE_ALL_CONTEXT and not options & INPUT:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & c.MQOO_CO_OP and not options & c.MQOO_BROWSE:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & CONTEXT_PUTS and not options & c.MQOO_OUTPUT:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if not options & (INPUT | c.MQOO_BROWSE | c.MQOO_OUTPUT | c.MQOO_INQUIRE | c.MQOO_SET):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    outputs = 0 if kind == c.MQOT_TOPIC else c.MQOO_OUTPUT
    if kind != c.MQOT_Q and options & (INPUT | c.MQOO_BROWSE | outputs):
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)


def open_object(
    connection: Connection, *, kind: int, name: str, queue_manager: str = "", options: int, user: str = ""
) -> OpenObject:  # fmt: skip
    """Open the queue manager, a process or a namelist, for inquiry.

    Parameters: `queue_manager` only this one's own has them; `user` as of `open_queue`. Raises Failure.
    """
    if kind not in OBJECT_KINDS:
        raise Failure(c.MQRC_OBJECT_TYPE_ERROR)
    check_options(options, kind=kind)
    if queue_manager not in ("", connection.manager.name):
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE, queue_manager)
    word = OBJECT_KINDS[kind]
    if options & c.MQOO_SET and word is not Kind.QMGR:
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE, name)
    found = connection.objects.get(word, connection.manager.name if word is Kind.QMGR else name)
    if found is None or (word is Kind.QMGR and name not in ("", connection.manager.name)):
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, name)
    if word is Kind.QMGR:
        name = connection.manager.name
        found |= kept_attributes(connection.manager)
    authority.check(connection, user, str(word), name, authority.authorities_of(options))
    opened = OpenObject(kind=word, name=name, options=options, definition=found)
    opened.handle = connection.new_handle(opened)
    return opened


def open_queue(
    connection: Connection, *, name: str, queue_manager: str, dynamic_name: str, options: int, user: str = "",
    checked: bool = True,
) -> OpenObject:  # fmt: skip
    """Open a queue by name.

    Parameters: `dynamic_name` of the MQOD, for model queues; `user` the alternate user where one is asked for, without
    MQOO_ALTERNATE_USER_AUTHORITY one that the queue is opened as; `checked` whether the user's authority is.
    Raises Failure.
    """
    check_options(options, kind=c.MQOT_Q)
    connection.look_for_dead()
    store = connection.store
    with store.write():
        gone = store.row(QueueRow, sql.QUEUE, (name,))
        if gone and gone.deleted:
            raise Failure(c.MQRC_Q_DELETED, name)
        found = resolve(connection.objects, connection.manager.name, name, queue_manager)
        if checked and (user or not connection.privileged):
            authority.check_queue(connection, user, found, options)
        if options & not_for(found):
            raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE, name)
        queue = found.queue
        if found.model is not None:
            queue = make_dynamic(connection, found.model, dynamic_name)
            if user or not connection.privileged:
                authority.grant_all(store, user or connection.user, queue)
        row = store.row(QueueRow, sql.QUEUE, (queue,))
        if row is None or row.deleted:
            raise Failure(c.MQRC_Q_DELETED if row else c.MQRC_UNKNOWN_OBJECT_NAME, queue)
        local = connection.objects.get(Kind.QLOCAL, queue) or {}
        opened = OpenObject(
            kind=found.kind, name=queue, options=options, queue=row.id, local=local, resolved=found,
            definition=local if found.model is not None or found.kind is Kind.QLOCAL else found.attributes,
            user=user_of_messages(connection, user, options),
        )  # fmt: skip
        opened.options = with_default_input(opened, options)
        others = check_sharing(connection, opened)
        opened.handle = connection.new_handle(opened)
        exclusive = bool(opened.options & c.MQOO_INPUT_EXCLUSIVE)
        figures = (opened.input, bool(options & c.MQOO_OUTPUT), exclusive)
        store.execute(sql.ADD_HANDLE, (connection.id, opened.handle, row.id, options, *map(int, figures)))
        if opened.input and not others:
            triggering.opened(connection.engine, queue)
    return opened


def not_for(resolved: Resolved) -> int:
    """The open options that what a name led to does not have (IBM MQ, "2045 MQRC_OPTION_NOT_VALID_FOR_TYPE")."""
    reading = INPUT | c.MQOO_BROWSE
    if resolved.only_puts:
        return reading | c.MQOO_INQUIRE | c.MQOO_SET
    return reading if resolved.remote_queue_manager else 0


def user_of_messages(connection: Connection, user: str, options: int) -> str:
    """MQMD.UserIdentifier of what is put through a handle, unless the put says otherwise.

    An alternate user is that on z/OS only, elsewhere the connection's is (IBM: MQOD, AlternateUserId).

    Parameters: `user` as of `open_queue`; `options` MQOO_*.
    """
    if options & c.MQOO_ALTERNATE_USER_AUTHORITY and connection.manager.platform != Platform.ZOS:
        return connection.user
    return user or connection.user


def with_default_input(opened: OpenObject, options: int) -> int:
    """MQOO_INPUT_AS_Q_DEF as what the queue's DEFSOPT says."""
    if not options & c.MQOO_INPUT_AS_Q_DEF:
        return options
    return (options & ~c.MQOO_INPUT_AS_Q_DEF) | int(str(opened.local["DEFSOPT"]))


def check_sharing(connection: Connection, opened: OpenObject) -> int:
    """How many have the queue open for input, where this open is one for input.

    Raises Failure (MQRC_OBJECT_IN_USE) where an exclusive open meets another one.
    """
    if not opened.input:
        return 0
    counts = connection.store.open_counts(opened.queue)
    alone = opened.options & c.MQOO_INPUT_EXCLUSIVE or not opened.local["SHARE"]
    if counts.exclusive or (alone and counts.input):
        raise Failure(c.MQRC_OBJECT_IN_USE, opened.name)
    return counts.input


def make_dynamic(connection: Connection, model: Attributes, wanted: str) -> str:
    """Make a dynamic queue; a name that ends with an asterisk is made unique.

    Raises Failure (MQRC_DYNAMIC_Q_NAME_ERROR, MQRC_OBJECT_ALREADY_EXISTS).
    """
    name = wanted
    if wanted.endswith("*"):
        prefix = wanted[:-1]
        if len(prefix) > 33:
            raise Failure(c.MQRC_DYNAMIC_Q_NAME_ERROR, wanted)
        name = prefix
        while name == prefix or connection.objects.queue(name):
            name = f"{prefix}{secrets.token_hex(8).upper()}"[:48]
    if not valid_name(name):
        raise Failure(c.MQRC_DYNAMIC_Q_NAME_ERROR, wanted)
    if connection.objects.queue(name):
        raise Failure(c.MQRC_OBJECT_ALREADY_EXISTS, name)
    connection.objects.define_dynamic(name, model, connection.id)
    return name


def close(connection: Connection, handle: int, options: int) -> int:
    """MQCLOSE; MQCO_DELETE and MQCO_DELETE_PURGE delete dynamic queues, a temporary one goes with its creator's handle.

    Returns the reason of a warning, 0 for none: a group that was put in logical order is not complete (IBM MQ,
    "MQRC_INCOMPLETE_GROUP").
    Raises Failure.
    """
    opened = connection.handles.get(handle)
    if not isinstance(opened, OpenObject):
        raise Failure(c.MQRC_HOBJ_ERROR)
    if options not in (c.MQCO_NONE, c.MQCO_DELETE, c.MQCO_DELETE_PURGE):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if opened.queue:
        _close_queue(connection, opened, options)
    elif options:
        raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    del connection.handles[handle]
    return opened.putting.broken_off


def _close_queue(connection: Connection, opened: OpenObject, options: int) -> None:
    store = connection.store
    with store.write():
        row = store.row(QueueRow, sql.QUEUE_BY_ID, (opened.queue,))
        gone = QueueRow(opened.queue, opened.name, depth=0, version=0, dynamic=0, creator=0, deleted=1)
        _, name, depth, version, dynamic, creator, deleted = row or gone
        own = creator == connection.id and created_here(opened)
        if options and dynamic == c.MQQDT_PERMANENT_DYNAMIC:
            check_deletion(connection, opened, empty=not depth or options == c.MQCO_DELETE_PURGE)
        elif options and not (own and dynamic == c.MQQDT_TEMPORARY_DYNAMIC):
            raise Failure(c.MQRC_OPTION_NOT_VALID_FOR_TYPE, name)
        if opened.cursor.locked:
            store.execute(sql.UNLOCK, (opened.cursor.locked, connection.id))
        store.execute(sql.DELETE_HANDLE, (connection.id, opened.handle))
        goes = bool(options) or (dynamic == c.MQQDT_TEMPORARY_DYNAMIC and own) or abandoned(store, opened.queue, name)
        if row and (goes or (deleted and not store.one(sql.IS_OPEN, (opened.queue,)))):
            delete_queue(store, opened.queue, name)
        elif opened.input and (opened.local["TRIGGER"] or opened.version != version):
            triggering.closed(connection.engine, (opened.queue,))


def check_deletion(connection: Connection, opened: OpenObject, *, empty: bool) -> None:
    """A permanent dynamic queue goes only when nobody's unit of work has messages of it, purged or not.

    Raises Failure (MQRC_Q_NOT_EMPTY, MQRC_NOT_AUTHORIZED).
    """
    if not empty or uncommitted(connection, opened.queue):
        raise Failure(c.MQRC_Q_NOT_EMPTY, opened.name)
    if not created_here(opened):
        authority.check(connection, "", "QUEUE", opened.name, {"DLT"})


def created_here(opened: OpenObject) -> bool:
    """Whether this handle is the one whose MQOPEN made the dynamic queue."""
    return opened.resolved is not None and opened.resolved.model is not None


def uncommitted(connection: Connection, queue: int) -> bool:
    """Whether messages of a queue are in somebody's unit of work."""
    return bool(connection.store.value(sql.UNCOMMITTED, (queue,)))


def queue_of(connection: Connection, handle: int) -> OpenObject:
    """The open queue of a handle.

    Raises Failure (MQRC_HOBJ_ERROR).
    """
    opened = connection.handles.get(handle)
    if not isinstance(opened, OpenObject):
        raise Failure(c.MQRC_HOBJ_ERROR)
    return opened


def refresh(connection: Connection, opened: OpenObject, found: FoundMessage | None = None) -> None:
    """Read the attributes of the queue, and of the definitions that led to it, again where they have changed.

    Parameters: `found` a message of the queue that was found just now, None to ask for the versions.
    Raises Failure (MQRC_Q_DELETED, MQRC_OBJECT_CHANGED).
    """
    now = found or connection.store.row(Versions, sql.VERSIONS, (opened.queue,)) or Versions(0, 1, 0)
    if now.deleted:
        raise Failure(c.MQRC_Q_DELETED, opened.name)
    if now.objects == opened.objects and now.version == opened.version:
        return
    opened.local = connection.objects.get(Kind.QLOCAL, opened.name) or {}
    way = [opened.local]
    resolved = opened.resolved
    if resolved is None or opened.kind in (Kind.QLOCAL, Kind.QMODEL):
        opened.definition = opened.local
    elif resolved.kind is Kind.QREMOTE and connection.objects.get(Kind.QREMOTE, resolved.name) is None:
        way += [resolved.attributes, *resolved.through]
    else:
        way += follow(connection, opened, resolved)
    opened.puts = tuple(definition.get("PUT", 0) for definition in way)
    opened.cap = cap_of(way)
    manager = connection.objects.manager(now.objects)
    opened.limits = Limits(
        depth=int(str(opened.local.get("MAXDEPTH", 0))), length=int(str(opened.local.get("MAXMSGL", 0))),
        any_length=int(str(manager["MAXMSGL"])), uncommitted=int(str(manager["MAXUMSGS"])),
        marked=int(str(manager["MARKINT"])),
    )  # fmt: skip
    opened.version, opened.objects = now.version, now.objects  # only now: the way may lead elsewhere


def follow(connection: Connection, opened: OpenObject, before: Resolved) -> list[Attributes]:
    """Resolve the name of an alias or remote queue again; returns the definitions on the way.

    Raises Failure (MQRC_OBJECT_CHANGED).
    """
    try:
        now = resolve(connection.objects, connection.manager.name, before.name, "")
    except Failure as failure:
        raise Failure(c.MQRC_OBJECT_CHANGED, before.name) from failure
    leads = (now.kind, now.queue, now.remote_queue, now.remote_queue_manager)
    if leads != (before.kind, before.queue, before.remote_queue, before.remote_queue_manager):
        raise Failure(c.MQRC_OBJECT_CHANGED, before.name)
    opened.resolved, opened.definition = now, now.attributes
    return [now.attributes, *now.through]
