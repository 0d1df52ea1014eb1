"""Who may do what: authority records, and the checks that MQCONN, MQOPEN, MQCLOSE, MQSUB and commands make.

1. A record gives a principal or a group authorities on the objects of one type whose names its profile matches.
2. In a profile `?` is one character, `*` any number within one qualifier or just one qualifier, `**` any number of
   qualifiers. Of the records of one entity the most specific profile decides (IBM: Profile priorities).
3. A user has what its own record gives, and what those of its groups give (the groups that the machine knows it in).
4. Privileged: the owner of the queue manager's folder, the user of this process, and mqm. Nothing is checked for them.
   A blank user, of a message without context, has no authority at all (IBM: Controlling message context information).
5. A z/OS-like queue manager has the same records: they stand in for the RACF profiles that z/OS has in their place.

Nothing here is asked on MQPUT or MQGET: an open handle keeps the rights it was opened with.
"""

from __future__ import annotations

import getpass
import grp
import itertools
import json
import os
import pwd
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mqlite.attributes import Kind, valid_name
from mqlite.failure import Failure
from mqlite.objects.caller import Caller
from mqlite.objects.engine import Engine
from mqlite.objects.manager import Manager
from mqlite.objects.resolve import Resolved
from mqlite.objects.wildcards import wild_match
from mqlite.storage import sql
from mqlite.storage.store import Store
from mqwire import constants as c

ADMINISTRATOR = "mqm"
RECORD = "AUTHREC"  # kind of the object table
AUTHORITIES: Mapping[str, int] = {
    "ALTUSR": c.MQAUTH_ALT_USER_AUTHORITY, "BROWSE": c.MQAUTH_BROWSE, "CHG": c.MQAUTH_CHANGE, "CLR": c.MQAUTH_CLEAR,
    "CONNECT": c.MQAUTH_CONNECT, "CRT": c.MQAUTH_CREATE, "CTRL": c.MQAUTH_CONTROL, "CTRLX": c.MQAUTH_CONTROL_EXTENDED,
    "DLT": c.MQAUTH_DELETE, "DSP": c.MQAUTH_DISPLAY, "GET": c.MQAUTH_INPUT, "INQ": c.MQAUTH_INQUIRE,
    "PASSALL": c.MQAUTH_PASS_ALL_CONTEXT, "PASSID": c.MQAUTH_PASS_IDENTITY_CONTEXT, "PUB": c.MQAUTH_PUBLISH,
    "PUT": c.MQAUTH_OUTPUT, "RESUME": c.MQAUTH_RESUME, "SET": c.MQAUTH_SET, "SETALL": c.MQAUTH_SET_ALL_CONTEXT,
    "SETID": c.MQAUTH_SET_IDENTITY_CONTEXT, "SUB": c.MQAUTH_SUBSCRIBE, "SYSTEM": c.MQAUTH_SYSTEM,
}  # fmt: skip
GENERAL: Mapping[str, int] = {
    "NONE": c.MQAUTH_NONE, "ALL": c.MQAUTH_ALL, "ALLADM": c.MQAUTH_ALL_ADMIN, "ALLMQI": c.MQAUTH_ALL_MQI,
}  # fmt: skip
CONTEXTS = {"PASSALL", "PASSID", "SETALL", "SETID"}
# object type → its MQOT_ number, its MQI authorities, its administrative ones (IBM: setmqaut)
OBJECT_TYPES: Mapping[str, tuple[int, set[str], set[str]]] = {
    "QUEUE": (c.MQOT_Q, {"BROWSE", "GET", "INQ", "PUT", "SET"} | CONTEXTS, {"CHG", "CLR", "DLT", "DSP"}),
    "QMGR": (c.MQOT_Q_MGR, {"ALTUSR", "CONNECT", "INQ", "SET", "SYSTEM"} | CONTEXTS, {"CHG", "CTRL", "DLT", "DSP"}),
    "PROCESS": (c.MQOT_PROCESS, {"INQ", "SET"}, {"CHG", "DLT", "DSP"}),
    "NAMELIST": (c.MQOT_NAMELIST, {"INQ"}, {"CHG", "DLT", "DSP"}),
    "TOPIC": (c.MQOT_TOPIC, {"PUB", "RESUME", "SUB"} | CONTEXTS, {"CHG", "CLR", "CTRL", "DLT", "DSP"}),
    "CHANNEL": (c.MQOT_CHANNEL, set(), {"CHG", "CTRL", "CTRLX", "DLT", "DSP"}),
    "AUTHINFO": (c.MQOT_AUTH_INFO, {"INQ"}, {"CHG", "DLT", "DSP"}),
    "LISTENER": (c.MQOT_LISTENER, set(), {"CHG", "CTRL", "DLT", "DSP"}),
}
CREATE, CLASS = "CRT", "@class"  # CRT is given on QMGR for all objects, or on a type's class
ENTITY_TYPES: Mapping[str, int] = {"PRINCIPAL": 1, "GROUP": 2}  # MQZAET_*
OPENING = {
    c.MQOO_BROWSE: "BROWSE", c.MQOO_INPUT_AS_Q_DEF: "GET", c.MQOO_INPUT_SHARED: "GET", c.MQOO_INPUT_EXCLUSIVE: "GET",
    c.MQOO_OUTPUT: "PUT", c.MQOO_INQUIRE: "INQ", c.MQOO_SET: "SET", c.MQOO_PASS_IDENTITY_CONTEXT: "PASSID",
    c.MQOO_PASS_ALL_CONTEXT: "PASSALL", c.MQOO_SET_IDENTITY_CONTEXT: "SETID", c.MQOO_SET_ALL_CONTEXT: "SETALL",
}  # fmt: skip
ALSO_ON_QUEUE_MANAGER = {"SETID", "SETALL"}
NOBODY = " "  # an alternate user that is blank: nothing is given to it (IBM: MQOD, AlternateUserId)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An authority record. `entity_type` PRINCIPAL or GROUP."""

    object_type: str
    profile: str
    entity_type: str
    entity: str
    authorities: frozenset[str]

    @property
    def key(self) -> str:
        """Its name in the object table."""
        return f"{self.object_type} {self.profile} {self.entity_type} {self.entity}"

    @property
    def text(self) -> str:
        """Its attributes in the object table."""
        return json.dumps(
            {"OBJTYPE": self.object_type, "PROFILE": self.profile, "ENTTYPE": self.entity_type, "ENTITY": self.entity,
             "AUTHLIST": sorted(self.authorities)}, ensure_ascii=False,
        )  # fmt: skip


