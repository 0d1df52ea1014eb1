"""DEFINE, ALTER and DELETE of every kind of object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mqlite import attributes
from mqlite.attributes import Attribute, Kind, Text, Value, channel_type, valid_name
from mqlite.commands import disposition
from mqlite.commands.nouns import DEFAULT_OBJECTS, NOUNS, kinds_of
from mqlite.commands.request import Request, Response
from mqlite.conditions import CommandError, Condition
from mqlite.platform import Platform
from mqwire import constants as c
from mqwire.ccsid import encode
from mqwire.errors import WireError

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

REQUIRED = {"SDR": ("CONNAME", "XMITQ"), "SVR": ("XMITQ",), "RQSTR": ("CONNAME",), "CLNTCONN": ("CONNAME",),
            "TOPIC": ("TOPICSTR",)}  # fmt: skip
SUBTYPE = {Kind.CHANNEL: "CHLTYPE", Kind.AUTHINFO: "AUTHTYPE", Kind.LISTENER: "TRPTYPE"}
NAME_LENGTHS = {Kind.CHANNEL: 20}


def define(admin: Administration, request: Request) -> Response:
    """DEFINE: make an object; with REPLACE set every attribute of the existing one.

    Values come from the command, else from LIKE's object, else from the SYSTEM.DEFAULT object of the kind.
    """
    kind = Kind(request.noun)
    noun = NOUNS[kind]
    _check_name(kind, request.name)
    subtype = _subtype(kind, request)
    there = _existing(admin, kind, request.name)
    if there is not None:
        if request.options.get("REPLACE") != "YES":
            raise CommandError(noun.exists, name=request.name)
        _check_same_type(kind, there, request)
    values = _starting_values(admin, kind, subtype, request)
    values.update(request.attributes)
    for keyword in REQUIRED.get(subtype or str(kind), ()):
        if keyword not in request.attributes and "LIKE" not in request.options:
            raise CommandError(Condition.REQUIRED_MISSING, parameter=attributes.attribute(kind, keyword).selector)
    _check_applies(admin, kind, subtype, request)
    _check_depths(request, values)
    disposition.check_definition(admin, kind, request, values, None if there is None else there[1])
    admin.define(kind, request.name, values, replace=there is not None)
    return Response(done=noun.created)


def alter(admin: Administration, request: Request) -> Response:
    """ALTER: only the given attributes change."""
    kind = Kind(request.noun)
    noun = NOUNS[kind]
    if kind is Kind.QMGR:
        _check_applies(admin, kind, None, request)
        _check_kept(admin, request)
        admin.alter(kind, admin.queue_manager, dict(request.attributes), force=True)
        notes = disposition.differing_intervals(admin) if "EXPRYINT" in request.attributes else ()
        return Response(done=noun.changed, notes=notes)
    there = _existing(admin, kind, request.name)
    if there is None:
        raise CommandError(noun.missing, name=request.name)
    subtype = _subtype(kind, request)
    _check_same_type(kind, there, request)
    _check_applies(admin, kind, subtype, request)
    disposition.check_found(admin, kind, request, there[1])
    force = request.options.get("FORCE") == "YES"
    changes = {keyword: value for keyword, value in request.attributes.items() if keyword != SUBTYPE.get(kind)}
    for keyword, value in changes.items():
        row = attributes.attribute(kind, keyword)
        if row.create_only and value != there[1].get(keyword):
            raise CommandError(Condition.VALUE_ERROR, name=request.name, parameter=row.selector)
    _check_depths(request, {**there[1], **changes})
    admin.alter(kind, request.name, changes, force=force)
    return Response(done=noun.changed)


def _check_kept(admin: Administration, request: Request) -> None:
    """Raises CommandError where ALTER QMGR would change what was chosen by `mqlite create`. The value that is there is
    taken: dmpmqcfg writes it."""
    there = admin.get(Kind.QMGR, admin.queue_manager) or {}
    for keyword, value in request.attributes.items():
        row = attributes.attribute(Kind.QMGR, keyword)
        if row.create_only and value != there.get(keyword):
            shown = f"{row.type.display(keyword, value)}, which mqlite create --ccsid chooses"
            raise CommandError(Condition.NOT_BUILT, name=shown, parameter=row.selector)


def delete(admin: Administration, request: Request) -> Response:
    """DELETE; a queue with messages only with PURGE. IGNSTATE(YES): an object that is not there is no error."""
    _check_platform(admin, request)
    kinds = kinds_of(request.noun)
    noun = NOUNS[kinds[0]]
    there = _existing(admin, kinds[0], request.name)
    if there is None and request.options.get("IGNSTATE") == "YES":
        return Response(done=noun.deleted)
    if there is None:
        raise CommandError(noun.missing, name=request.name)
    kind = there[0]
    if kind not in kinds:
        raise CommandError(Condition.WRONG_TYPE, name=request.name)
    disposition.check_found(admin, kind, request, there[1])
    if kind is Kind.CHANNEL and request.options.get("CHLTABLE", _table(there[1])) != _table(there[1]):
        raise CommandError(noun.missing, name=request.name)
    with_authority = request.options.get("AUTHREC") != "NO"
    admin.delete(kind, request.name, purge=request.options.get("PURGE") == "YES", with_authority=with_authority)
    return Response(done=noun.deleted)


def _check_platform(admin: Administration, request: Request) -> None:
    """Raises CommandError for an option that z/OS does not have."""
    for option, parameter in {"AUTHREC": c.MQIACF_REMOVE_AUTHREC, "IGNSTATE": c.MQIACF_IGNORE_STATE}.items():
        if option in request.options and admin.platform == Platform.ZOS:
            reason = Condition.UNKNOWN_PARAMETER.value.reason
            raise CommandError(Condition.NOT_BUILT, name=f"{option} on z/OS", reason=reason, parameter=parameter)


def named(admin: Administration, request: Request) -> Request:
    """The request with the name of the subscription that its SUBID identifies, if it has one.

    Of DEFINE it is the subscription that LIKE means. Raises CommandError, SUB_NOT_FOUND: there is no such subscription,
    or it has another name than the request says.
    """
    if "SUBID" not in request.options:
        return request
    options = {option: word for option, word in request.options.items() if option != "SUBID"}
    identifier = request.options["SUBID"]
    said = options.get("LIKE", "") if request.verb == "DEFINE" else request.name
    for _, name, values in admin.find((Kind.SUB,)):
        if values["SUBID"] == identifier and said in {"", name}:
            if request.verb == "DEFINE":
                return replace(request, options={**options, "LIKE": name})
            return replace(request, name=name, options=options)
    if request.verb == "DELETE" and options.get("IGNSTATE") == "YES":
        return replace(request, options=options)
    raise CommandError(Condition.SUB_NOT_FOUND, name=said or identifier)


def _table(channel: Mapping[str, Value]) -> str:
    """The channel definition table that has the channel (IBM MQ, "DELETE CHANNEL": CHLTABLE)."""
    return "CLNTTBL" if channel_type(channel["CHLTYPE"]) == "CLNTCONN" else "QMGRTBL"


def _check_depths(request: Request, values: Mapping[str, Value]) -> None:
    """Raises CommandError where QDEPTHHI is less than QDEPTHLO (IBM MQ, "DEFINE queues": QDEPTHHI, QDEPTHLO)."""
    given = {"QDEPTHHI": c.MQIA_Q_DEPTH_HIGH_LIMIT, "QDEPTHLO": c.MQIA_Q_DEPTH_LOW_LIMIT}
    for keyword in given.keys() & request.attributes:
        if int(str(values["QDEPTHHI"])) < int(str(values["QDEPTHLO"])):
            raise CommandError(Condition.VALUE_ERROR, name=request.name, parameter=given[keyword])


def _check_name(kind: Kind, name: str) -> None:
    if kind is Kind.SUB:
        if not name:
            raise CommandError(Condition.NAME_ERROR, name=name)
    elif not valid_name(name, NAME_LENGTHS.get(kind, 48)):
        raise CommandError(Condition.NAME_ERROR, name=name)


def _existing(admin: Administration, kind: Kind, name: str) -> tuple[Kind, dict[str, Value]] | None:
    """The object of that name in the kind's name space: all kinds of queue share one."""
    kinds = kinds_of("QUEUE") if kind in kinds_of("QUEUE") else (kind,)
    for candidate in kinds:
        values = admin.get(candidate, name)
        if values is not None:
            return candidate, values
    return None


