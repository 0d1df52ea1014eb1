"""Groups and segments: where in its group a message that is put or got stands.

In physical order the application says it, and what does not apply is reset; in logical order (MQPMO_LOGICAL_ORDER,
MQGMO_LOGICAL_ORDER) the queue manager knows it from the message before, for each handle.
"""

from __future__ import annotations

from dataclasses import replace

from mqlite.calls.opening import GroupPosition, OpenObject
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqwire import constants as c

IN_GROUP = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
SEGMENT = c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
KNOWN_FLAGS = IN_GROUP | SEGMENT | c.MQMF_SEGMENTATION_ALLOWED
LARGEST = 999_999_999


def set_place_in_group(connection: Connection, md: bytearray, length: int) -> None:
    """Check the version 2 fields and set those that the queue manager sets.

    Parameters: `length` of the data in bytes.
    Raises Failure (MQRC_MSG_FLAGS_ERROR, MQRC_MSG_SEQ_NUMBER_ERROR, MQRC_OFFSET_ERROR, MQRC_ORIGINAL_LENGTH_ERROR,
    MQRC_SEGMENT_LENGTH_ZERO).
    """
    _, _, group_id, sequence, offset, flags, original = d.version_2(md)
    if flags & ~KNOWN_FLAGS:
        raise Failure(c.MQRC_MSG_FLAGS_ERROR)
    if flags & c.MQMF_LAST_MSG_IN_GROUP:
        flags |= c.MQMF_MSG_IN_GROUP
    if flags & c.MQMF_LAST_SEGMENT:
        flags |= c.MQMF_SEGMENT
    elif flags & c.MQMF_SEGMENT and not length:
        raise Failure(c.MQRC_SEGMENT_LENGTH_ZERO)
    if not flags & IN_GROUP:
        sequence = 1
    if not flags & SEGMENT:
        offset, original = 0, c.MQOL_UNDEFINED
    if not 1 <= sequence <= LARGEST:
        raise Failure(c.MQRC_MSG_SEQ_NUMBER_ERROR)
    if not 0 <= offset <= LARGEST:
        raise Failure(c.MQRC_OFFSET_ERROR)
    if original != c.MQOL_UNDEFINED and original < 0:
        raise Failure(c.MQRC_ORIGINAL_LENGTH_ERROR)
    if not flags & (IN_GROUP | SEGMENT | c.MQMF_SEGMENTATION_ALLOWED):
        group_id = c.MQGI_NONE
    elif group_id == c.MQGI_NONE:
        group_id = connection.new_msg_id()
    d.set_version_2(md, group_id, sequence, offset, flags, original)


def next_in_logical_order(opened: OpenObject, md: bytearray, options: int, version: int) -> None:
    """MQPMO_LOGICAL_ORDER: the queue manager says where in its group the message stands, by the one before it.

    Raises Failure (MQRC_WRONG_MD_VERSION, MQRC_INCOMPLETE_GROUP, MQRC_INCOMPLETE_MSG).
    """
    if not options & c.MQPMO_LOGICAL_ORDER:
        return
    if version < 2:
        raise Failure(c.MQRC_WRONG_MD_VERSION)
    flags, place = d.flags_of(md), opened.putting
    check_goes_on(place, flags)
    d.set_version_2(md, place.group or c.MQGI_NONE, place.sequence, place.offset, flags, c.MQOL_UNDEFINED)


def check_goes_on(place: GroupPosition, flags: int) -> None:
    """After a segment that is not the last another segment has to come, as much in a group as that one; after a message
    of a group that is not the last another message of it (IBM MQ, "2241 MQRC_INCOMPLETE_GROUP", "2242
    MQRC_INCOMPLETE_MSG").

    Parameters: `flags` of the message that is to be put.
    Raises Failure (MQRC_INCOMPLETE_GROUP, MQRC_INCOMPLETE_MSG).
    """
    if place.offset and not (flags & SEGMENT and group_flags(flags) == place.in_group):
        raise Failure(c.MQRC_INCOMPLETE_MSG)
    if place.group and not place.offset and not flags & IN_GROUP:
        raise Failure(c.MQRC_INCOMPLETE_GROUP)


