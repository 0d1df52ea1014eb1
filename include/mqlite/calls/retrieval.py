"""What a get asks for and what it gets: the request, the search for its message, the message as it is returned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from mqlite.calls.opening import OpenObject, refresh
from mqlite.connections.connection import Connection
from mqlite.expiry.discard import inner_counted_down
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.properties import Property, unfold
from mqlite.platform import Platform
from mqlite.storage import sql
from mqlite.storage.rows import FoundMessage
from mqwire import constants as c
from mqwire.structures import MQMDE

ZERO_24 = bytes(24)
BROWSES = c.MQGMO_BROWSE_FIRST | c.MQGMO_BROWSE_NEXT | c.MQGMO_BROWSE_MSG_UNDER_CURSOR
PROPERTIES = (
    c.MQGMO_NO_PROPERTIES | c.MQGMO_PROPERTIES_IN_HANDLE | c.MQGMO_PROPERTIES_FORCE_MQRFH2
    | c.MQGMO_PROPERTIES_COMPATIBILITY
)  # fmt: skip
NO_TOKEN = bytes(16)
MOST_BACKOUTS_ZOS = 255  # IBM: BackoutCount (MQLONG) for MQMD
OF_VERSION_2 = c.MQMO_MATCH_GROUP_ID | c.MQMO_MATCH_MSG_SEQ_NUMBER | c.MQMO_MATCH_OFFSET
MATCHES = c.MQMO_MATCH_MSG_ID | c.MQMO_MATCH_CORREL_ID | c.MQMO_MATCH_MSG_TOKEN | OF_VERSION_2


@dataclass(slots=True, kw_only=True)  # these two are not frozen, which costs a microsecond for each message
class GetRequest:
    """What an application asks of one get.

    Parameters: `md` the descriptor given (version 2 form) and the `version` it came in; `match` MQMO_*; `token` 16
    bytes; `in_handle` whether a message handle waits for the properties; `wait` milliseconds, -1 for ever; `room`
    bytes of the buffer.
    """

    md: bytes | bytearray
    options: int
    match: int
    token: bytes
    wait: int
    room: int
    version: int = 2
    in_handle: bool = False


@dataclass(slots=True, kw_only=True)
class GetResult:
    """A message as it is returned; `comp` and `reason` tell of truncation, else of a group that is broken off;
    `properties` None where they are in the data or were not asked for.
    """

    md: bytearray
    body: bytes
    token: bytes
    properties: dict[str, Property] | None = None
    comp: int = c.MQCC_OK
    reason: int = c.MQRC_NONE

    def warn(self, reason: int) -> None:
        """Have the call warn of something, unless it warns already or there is nothing (0)."""
        if reason and not self.reason:
            self.comp, self.reason = c.MQCC_WARNING, reason


def check_match(match: int, version: int) -> None:
    """Raises Failure (MQRC_MATCH_OPTIONS_ERROR, MQRC_WRONG_MD_VERSION)."""
    if match & ~MATCHES:
        raise Failure(c.MQRC_MATCH_OPTIONS_ERROR)
    if match & OF_VERSION_2 and version < 2:
        raise Failure(c.MQRC_WRONG_MD_VERSION)


def check_gets(connection: Connection, opened: OpenObject, found: FoundMessage | None = None) -> None:
    """The attributes as they are now. Raises Failure (MQRC_GET_INHIBITED, MQRC_Q_DELETED, MQRC_OBJECT_CHANGED).

    Parameters: `found` as in `refresh`.
    """
    refresh(connection, opened, found)
    if opened.local["GET"] == c.MQQA_GET_INHIBITED or opened.definition.get("GET") == c.MQQA_GET_INHIBITED:
        raise Failure(c.MQRC_GET_INHIBITED, opened.name)


def statement(connection: Connection, opened: OpenObject, request: GetRequest) -> tuple[str, list[Any]]:
    """The search for the next message, by the match options; an identifier of zeros matches all."""
    text, values = sql.NEXT, [opened.queue]
    if request.options & c.MQGMO_LOGICAL_ORDER:
        place = opened.browsing if request.options & BROWSES else opened.getting
        if place.group:
            text += sql.BY_GROUP_ID + sql.BY_SEQUENCE + sql.BY_OFFSET
            return text, [opened.queue, place.group, place.sequence, place.offset]
        text += sql.STARTS_GROUP
    match = request.match
    if not match:
        return text, values
    msg_id, correl_id, group_id, sequence, offset = d.for_match(request.md)
    if match & c.MQMO_MATCH_MSG_ID and msg_id != ZERO_24:
        text, values = text.replace(sql.NEXT, sql.NEXT_BY_MSG_ID) + sql.BY_MSG_ID, [*values, msg_id]
    if match & c.MQMO_MATCH_CORREL_ID and correl_id != ZERO_24:
        text, values = text.replace(sql.NEXT, sql.NEXT_BY_CORREL_ID) + sql.BY_CORREL_ID, [*values, correl_id]
    if match & c.MQMO_MATCH_GROUP_ID and group_id != ZERO_24:
        text, values = text + sql.BY_GROUP_ID, [*values, group_id]
    if match & c.MQMO_MATCH_MSG_SEQ_NUMBER:
        text, values = text + sql.BY_SEQUENCE, [*values, sequence]
    if match & c.MQMO_MATCH_OFFSET:
        text, values = text + sql.BY_OFFSET, [*values, offset]
    if match & c.MQMO_MATCH_MSG_TOKEN and request.token != NO_TOKEN:
        text, values = text + sql.BY_SEQ, [*values, number_of(connection, request.token)]
    return text, values


def number_of(connection: Connection, token: bytes) -> int:
    """The message number that a token of this queue manager stands for; -1, a number that no message has, for a
    token of another queue manager."""
    number = int.from_bytes(token[8:], "big")
    return number if token[:8] == connection.manager.identity and number < sql.NEVER else -1


def without_header(opened: OpenObject, request: GetRequest) -> bool:
    """Whether a message comes without the MQRFH2 of its properties: by the options; where those leave it to the queue,
    into the message handle if there is one, but for PROPCTL(FORCE), and with PROPCTL(NONE) nowhere (IBM MQ, "MQGMO
    options": MQGMO_PROPERTIES_AS_Q_DEF).
    """
    if form := request.options & PROPERTIES:
        return form in (c.MQGMO_PROPERTIES_IN_HANDLE, c.MQGMO_NO_PROPERTIES)
    control = opened.definition.get("PROPCTL")
    return control != c.MQPROP_FORCE_MQRFH2 and (request.in_handle or control == c.MQPROP_NONE)


def returned(connection: Connection, opened: OpenObject, request: GetRequest, row: FoundMessage) -> GetResult:
    """The message of a row as the application sees it: remaining expiry (E02), BackoutCount, truncation."""
    seq, expires, backouts, stored, _persistent, raw, body = row[:7]
    md = with_rest(raw, expires)
    body = inner_counted_down(md, body, stored)
    if backouts:
        d.set_backout_count(
            md, backouts if connection.manager.platform != Platform.ZOS else min(backouts, MOST_BACKOUTS_ZOS)
        )
    properties: dict[str, Property] | None = None
    if without_header(opened, request):
        body, properties = unfold(md, body)
    if request.version < 2 and md[d.LENGTH_1 :] != d.EXTENSION:
        body = extended(md, body)
    token = connection.manager.identity + seq.to_bytes(8, "big")
    if len(body) <= request.room:
        return GetResult(md=md, body=body, token=token, properties=properties)
    accepted = request.options & c.MQGMO_ACCEPT_TRUNCATED_MSG
    reason = c.MQRC_TRUNCATED_MSG_ACCEPTED if accepted else c.MQRC_TRUNCATED_MSG_FAILED
    return GetResult(md=md, body=body, token=token, properties=properties, comp=c.MQCC_WARNING, reason=reason)


def with_rest(raw: bytes, expires: int) -> bytearray:
    """The descriptor of a message with the rest of its lifetime (E02), which `expires` then, tenths of a second."""
    md = bytearray(raw)
    if expires != sql.NEVER:
        d.set_expiry(md, max(1, int(expires - time.time() * 10)))
    return md


def extended(md: bytearray, body: bytes) -> bytes:
    """The data behind an MQMDE, for a program that has no version 2 descriptor to get the fields in."""
    encoding, ccsid = d.encoding_of(md)
    _, _, group_id, sequence, offset, flags, original = d.version_2(md)
    header = MQMDE(
        encoding=encoding, coded_char_set_id=ccsid, format=d.format_of(md), group_id=group_id,
        msg_seq_number=sequence, offset=offset, msg_flags=flags, original_length=original,
    )  # fmt: skip
    d.set_format(md, c.MQFMT_MD_EXTENSION)
    d.set_encoding(md, c.MQENC_NATIVE, ccsid)
    return header.pack() + body