def _subtype(kind: Kind, request: Request) -> str | None:
    """The channel type (SDR ...) that decides which attributes there are; None for kinds without one.

    Raises CommandError where the keyword that says it is missing.
    """
    keyword = SUBTYPE.get(kind)
    if keyword is None:
        return None
    if keyword not in request.attributes:
        raise CommandError(Condition.REQUIRED_MISSING, parameter=attributes.attribute(kind, keyword).selector)
    return channel_type(request.attributes[keyword]) if kind is Kind.CHANNEL else None


def _check_same_type(kind: Kind, there: tuple[Kind, dict[str, Value]], request: Request) -> None:
    found, values = there
    if found is not kind:
        raise CommandError(Condition.WRONG_TYPE, name=request.name)
    keyword = SUBTYPE.get(kind)
    if keyword and keyword in request.attributes and values[keyword] != request.attributes[keyword]:
        wrong = Condition.CHANNEL_WRONG_TYPE if kind is Kind.CHANNEL else Condition.WRONG_TYPE
        raise CommandError(wrong, name=request.name)


def _starting_values(admin: Administration, kind: Kind, subtype: str | None, request: Request) -> dict[str, Value]:
    values = attributes.defaults(kind, platform=admin.platform, subtype=subtype)
    like = request.options.get("LIKE")
    source = like or DEFAULT_OBJECTS[subtype or str(kind)]
    found = admin.get(kind, source)
    if found is None and like:
        raise CommandError(NOUNS[kind].missing, name=like)
    if found is not None and (keyword := SUBTYPE.get(kind)) and found[keyword] != request.attributes[keyword]:
        if like:
            raise CommandError(Condition.WRONG_TYPE, name=like)
        found = None
    for keyword, value in (found or {}).items():
        row = attributes.TABLE[kind].get(keyword)  # None: what the engine keeps there for itself
        if row and not row.read_only and keyword != disposition.KEYWORD and value != (found or {}).get("SUBID"):
            values[keyword] = value
    return values