def group_flags(flags: int) -> int:
    """The group flags among the flags of a message: the last of a group is in one."""
    return (flags | c.MQMF_MSG_IN_GROUP) & IN_GROUP if flags & c.MQMF_LAST_MSG_IN_GROUP else flags & IN_GROUP


def advance(
    connection: Connection, place: GroupPosition, md: bytes | bytearray, length: int, *, syncpoint: bool
) -> None:
    """The message was put, got or browsed: what comes next in its group. A back-out of its unit of work undoes it."""
    if syncpoint:
        undo_with_the_unit(connection, place)
    _, _, group_id, sequence, offset, flags, _ = d.version_2(md)
    place.in_group, place.syncpoint, place.persistent = group_flags(flags), syncpoint, d.persistence_of(md)
    more_segments = flags & c.MQMF_SEGMENT and not flags & c.MQMF_LAST_SEGMENT
    if more_segments:
        place.move(group_id, sequence, offset + length)
    elif flags & c.MQMF_MSG_IN_GROUP and not flags & c.MQMF_LAST_MSG_IN_GROUP:
        place.move(group_id, sequence + 1, 0)
    else:
        place.move(b"", 1, 0)


def follow(
    connection: Connection, place: GroupPosition, md: bytes | bytearray, length: int, *, logical: bool, syncpoint: bool
) -> int:  # fmt: skip
    """A message was got or browsed: the place goes on with it. Returns the reason of the warning, 0 for none.

    Parameters: `logical` whether in logical order; `length` of the data in bytes.
    """
    if logical:
        advance(connection, place, md, length, syncpoint=syncpoint)
        return 0
    return in_physical_order(connection, place, md, length, syncpoint=syncpoint) if place.group else 0


def undo_with_the_unit(connection: Connection, place: GroupPosition) -> None:
    """A back-out of the unit of work brings the place back to where it is now (IBM MQ, "MQBACK": usage notes)."""
    before = replace(place)
    connection.unit.undo.append(lambda: place.move_back(before))


def check_same_unit(place: GroupPosition, *, syncpoint: bool) -> None:
    """In logical order a group is in units of work as a whole or not at all.

    Raises Failure (MQRC_INCONSISTENT_UOW).
    """
    if place.group and place.syncpoint != syncpoint:
        raise Failure(c.MQRC_INCONSISTENT_UOW)


def check_like_the_others(place: GroupPosition, md: bytearray, *, syncpoint: bool) -> None:
    """A put in logical order has the syncpoint and the persistence of the messages before it in its group.

    Raises Failure (MQRC_INCONSISTENT_UOW, MQRC_INCONSISTENT_PERSISTENCE).
    """
    check_same_unit(place, syncpoint=syncpoint)
    if place.group and place.persistent != d.persistence_of(md):
        raise Failure(c.MQRC_INCONSISTENT_PERSISTENCE)


def in_physical_order(
    connection: Connection, place: GroupPosition, md: bytes | bytearray, length: int, *, syncpoint: bool
) -> int:  # fmt: skip
    """A message put, got or browsed in physical order goes on with the group that was being put, got or browsed in
    logical order, or breaks it off. A back-out of its unit of work undoes that.

    Returns the reason of the warning that it has, 0 for none (IBM MQ, "MQPMO options": MQPMO_LOGICAL_ORDER, "MQGMO
    options": MQGMO_LOGICAL_ORDER, "2245 MQRC_INCONSISTENT_UOW").
    """
    _, _, *where = d.version_2(md)
    if tuple(where[:3]) == (place.group, place.sequence, place.offset):
        other_unit = place.syncpoint != syncpoint
        advance(connection, place, md, length, syncpoint=syncpoint)
        return c.MQRC_INCONSISTENT_UOW if other_unit else 0
    warning = place.broken_off
    if syncpoint:
        undo_with_the_unit(connection, place)
    place.move(b"", 1, 0)
    return warning