def records(store: Store) -> list[Record]:
    """Every authority record, by type, profile and entity."""
    return [_record(text) for _, text in store.all(sql.OBJECTS_OF_KIND, (RECORD,))]


def record(store: Store, key: str) -> Record | None:
    """The record of that name."""
    text = store.value(sql.OBJECT, (RECORD, key))
    return _record(text) if text else None


def _record(text: str) -> Record:
    values = json.loads(text)
    return Record(
        object_type=values["OBJTYPE"], profile=values["PROFILE"], entity_type=values["ENTTYPE"],
        entity=values["ENTITY"], authorities=frozenset(values["AUTHLIST"]),
    )  # fmt: skip


def save(store: Store, changed: Record) -> None:
    """Store a record, in the caller's transaction."""
    store.execute(sql.SET_OBJECT, (RECORD, changed.key, changed.text))


def own_user() -> str:
    """The user of this process, as MQMD.UserIdentifier has it."""
    try:
        return getpass.getuser()[:12]
    except (KeyError, OSError):
        return str(os.getuid())


def privileged(manager: Manager, user: str) -> bool:
    """Whether a user may do everything."""
    return bool(user) and (user in (own_user(), ADMINISTRATOR) or user == _owner(manager.folder))


def _owner(folder: Path) -> str:
    """The owner of a folder, by number where the machine has no name for it, as `own_user`."""
    try:
        return folder.owner()[:12]
    except KeyError:
        return str(folder.stat().st_uid)


def groups(user: str) -> frozenset[str]:
    """The groups that the machine knows a user in; none for a user that it does not know."""
    try:
        found = pwd.getpwnam(user)
        return frozenset(grp.getgrgid(number).gr_name for number in os.getgrouplist(user, found.pw_gid))
    except (KeyError, OSError):
        return frozenset()


def group_exists(name: str) -> bool:
    """Whether the machine knows a group of that name."""
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def held(found: Iterable[Record], user: str, object_type: str, name: str) -> frozenset[str]:
    """The authorities of a user on an object, by these records."""
    entities = {("PRINCIPAL", user)} | {("GROUP", group) for group in groups(user)}
    best: dict[tuple[str, str], Record] = {}
    for each in found:
        entity = (each.entity_type, each.entity)
        if each.object_type != object_type or entity not in entities or not profile_matches(each.profile, name):
            continue
        if entity not in best or _specificity(each.profile) < _specificity(best[entity].profile):
            best[entity] = each
    return frozenset().union(*(each.authorities for each in best.values()))


def profile_matches(profile: str, name: str) -> bool:
    """Whether a profile is that of an object."""
    return wild_match(profile.split("."), name.split("."), any_number="**", fits=_qualifier_matches)


def _qualifier_matches(pattern: str, qualifier: str) -> bool:
    return wild_match(pattern, qualifier, any_number="*", fits=_character_matches)


def _character_matches(pattern: str, character: str) -> bool:
    return pattern in ("?", character)


def valid_profile(profile: str) -> bool:
    """Whether it is a name, or one with wildcards; `**` is a whole qualifier, and once."""
    plain = profile.replace("*", "A").replace("?", "A")
    doubled = [part for part in profile.split(".") if "**" in part]
    return valid_name(plain) and doubled in ([], ["**"])