def _check_applies(admin: Administration, kind: Kind, subtype: str | None, request: Request) -> None:
    """Every given attribute is one of this platform and of this channel type, and asks for what mqlite has.

    Raises CommandError.
    """
    allowed = {row.keyword for row in attributes.rows(kind, platform=admin.platform, subtype=subtype)}
    for keyword, value in request.attributes.items():
        row = attributes.attribute(kind, keyword)
        if keyword not in allowed:
            raise CommandError(Condition.UNKNOWN_PARAMETER, name=keyword, parameter=row.selector)
        missing = admin.platform in row.unbuilt and value not in row.takes
        if missing or value != row.unbuilt_of.get(subtype or "", value):
            shown = row.type.display(keyword, value)
            raise CommandError(Condition.NOT_BUILT, name=shown, parameter=row.selector)
        if isinstance(row.type, Text) and isinstance(value, str) and not value.isascii():
            _check_text(admin, row, row.type.length, value)


def _check_text(admin: Administration, row: Attribute, length: int, text: str) -> None:
    """The text is one of the queue manager's character set and fits in the attribute's bytes, as in trigger messages.

    Raises CommandError.
    """
    ccsid = int(str((admin.get(Kind.QMGR, admin.queue_manager) or {})["CCSID"]))
    try:
        encoded = encode(text, ccsid, structure=row.keyword)
    except WireError as error:
        why = f"{row.keyword}: {error.message}"
        raise CommandError(Condition.CHARACTER_ERROR, name=why, parameter=row.selector) from error
    if len(encoded) > length:
        raise CommandError(Condition.LENGTH_ERROR, parameter=row.selector)
