"""SET, DELETE and DISPLAY AUTHREC; and which authority a command needs of the user who sent it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mqlite.attributes import Attribute, Kind, Words
from mqlite.attributes.rows import text, word
from mqlite.commands.filters import generic_match
from mqlite.commands.nouns import DEFAULT_OBJECTS, kinds_of
from mqlite.commands.request import Request, Response, Row
from mqlite.conditions import CommandError, Condition
from mqlite.security.authority import (
    AUTHORITIES,
    CLASS,
    CREATE,
    ENTITY_TYPES,
    GENERAL,
    OBJECT_TYPES,
    Record,
    group_exists,
    groups,
    profile_matches,
    valid_profile,
)
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

ALL_WORDS = {**AUTHORITIES, **GENERAL}
PROFILE = text("PROFILE", c.MQCACF_AUTH_PROFILE_NAME, 48)
ENTITY = text("ENTITY", c.MQCACF_ENTITY_NAME, 1024)
ENTITY_TYPE = word("ENTTYPE", c.MQIACF_ENTITY_TYPE, None, ENTITY_TYPES)
OBJECT_TYPE = word("OBJTYPE", c.MQIACF_OBJECT_TYPE, None, {word: row[0] for word, row in OBJECT_TYPES.items()})
LIST = Attribute(keyword="AUTHLIST", selector=c.MQIACF_AUTHORIZATION_LIST, type=Words(words=ALL_WORDS))
# Nouns of commands → the object type whose authorities count; all others are the queue manager's.
TYPES: Mapping[str, str] = {
    **dict.fromkeys(("QLOCAL", "QALIAS", "QREMOTE", "QMODEL", "QUEUE", "QSTATUS", "QSTATS"), "QUEUE"),
    **dict.fromkeys(("CHANNEL", "CHSTATUS"), "CHANNEL"),
    "LSSTATUS": "LISTENER",
    **{noun: noun for noun in ("PROCESS", "NAMELIST", "TOPIC", "AUTHINFO", "LISTENER")},
}
VERBS = {"ALTER": "CHG", "DELETE": "DLT", "CLEAR": "CLR", "START": "CTRL", "STOP": "CTRL", "PING": "CTRL",
         "RESET": "CTRLX", "RESOLVE": "CTRLX"}  # fmt: skip
Need = tuple[str, str, set[str]]


def set_records(admin: Administration, request: Request) -> Response:
    """SET AUTHREC: add and take away authorities of each named entity."""
    object_type = _object_type(request)
    profile = _profile(admin, request, object_type)
    added, removed = (_words(request, keyword, object_type, profile) for keyword in ("AUTHADD", "AUTHRMV"))
    if added is None and removed is None:
        raise CommandError(Condition.REQUIRED_MISSING, reason=c.MQRCCF_AUTH_VALUE_MISSING)
    if (added or set()) & (removed or set()):
        raise CommandError(Condition.VALUE_ERROR, reason=c.MQRCCF_AUTH_VALUE_ERROR)
    if any(kind == "GROUP" and not group_exists(name) for kind, name in _entities(request)):
        raise CommandError(Condition.UNKNOWN_ENTITY, parameter=c.MQCACF_GROUP_ENTITY_NAMES)
    there = {record.key: record for record in admin.authority_records()}
    changed = []
    for entity_type, entity in _entities(request):
        empty = Record(
            object_type=object_type, profile=profile, entity_type=entity_type, entity=entity, authorities=frozenset()
        )
        before = there.get(empty.key, empty)
        after = (before.authorities | (added or set())) - (removed or set())
        changed.append(replace(before, authorities=frozenset(after)))
    admin.set_authority(changed)
    return Response(done=Condition.AUTHREC_SET)


def delete_records(admin: Administration, request: Request) -> Response:
    """DELETE AUTHREC: the entities have no authority by this profile any more."""
    object_type = _object_type(request)
    profile = _profile(admin, request, object_type)
    wanted = _entities(request)
    found = [
        record
        for record in admin.authority_records()
        if (record.object_type, record.profile) == (object_type, profile)
        and (record.entity_type, record.entity) in wanted
    ]
    if not found:
        raise CommandError(Condition.NOT_FOUND, name=profile)
    admin.delete_authority(found)
    return Response(done=Condition.AUTHREC_DELETED)


def display_records(admin: Administration, request: Request) -> Response:
    """DISPLAY AUTHREC: MATCH(PROFILE) shows the profiles that fit the name, EXACT the one, MEMBERSHIP groups too."""
    rows = tuple(_row(record) for record in admin.authority_records() if _shown(admin, request, record))
    if not rows:
        raise CommandError(Condition.NOT_FOUND, name=request.options.get("PROFILE", ""))
    return Response(rows=rows)


def _shown(admin: Administration, request: Request, record: Record) -> bool:
    options = request.options
    profile, match = options.get("PROFILE", ""), options.get("MATCH", "PROFILE")
    if options.get("OBJTYPE", record.object_type) != record.object_type:
        return False
    named = not profile or record.object_type == "QMGR" or profile == record.profile
    if not named and (match == "EXACT" or not profile_matches(record.profile, profile)):
        return False
    entity = (record.entity_type, record.entity)
    if "PRINCIPAL" in options and match == "MEMBERSHIP" and record.entity_type == "GROUP":
        return record.entity in groups(options["PRINCIPAL"])
    return all(entity == (kind, options[kind]) for kind in ENTITY_TYPES if kind in options)


def _row(record: Record) -> Row:
    identity = (
        (PROFILE, record.profile), (ENTITY, record.entity), (ENTITY_TYPE, ENTITY_TYPES[record.entity_type]),
        (OBJECT_TYPE, OBJECT_TYPES[record.object_type][0]),
    )  # fmt: skip
    listed = sorted(record.authorities) or ["NONE"]
    return Row(shown=Condition.AUTHREC_SHOWN, identity=identity, values={"AUTHLIST": listed}, rows={"AUTHLIST": LIST})


def _object_type(request: Request) -> str:
    found = request.options.get("OBJTYPE", "")
    if found not in OBJECT_TYPES:
        condition = Condition.VALUE_ERROR if found else Condition.REQUIRED_MISSING
        raise CommandError(condition, parameter=c.MQIACF_OBJECT_TYPE)
    return found


def _profile(admin: Administration, request: Request, object_type: str) -> str:
    profile = request.options.get("PROFILE", "")
    if object_type == "QMGR":
        return admin.queue_manager
    if not profile:
        raise CommandError(Condition.REQUIRED_MISSING, reason=c.MQRCCF_PROFILE_NAME_MISSING)
    if profile.upper() == CLASS.upper():
        return CLASS
    if not valid_profile(profile):
        raise CommandError(Condition.NAME_ERROR, reason=c.MQRCCF_PROFILE_NAME_ERROR)
    return profile


def _entities(request: Request) -> list[tuple[str, str]]:
    found = [(kind, name) for kind in ENTITY_TYPES for name in request.options.get(kind, "").split(",") if name.strip()]
    if not found:
        raise CommandError(Condition.REQUIRED_MISSING, reason=c.MQRCCF_ENTITY_NAME_MISSING)
    return found


def _words(request: Request, keyword: str, object_type: str, profile: str) -> set[str] | None:
    """The authorities of AUTHADD or AUTHRMV, the general ones spelled out; None where it is not given."""
    if keyword not in request.options:
        return None
    _, calls, commands = OBJECT_TYPES[object_type]
    general = {"NONE": set[str](), "ALL": calls | commands, "ALLMQI": calls, "ALLADM": commands}
    known = calls | commands | ({CREATE} if object_type == "QMGR" or profile == CLASS else set())
    found: set[str] = set()
    for name in request.options[keyword].split(","):
        if name not in general and name not in known:
            raise CommandError(Condition.VALUE_ERROR, reason=c.MQRCCF_AUTH_VALUE_ERROR)
        found |= general.get(name, {name})
    return found


def needs(admin: Administration, request: Request) -> Iterator[list[Need]]:
    """What the sender of a command must be allowed: one need of each list (IBM: Authorizations for PCF commands)."""
    manager = ("QMGR", admin.queue_manager)
    yield [(*manager, {"DSP"})]
    object_type = TYPES.get(request.noun, "QMGR")
    if request.verb == "DISPLAY" or (request.verb, request.noun) == ("PING", "QMGR"):
        return  # what is displayed is sifted afterwards
    if object_type == "QMGR":
        yield [(*manager, {"CHG"})]
    elif request.verb == "DEFINE":
        kinds = kinds_of("QUEUE") if object_type == "QUEUE" else kinds_of(request.noun)
        there = any(admin.get(kind, request.name) is not None for kind in kinds)
        made = [(*manager, {CREATE}), (object_type, CLASS, {CREATE})]
        yield [(object_type, request.name, {"CHG"})] if there else made
        like = request.options.get("LIKE") or DEFAULT_OBJECTS.get(request.noun, "")
        if like:
            yield [(object_type, like, {"DSP"})]
    elif request.noun == "QSTATS":
        names = [found for _, found, _ in admin.find((Kind.QLOCAL,)) if generic_match(request.name, found)]
        yield from ([(object_type, name, {"DSP", "CHG"})] for name in names or (request.name,))
    else:
        yield [(object_type, request.name, {VERBS.get(request.verb, "CHG")})]


def permit(admin: Administration, user: str, request: Request) -> None:
    """Raises CommandError (NOT_AUTHORIZED) unless the user may send this command."""
    for choices in needs(admin, request):
        if not any(admin.authorized(user, *need) for need in choices):
            raise CommandError(Condition.NOT_AUTHORIZED, name=request.name)


def sift(admin: Administration, user: str, request: Request, response: Response) -> Response:
    """The rows of objects that the user may display; of names alone all (IBM: Authorizations for PCF commands, "Inquire
    object names": no check).

    Raises CommandError (NOT_AUTHORIZED) where there are others only.
    """
    object_type = TYPES.get(request.noun)
    if object_type is None or not response.rows or request.names_only:
        return response
    rows = tuple(
        row for row in response.rows if admin.authorized(user, object_type, str(row.identity[0][1]), {"DSP"})
    )  # fmt: skip
    if not rows:
        raise CommandError(Condition.NOT_AUTHORIZED, name=request.name)
    return replace(response, rows=rows)