def _specificity(profile: str) -> tuple[bool, list[int]]:
    """Sorts the more specific profile first: a character before `?` before `*` before `**`, from left to right."""
    ranks = [{"**": 3, "*": 2, "?": 1}.get(token, 0) for token in re.findall(r"\*\*|.", profile)]
    return any(ranks), ranks


def require(engine: Engine, user: str, object_type: str, name: str, wanted: set[str]) -> None:
    """Raises Failure (MQRC_NOT_AUTHORIZED) unless the user has every wanted authority on the object."""
    if not wanted or privileged(engine.manager, user):
        return
    missing = wanted - held(records(engine.store), user, object_type, name)
    if missing:
        raise Failure(c.MQRC_NOT_AUTHORIZED, f"{user}: {', '.join(sorted(missing))} on {object_type} {name}")


def alternate_user(named: str, *, asked: bool) -> str:
    """The alternate user of a call: "" if the options ask for none, NOBODY if they do and the name is blank."""
    return (named or NOBODY) if asked else ""


def check(connection: Caller, alternate: str, object_type: str, name: str, wanted: set[str]) -> None:
    """The connection's user has these rights; or it has ALTUSR and the alternate user has them.

    To pass and set context, the connection's own user needs the authority, not the alternate user (IBM: MQOD).

    Parameters: `alternate` as `alternate_user` has it. Raises Failure (MQRC_NOT_AUTHORIZED).
    """
    if connection.privileged and not alternate:
        return
    if not alternate:
        _require_with_context(connection, connection.user, object_type, name, wanted)
        return
    require(connection.engine, alternate, object_type, name, wanted - CONTEXTS)
    if not connection.privileged:
        require_in_place(connection, connection.user, object_type, name, wanted & CONTEXTS)


def require_in_place(
    connection: Caller, user: str, object_type: str, name: str, contexts: set[str]
) -> None:  # fmt: skip
    """The user may act in an alternate user's place, and has the rights to context itself.

    Raises Failure (MQRC_NOT_AUTHORIZED).
    """
    require(connection.engine, user, "QMGR", connection.manager.name, {"ALTUSR"})
    _require_with_context(connection, user, object_type, name, contexts)


def _require_with_context(
    connection: Caller, user: str, object_type: str, name: str, wanted: set[str]
) -> None:  # fmt: skip
    """To set context, a user needs that authority on the queue manager too."""
    require(connection.engine, user, object_type, name, wanted)
    require(connection.engine, user, "QMGR", connection.manager.name, wanted & ALSO_ON_QUEUE_MANAGER)


def check_queue(connection: Caller, user: str, resolved: Resolved, options: int) -> None:
    """MQOPEN of a queue.

    Parameters: `user` the alternate user; without MQOO_ALTERNATE_USER_AUTHORITY, one that a channel or the command
    server opens the queue as, whose rights have to be all of them. Raises Failure (MQRC_NOT_AUTHORIZED).
    """
    wanted = authorities_of(options) | ({"DSP"} if resolved.model is not None else set())
    name = queue_that_counts(connection, resolved)
    if user and not options & c.MQOO_ALTERNATE_USER_AUTHORITY:
        _require_with_context(connection, user, "QUEUE", name, wanted)
    else:
        check(connection, user, "QUEUE", name, wanted)


def queue_that_counts(connection: Caller, resolved: Resolved) -> str:
    """The definition that was named, not what it leads to.

    A queue of another queue manager that no definition here leads to is as its transmission queue.
    """
    if resolved.kind is not Kind.QREMOTE:
        return resolved.name
    by_name = connection.objects.get(Kind.QREMOTE, resolved.name)
    return resolved.name if by_name == resolved.attributes else resolved.queue


def check_topic(connection: Caller, alternate: str, nodes: Iterable[str], choices: Sequence[set[str]]) -> None:
    """A topic: its own topic object or any above it grants one of the choices.

    Raises Failure (MQRC_NOT_AUTHORIZED).
    """
    for node, wanted in itertools.product(nodes, choices):
        try:
            return check(connection, alternate, "TOPIC", node, wanted)
        except Failure:
            continue
    raise Failure(c.MQRC_NOT_AUTHORIZED, f"{alternate or connection.user}: {choices[0]} on the topic")


def authorities_of(options: int) -> set[str]:
    """The authorities that open options need."""
    return {word for option, word in OPENING.items() if options & option}


def grant_all(store: Store, user: str, queue: str) -> None:
    """The creator of a dynamic queue may do everything with it; in the caller's transaction."""
    _, calls, commands = OBJECT_TYPES["QUEUE"]
    everything = frozenset(calls | commands)
    save(store, Record(
        object_type="QUEUE", profile=queue, entity_type="PRINCIPAL", entity=user, authorities=everything
    ))  # fmt: skip
