"""SET and DISPLAY CHLAUTH: channel authentication records, which are kept as definitions. No connection is checked
by them: ALTER QMGR CHLAUTH(ENABLED) is refused.

Source: IBM MQ, "SET CHLAUTH", "DISPLAY CHLAUTH", "Set Channel Authentication Record".
1. A record is named by its profile, its type, and what it is about: address, client user, queue manager, TLS peer. Of
   each blocking type a profile has one record, with a list.
2. ACTION(ADD) adds a mapping that is not there, or entries to a list; REPLACE puts one in its place; REMOVE takes it
   away, or the entries from the list; REMOVEALL takes away all records of the profile and type.
3. MCAUSER belongs to USERSRC(MAP), and has to be there; CHCKCLNT does not go with NOACCESS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqlite.attributes import Value
from mqlite.attributes.status import CHLAUTH_TYPES, STATUS_TABLE, Status
from mqlite.attributes.types import NAME_CHARACTERS
from mqlite.commands.request import Request, Response, Row
from mqlite.commands.status import CHLAUTH_PROFILE, CHLAUTH_TYPE, status_row, trimmed
from mqlite.conditions import CommandError, Condition
from mqlite.objects.wildcards import wild_match
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

Record = dict[str, Value]
TABLE = STATUS_TABLE[Status.CHLAUTH]
ACTIONS = ("ADD", "REPLACE", "REMOVE", "REMOVEALL")
MATCHES = ("GENERIC", "ALL", "EXACT", "RUNCHECK")
LISTS = {"BLOCKUSER": "USERLIST", "BLOCKADDR": "ADDRLIST"}
ABOUT = {
    "SSLPEERMAP": ("SSLPEER", "SSLCERTI", "ADDRESS"),
    "ADDRESSMAP": ("ADDRESS",),
    "USERMAP": ("CLNTUSER", "ADDRESS"),
    "QMGRMAP": ("QMNAME", "ADDRESS"),
}
COMMON = {"CUSTOM", "DESCR", "WARN"}
NAME_LENGTH = 20


def set_record(admin: Administration, request: Request) -> Response:
    """SET CHLAUTH. Raises CommandError with the MQRCCF_*CHLAUTH* reason."""
    kind, action = _kind(request), _action(request)
    _check_profile(request.name, kind)
    given = dict(request.attributes)
    there = {record_key(record): record for record in admin.channel_authentication()}
    if action == "REMOVEALL":
        if given:
            raise CommandError(Condition.CHLAUTH_WRONG_ACTION, name=next(iter(given)))
        removed = [record for record in there.values() if _named(record) == (request.name, kind)]
        return _done(admin, removed, [], found=bool(removed))
    _check_given(kind, action, given)
    record: Record = {"PROFILE": request.name, "TYPE": kind, **given}
    before = there.get(record_key(record))
    if kind in LISTS:
        return _done(
            admin, *_listed(LISTS[kind], action, before, record), found=before is not None or action != "REMOVE"
        )
    if action == "REMOVE":
        return _done(admin, [before] if before else [], [], found=before is not None)
    if before is not None and action == "ADD":
        raise CommandError(Condition.CHLAUTH_EXISTS, name=request.name)
    return _done(admin, [], [_with_defaults(record)], found=True)


def record_key(record: Mapping[str, Value]) -> str:
    """What names a record (rule 1)."""
    kind = str(record["TYPE"])
    return "\n".join((str(record["PROFILE"]), kind, *(str(record.get(part, "")) for part in ABOUT.get(kind, ()))))


def display_records(admin: Administration, request: Request) -> Response:
    """DISPLAY CHLAUTH. MATCH(GENERIC) takes `*` of the name as a wildcard, EXACT as it is, ALL shows the records that
    a channel of the name has.

    Raises CommandError: there is none; MATCH(RUNCHECK), as no connection is checked.
    """
    match, wanted = request.options.get("MATCH", "GENERIC"), request.options.get("TYPE", "ALL")
    if match == "RUNCHECK":
        raise CommandError(Condition.NOT_BUILT, name="MATCH(RUNCHECK)", parameter=c.MQIACH_MATCH)
    rows = [
        _row(record)
        for record in admin.channel_authentication()
        if wanted in {"ALL", record["TYPE"]} and _matches(match, request.name, str(record["PROFILE"]))
    ]
    found = tuple(trimmed(row, request.wanted) for row in rows if request.admits(row))
    if not found:
        raise CommandError(Condition.CHLAUTH_NOT_FOUND, name=request.name)
    return Response(rows=found)


def _matches(match: str, asked: str, profile: str) -> bool:
    if match == "EXACT":
        return asked == profile
    return _wild(profile, asked) if match == "ALL" else _wild(asked, profile)


def _wild(pattern: str, name: str) -> bool:
    return wild_match(list(pattern), list(name), any_number="*", fits=lambda one, other: one == other)


def _row(record: Record) -> Row:
    identity = ((CHLAUTH_PROFILE, record["PROFILE"]), (CHLAUTH_TYPE, CHLAUTH_TYPES[str(record["TYPE"])]))
    return status_row(Status.CHLAUTH, Condition.CHLAUTH_SHOWN, identity, record)


def _kind(request: Request) -> str:
    kind = request.options.get("TYPE", "")
    if kind not in CHLAUTH_TYPES:
        condition = Condition.VALUE_ERROR if kind else Condition.REQUIRED_MISSING
        reason = c.MQRCCF_CHLAUTH_TYPE_ERROR if kind else None
        raise CommandError(condition, name=request.name, reason=reason, parameter=c.MQIACF_CHLAUTH_TYPE)
    return kind


def _action(request: Request) -> str:
    action = request.options.get("ACTION", "ADD")
    if action not in ACTIONS:
        reason = c.MQRCCF_CHLAUTH_ACTION_ERROR
        raise CommandError(Condition.VALUE_ERROR, reason=reason, parameter=c.MQIACF_ACTION)
    return action


def _check_profile(profile: str, kind: str) -> None:
    valid = 0 < len(profile) <= NAME_LENGTH and NAME_CHARACTERS.issuperset(profile.replace("*", ""))
    if not valid or (kind == "BLOCKADDR" and profile != "*"):
        reason = c.MQRCCF_CHLAUTH_NAME_ERROR
        raise CommandError(Condition.NAME_ERROR, name=profile, reason=reason, parameter=c.MQCACH_CHANNEL_NAME)


def _check_given(kind: str, action: str, given: Mapping[str, Value]) -> None:
    """The parameters go with the type, the action and USERSRC."""
    about = {LISTS[kind]} if kind in LISTS else {*ABOUT[kind]}
    allowed = about | COMMON if kind in LISTS else about | COMMON | {"USERSRC", "MCAUSER"}
    allowed |= {"CHCKCLNT"} if kind in ABOUT else set()
    for keyword in given:
        if keyword not in allowed:
            raise CommandError(Condition.CHLAUTH_WRONG_TYPE, name=keyword, parameter=TABLE[keyword].selector)
        if action == "REMOVE" and keyword not in about:
            raise CommandError(Condition.CHLAUTH_WRONG_ACTION, name=keyword, parameter=TABLE[keyword].selector)
    needed = LISTS[kind] if kind in LISTS else ABOUT[kind][0]
    if not given.get(needed):
        raise CommandError(Condition.REQUIRED_MISSING, parameter=TABLE[needed].selector)
    if kind in ABOUT and action != "REMOVE":
        _check_user(given)


def _check_user(given: Mapping[str, Value]) -> None:
    source = given.get("USERSRC", c.MQUSRC_MAP)
    if source == c.MQUSRC_MAP and not given.get("MCAUSER"):
        raise CommandError(Condition.REQUIRED_MISSING, parameter=c.MQCACH_MCA_USER_ID)
    barred = ({"MCAUSER"} if source != c.MQUSRC_MAP else set()) | (
        {"CHCKCLNT"} if source == c.MQUSRC_NOACCESS else set()
    )
    for keyword in barred & given.keys():
        raise CommandError(Condition.CHLAUTH_WRONG_SOURCE, name=keyword, parameter=TABLE[keyword].selector)


def _listed(keyword: str, action: str, before: Record | None, record: Record) -> tuple[list[Record], list[Record]]:
    """What to take away and what to store of a record with a list."""
    old, new = _names((before or {}).get(keyword)), _names(record[keyword])
    if action == "REMOVE":
        left = [name for name in old if name not in new]
        return ([before], []) if before and not left else ([], [{**before, keyword: left}] if before else [])
    names = new if action == "REPLACE" else [*old, *(name for name in new if name not in old)]
    return [], [_with_defaults({**(before or {}), **record, keyword: names})]


def _names(value: Value | None) -> list[str]:
    return value if isinstance(value, list) else []


def _with_defaults(record: Record) -> Record:
    """A record with the values of what was left out."""
    values: Record = {"CUSTOM": "", "DESCR": "", "WARN": c.MQWARN_NO}
    if record["TYPE"] in ABOUT:
        source = record.get("USERSRC", c.MQUSRC_MAP)
        values |= {"USERSRC": source, "ADDRESS": ""}
        if source != c.MQUSRC_NOACCESS:
            values["CHCKCLNT"] = c.MQCHK_AS_Q_MGR
    return values | record


def _done(admin: Administration, removed: list[Record], stored: list[Record], *, found: bool) -> Response:
    if not found:
        raise CommandError(Condition.CHLAUTH_NOT_FOUND)
    keys = [record_key(record) for record in removed]
    admin.set_channel_authentication(keys, {record_key(record): record for record in stored})
    return Response(done=Condition.CHLAUTH_SET)


def _named(record: Record) -> tuple[Value, Value]:
    return record["PROFILE"], record["TYPE"]
