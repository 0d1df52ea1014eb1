"""MQINQ and MQSET: attributes of open objects by selector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mqlite.attributes import QUEUE_KINDS, QUEUE_TYPES, Attribute, Kind, UnknownAttribute, Value, by_selector
from mqlite.calls.opening import OpenObject, refresh
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages.events import message_available
from mqlite.objects.manager import kept_attributes
from mqlite.storage import sql
from mqlite.storage.rows import QueueRow
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c
from mqwire.ccsid import decode, encode
from mqwire.errors import WireError

INTEGERS = range(c.MQIA_FIRST, c.MQIA_LAST + 1)
TEXTS = range(c.MQCA_FIRST, c.MQCA_LAST + 1)
SETTABLE = {
    c.MQIA_INHIBIT_GET: c.MQRC_INHIBIT_VALUE_ERROR,
    c.MQIA_INHIBIT_PUT: c.MQRC_INHIBIT_VALUE_ERROR,
    c.MQIA_DIST_LISTS: c.MQRC_INHIBIT_VALUE_ERROR,
    c.MQIA_TRIGGER_CONTROL: c.MQRC_TRIGGER_CONTROL_ERROR,
    c.MQIA_TRIGGER_DEPTH: c.MQRC_TRIGGER_DEPTH_ERROR,
    c.MQIA_TRIGGER_MSG_PRIORITY: c.MQRC_TRIGGER_MSG_PRIORITY_ERR,
    c.MQIA_TRIGGER_TYPE: c.MQRC_TRIGGER_TYPE_ERROR,
    c.MQCA_TRIGGER_DATA: c.MQRC_CHAR_ATTRS_ERROR,
}
"""Selector of MQSET → the reason why a value is not one."""
NAME_LENGTH = 48
DEFINITION_ONLY = frozenset({Kind.QALIAS, Kind.QREMOTE})


@dataclass(slots=True, kw_only=True)
class Inquired:
    """What MQINQ has found: the integers, and the texts with their lengths in bytes, in the selectors' order.

    Attributes: `applicable` whether this type of queue has all of them (IBM MQ, "2068 MQRC_SELECTOR_NOT_FOR_TYPE").
    """

    integers: list[int] = field(default_factory=list)
    texts: list[tuple[str, int]] = field(default_factory=list)
    applicable: bool = True


def inquire(connection: Connection, opened: OpenObject, selectors: Sequence[int]) -> Inquired:
    """The attributes that the selectors name.

    Raises Failure (MQRC_NOT_OPEN_FOR_INQUIRE, MQRC_SELECTOR_ERROR).
    """
    if not opened.options & c.MQOO_INQUIRE:
        raise Failure(c.MQRC_NOT_OPEN_FOR_INQUIRE)
    if opened.queue:
        refresh(connection, opened)
    elif opened.kind is Kind.QMGR:
        opened.definition = connection.objects.manager() | kept_attributes(connection.manager)
    found = Inquired()
    for selector in selectors:
        if selector in INTEGERS:
            integer(connection, opened, selector, found)
        elif selector in TEXTS:
            character(connection, opened, selector, found)
        else:
            raise Failure(c.MQRC_SELECTOR_ERROR, str(selector))
    return found


def integer(connection: Connection, opened: OpenObject, selector: int, found: Inquired) -> None:
    """Add an integer attribute as it is now; MQIAV_NOT_APPLICABLE where this type of queue has none of it."""
    value: Value | None = special(connection, opened, selector)
    if value is None:
        row, there = described(connection, opened, selector)
        value = opened.definition.get(row.keyword) if there else None
        found.applicable &= there
    found.integers.append(value if isinstance(value, int) else c.MQIAV_NOT_APPLICABLE)


def described(connection: Connection, opened: OpenObject, selector: int) -> tuple[Attribute, bool]:
    """The attribute that a selector means, and whether this type of queue has it, or only another one.

    Raises Failure (MQRC_SELECTOR_ERROR) for what no object of the kind has, or not on the platform.
    """
    own = Kind.QLOCAL if opened.kind is Kind.QMODEL else opened.kind
    for kind in (own, *QUEUE_KINDS) if own in QUEUE_KINDS else (own,):
        try:
            row = by_selector(kind, selector)
        except UnknownAttribute:
            continue
        if connection.manager.platform in row.platforms:
            return row, kind is own
    raise Failure(c.MQRC_SELECTOR_ERROR, str(selector))


def special(connection: Connection, opened: OpenObject, selector: int) -> int | None:
    """Figures that change by themselves, and what an object is."""
    names = opened.definition.get("NAMES")
    if selector == c.MQIA_NAME_COUNT and isinstance(names, list):
        return len(names)
    if selector == c.MQIA_Q_TYPE and opened.queue:
        return QUEUE_TYPES[Kind.QLOCAL if opened.kind is Kind.QMODEL else opened.kind]
    if opened.kind in DEFINITION_ONLY or not opened.queue:
        return None
    if selector == c.MQIA_CURRENT_Q_DEPTH:
        row = connection.store.row(QueueRow, sql.QUEUE_BY_ID, (opened.queue,))
        return 0 if row is None else row.depth
    if selector in (c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT):
        counts = connection.store.open_counts(opened.queue, here=True)
        return counts.input if selector == c.MQIA_OPEN_INPUT_COUNT else counts.output
    return None


def character(connection: Connection, opened: OpenObject, selector: int, found: Inquired) -> None:
    """Add a text attribute (a name list: several) with its length in bytes; asterisks where this type of queue has none
    of it.
    """
    name = own_name(connection, opened, selector)
    if name is not None:
        found.texts.append((name, NAME_LENGTH))
        return
    row, there = described(connection, opened, selector)
    length = int(getattr(row.type, "length", 0) or NAME_LENGTH)
    value: Value | None = opened.definition.get(row.keyword) if there else "*" * length
    found.applicable &= there
    if isinstance(value, list):
        names = "".join(str(each).ljust(NAME_LENGTH) for each in value)  # one entity: all of them, or none
        found.texts.append((names, NAME_LENGTH * len(value)))
    else:
        found.texts.append(("" if value is None else str(value), length))


def own_name(connection: Connection, opened: OpenObject, selector: int) -> str | None:
    """The name of the object, where the selector means that; None where it means an attribute."""
    if selector == c.MQCA_Q_NAME and opened.queue:
        return opened.definition_name
    if selector == c.MQCA_Q_MGR_NAME:
        return connection.manager.name
    if selector == c.MQCA_NAMELIST_NAME or (selector == c.MQCA_PROCESS_NAME and opened.kind is Kind.PROCESS):
        return opened.name
    return None


def change(
    connection: Connection, opened: OpenObject, selectors: Sequence[int], ints: Sequence[int], texts: bytes
) -> None:
    """MQSET: change attributes of an open local queue, alias or remote queue.

    Raises Failure (MQRC_NOT_OPEN_FOR_SET, MQRC_SELECTOR_ERROR, MQRC_TRIGGER_TYPE_ERROR ...).
    """
    if not opened.options & c.MQOO_SET:
        raise Failure(c.MQRC_NOT_OPEN_FOR_SET)
    if not opened.queue:
        raise Failure(c.MQRC_SELECTOR_NOT_FOR_TYPE)
    changes: dict[str, Value] = {}
    remaining = list(ints)
    kind = opened.kind if opened.kind is not Kind.QMODEL else Kind.QLOCAL
    for selector in selectors:
        if selector not in SETTABLE:
            raise Failure(c.MQRC_SELECTOR_ERROR, str(selector))
        try:
            row = by_selector(kind, selector)
        except UnknownAttribute:
            raise Failure(c.MQRC_SELECTOR_NOT_FOR_TYPE, str(selector)) from None
        if selector in INTEGERS:
            if not remaining:
                raise Failure(c.MQRC_INT_ATTR_COUNT_TOO_SMALL)
            raw: int | str = remaining.pop(0)
        else:
            if len(texts) < c.MQ_TRIGGER_DATA_LENGTH:
                raise Failure(c.MQRC_CHAR_ATTR_LENGTH_ERROR)
            raw = _text_of(connection, texts[: c.MQ_TRIGGER_DATA_LENGTH])
            texts = texts[c.MQ_TRIGGER_DATA_LENGTH :]
        try:
            changes[row.keyword] = row.type.canonical(row.keyword, raw)
        except ValueError as error:
            raise Failure(SETTABLE[selector], str(error)) from error
    name = opened.definition_name
    with connection.store.write(durable=True):
        before = connection.objects.get(kind, name)
        after = connection.objects.alter(kind, name, changes)
        if before is not None and kind is Kind.QLOCAL:
            triggering.altered(connection.engine, name, before, after)
    refresh(connection, opened)
    message_available(connection, "")


def _text_of(connection: Connection, given: bytes) -> str:
    """The text of an attribute that a program sets, in its character set.

    Raises Failure (MQRC_CHAR_ATTRS_ERROR) where it is not, or cannot be in that of the queue manager.
    """
    manager = connection.manager
    if given.isascii():
        return given.rstrip(b" \0").decode()
    try:
        text = decode(given.rstrip(b" \0"), manager.application_ccsid)
        encode(text, manager.ccsid)
    except WireError as error:
        raise Failure(c.MQRC_CHAR_ATTRS_ERROR, str(error)) from error
    return text
