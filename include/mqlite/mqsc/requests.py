"""MQSC statement → Request: which parameters belong to the command, which are attributes, which filter."""

from __future__ import annotations

from collections.abc import Mapping

from mqlite.attributes import (
    CHANNEL_TYPES,
    QUEUE_KINDS,
    Attribute,
    AttributeProblem,
    Flag,
    Integer,
    Kind,
    Names,
    ReadOnly,
    Text,
    TooLong,
    UnknownAttribute,
    Value,
    Words,
    attribute,
    rows,
)
from mqlite.attributes.status import CHLAUTH_TYPES, STATUS_TABLE, Status
from mqlite.commands import COMMANDS
from mqlite.commands.channel_authentication import ACTIONS, MATCHES
from mqlite.commands.filters import OPERATORS, Where, operator_fits
from mqlite.commands.nouns import NOUNS, QUEUE_TYPE, QUEUES, STATUSES, kinds_of, tables_of
from mqlite.commands.request import Request
from mqlite.commands.selections import Selection, selections_of
from mqlite.commands.status import QMGR_NAME
from mqlite.conditions import CommandError, Condition
from mqlite.mqsc.keywords import VALUES, ibm_has
from mqlite.mqsc.parser import Parameter, Statement
from mqlite.platform import Platform

SWITCH: frozenset[str] = frozenset()  # a keyword without a value: it stands for YES, NO... for NO of the same keyword
# Keywords that belong to the command, each with the words that may follow; None: a value that the command looks at.
FORCE = {"FORCE": SWITCH, "NOFORCE": SWITCH}
YES_NO = frozenset({"YES", "NO"})
AUTHORITY_RECORD: dict[str, frozenset[str] | None] = {"AUTHREC": YES_NO}
IGNORE_STATE: dict[str, frozenset[str] | None] = {"IGNSTATE": YES_NO}
BY_IDENTIFIER = {("ALTER", "SUB"), ("DELETE", "SUB"), ("DISPLAY", "SUB")}  # SUBID stands for the name
UNKNOWN_ELSEWHERE = {"EXPRYINT"}  # to a queue manager that is not on z/OS (E16)
CHLAUTH_OPTIONS = {"TYPE": frozenset(CHLAUTH_TYPES), "ACTION": frozenset(ACTIONS)}
CHANNELS = frozenset({"ALL", *CHANNEL_TYPES})
OPTIONS: Mapping[tuple[str, str], Mapping[str, frozenset[str] | None]] = {
    ("DEFINE", ""): {"REPLACE": SWITCH, "NOREPLACE": SWITCH, "LIKE": None},
    ("ALTER", "Q"): FORCE,
    ("ALTER", "QMGR"): FORCE,
    ("DELETE", ""): IGNORE_STATE,
    ("DELETE", "Q"): {"PURGE": SWITCH, "NOPURGE": SWITCH, "QSGDISP": None} | AUTHORITY_RECORD | IGNORE_STATE,
    **dict.fromkeys((("DELETE", noun) for noun in ("NAMELIST", "PROCESS", "TOPIC")), AUTHORITY_RECORD | IGNORE_STATE),
    ("DELETE", "CHANNEL"): {"CHLTABLE": frozenset({"QMGRTBL", "CLNTTBL"})} | IGNORE_STATE,
    ("DELETE", "SUB"): {"SUBID": None} | IGNORE_STATE,
    ("ALTER", "SUB"): {"SUBID": None},
    ("DISPLAY", "SUB"): {"SUBID": None},
    ("PING", "CHANNEL"): {"DATALEN": None},
    ("CLEAR", "Q"): {"QSGDISP": None},
    ("DISPLAY", "QUEUE"): {"TYPE": frozenset({"ALL", *QUEUE_KINDS})},
    ("DISPLAY", "QSTATUS"): {"TYPE": frozenset({"QUEUE", "HANDLE"})},
    ("DISPLAY", "CHANNEL"): {"TYPE": CHANNELS, "CHLTYPE": CHANNELS},
    ("DISPLAY", "CHSTATUS"): {"CURRENT": SWITCH},
    ("DISPLAY", "CHLAUTH"): {"TYPE": frozenset({"ALL", *CHLAUTH_TYPES}), "MATCH": frozenset(MATCHES)},
    ("DISPLAY", "CONN"): {"TYPE": frozenset({"CONN", "HANDLE", "ALL"})},
    ("START", "CHANNEL"): IGNORE_STATE,
    ("START", "LISTENER"): IGNORE_STATE,
    ("STOP", "LISTENER"): IGNORE_STATE,
    ("STOP", "CHANNEL"): {
        "MODE": frozenset({"QUIESCE", "FORCE", "TERMINATE"}),
        "STATUS": frozenset({"STOPPED", "INACTIVE"}),
        **IGNORE_STATE,
    },
    ("RESET", "CHANNEL"): {"SEQNUM": None},
    ("RESOLVE", "CHANNEL"): {"ACTION": frozenset({"COMMIT", "BACKOUT"})},
    ("REFRESH", "SECURITY"): {"TYPE": frozenset({"AUTHSERV", "CONNAUTH", "SSL"})},
    ("REFRESH", "QMGR"): {"TYPE": frozenset({"CONFIGEV", "EARLY", "EXPIRY", "PROXYSUB"}), "NAME": None},
}
ZOS_ONLY = {("RESET", "QSTATS")}  # of MQSC; PCF has it everywhere
ENTITIES = {"PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP"}
AUTHORITY_OPTIONS = {"SET": ENTITIES | {"AUTHADD", "AUTHRMV"}, "DELETE": ENTITIES, "DISPLAY": ENTITIES | {"MATCH"}}
AUTHORITY_SHOWN = {"ALL", "AUTHLIST", "ENTITY", "ENTTYPE"}
AUTHORITY_LISTS = {"PRINCIPAL", "GROUP", "AUTHADD", "AUTHRMV"}
AUTHORITY_MATCHES = {"PROFILE", "EXACT", "MEMBERSHIP"}


def request_of(statement: Statement, platform: str) -> Request:
    """The request a statement makes.

    Raises CommandError: a condition that runmqsc counts as a syntax error, or NOT_BUILT for a keyword that IBM MQ has
    and mqlite has not.
    """
    try:
        return _request_of(statement, platform)
    except CommandErrorAt as error:
        known = ibm_has(statement.verb, statement.noun, error.at.keyword)
        if error.condition is not Condition.UNKNOWN_PARAMETER or not known:
            raise
        raise CommandErrorAt(Condition.NOT_BUILT, error.at) from error


def _request_of(statement: Statement, platform: str) -> Request:
    noun, name = statement.noun, statement.name or ""
    if (statement.verb, noun) not in COMMANDS or ((statement.verb, noun) in ZOS_ONLY and platform != Platform.ZOS):
        raise CommandError(Condition.NOT_SUPPORTED, name=f"{statement.verb} {noun}")
    if noun == "AUTHREC":
        return _authority(statement)
    if (statement.verb, noun) == ("SET", "CHLAUTH"):
        return _channel_authentication(statement)
    if not name and not _needs_no_name(statement):
        raise CommandError(Condition.REQUIRED_MISSING)
    if statement.name is not None and noun in {"QMGR", "QMSTATUS"}:
        raise CommandError(Condition.UNKNOWN_PARAMETER)
    name = name.rstrip()
    allowed = _options(statement.verb, noun)
    options: dict[str, str] = {}
    rest: list[Parameter] = []
    for parameter in statement.parameters:
        if parameter.keyword in allowed and (parameter.values is None) is (allowed[parameter.keyword] == SWITCH):
            _set_option(options, parameter, allowed[parameter.keyword])
        else:
            rest.append(parameter)
    if statement.verb == "DISPLAY":
        return _display(noun, name, options, rest)
    if statement.verb in {"DEFINE", "ALTER"}:
        values = _attributes(Kind(noun), rest, platform)
        return Request(verb=statement.verb, noun=noun, name=name, attributes=values, options=options)
    if rest:
        raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, rest[0])
    return Request(verb=statement.verb, noun=noun, name=name, options=options)


def _needs_no_name(statement: Statement) -> bool:
    command = (statement.verb, statement.noun)
    identified = any(parameter.keyword == "SUBID" and parameter.values for parameter in statement.parameters)
    return (
        statement.noun in {"QMGR", "QMSTATUS", "SECURITY"}
        or command in {("DISPLAY", "CONN"), ("START", "LISTENER")}
        or (command in BY_IDENTIFIER and identified)
    )


def _authority(statement: Statement) -> Request:
    """SET, DELETE and DISPLAY AUTHREC, which name their object by PROFILE."""
    shown = AUTHORITY_SHOWN if statement.verb == "DISPLAY" else set[str]()
    options: dict[str, str] = {}
    if statement.name is not None:
        raise CommandError(Condition.UNKNOWN_PARAMETER)
    for parameter in statement.parameters:
        if parameter.values is None and parameter.keyword in shown:
            continue
        if parameter.values is None or parameter.keyword not in AUTHORITY_OPTIONS[statement.verb]:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
        if parameter.keyword == "OBJTYPE" and parameter.value.upper() in VALUES["OBJTYPE"]:
            raise CommandErrorAt(Condition.VALUE_ERROR, parameter)
        if parameter.keyword == "MATCH" and parameter.value not in AUTHORITY_MATCHES:
            raise CommandErrorAt(Condition.VALUE_ERROR, parameter)
        if len(parameter.values) != 1 and parameter.keyword not in AUTHORITY_LISTS:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
        options[parameter.keyword] = parameter.value
    return Request(verb=statement.verb, noun="AUTHREC", options=options)


def _channel_authentication(statement: Statement) -> Request:
    """SET CHLAUTH: TYPE and ACTION belong to the command, the other keywords to the record."""
    table = STATUS_TABLE[Status.CHLAUTH]
    options: dict[str, str] = {}
    values: dict[str, Value] = {}
    for parameter in statement.parameters:
        row = table.get(parameter.keyword)
        if parameter.keyword in {"TYPE", "ACTION"}:
            _set_option(options, parameter, CHLAUTH_OPTIONS[parameter.keyword])
        elif row is None or row.read_only:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
        else:
            values[row.keyword] = _checked(row, parameter)
    return Request(verb="SET", noun="CHLAUTH", name=(statement.name or "").rstrip(), attributes=values, options=options)


class CommandErrorAt(CommandError):
    """A CommandError that knows which parameter of the text it is about.

    A value that IBM MQ has and mqlite has not is not wrong, but NOT_BUILT, whatever `condition` says.
    """

    def __init__(self, condition: Condition, at: Parameter) -> None:
        name = at.keyword
        if at.values and at.value.strip().upper() in VALUES.get(at.keyword, ()):
            condition, name = Condition.NOT_BUILT, f"{at.keyword}({at.value.strip().upper()})"
        super().__init__(condition, name=name)
        self.at = at


def _options(verb: str, noun: str) -> Mapping[str, frozenset[str] | None]:
    queues = "Q" if noun in {"QUEUE", *QUEUE_KINDS} else ""
    places = ((verb, noun), (verb, queues), (verb, ""))
    return next((OPTIONS[place] for place in places if place in OPTIONS), {})


def _set_option(options: dict[str, str], parameter: Parameter, words: frozenset[str] | None) -> None:
    if parameter.values is None:
        options[parameter.keyword.removeprefix("NO")] = "NO" if parameter.keyword.startswith("NO") else "YES"
        return
    value = parameter.value.strip()
    if len(parameter.values) != 1:
        raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
    if words is not None and value.upper() not in words:
        raise CommandErrorAt(Condition.VALUE_ERROR, parameter)
    options[parameter.keyword] = value if words is None and parameter.keyword != "SUBID" else value.upper()


def _attributes(kind: Kind, parameters: list[Parameter], platform: str) -> dict[str, Value]:
    values: dict[str, Value] = {}
    there = {row.keyword for row in rows(kind, platform=platform)}
    for parameter in parameters:
        try:
            row = attribute(kind, parameter.keyword)
        except UnknownAttribute as unknown:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter) from unknown
        if row.keyword not in there and row.keyword not in UNKNOWN_ELSEWHERE:
            raise CommandErrorAt(Condition.NOT_BUILT, parameter)
        if row.read_only or row.keyword not in there:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
        values[row.keyword] = _checked(row, parameter)
    return values


def _checked(row: Attribute, parameter: Parameter) -> Value:
    """The value of a parameter. Raises CommandErrorAt where it is not one that it may have."""
    try:
        return _value(row, parameter)
    except AttributeProblem as problem:
        raise CommandErrorAt(_condition(problem, row, parameter), parameter) from problem


def _value(row: Attribute, parameter: Parameter) -> Value:
    if isinstance(row.type, Flag):
        if parameter.values is not None:
            raise UnknownAttribute(parameter.keyword)
        return row.type.canonical(row.keyword, parameter.keyword)
    if parameter.values is None or (not parameter.values and not isinstance(row.type, Names)):
        raise UnknownAttribute(parameter.keyword)
    if isinstance(row.type, Names | Words):
        return row.type.canonical(row.keyword, list(parameter.values))
    if len(parameter.values) > 1:
        raise UnknownAttribute(parameter.keyword)
    return row.type.canonical(row.keyword, parameter.value)


def _condition(problem: AttributeProblem, row: Attribute, parameter: Parameter) -> Condition:
    if isinstance(problem, TooLong):
        return Condition.LENGTH_ERROR
    if isinstance(problem, UnknownAttribute | ReadOnly):
        return Condition.UNKNOWN_PARAMETER
    if isinstance(row.type, Integer) and parameter.value.strip().lstrip("-").isdigit():
        return Condition.RANGE_ERROR
    return Condition.VALUE_ERROR


def _display(noun: str, name: str, options: dict[str, str], rest: list[Parameter]) -> Request:
    tables = tables_of(noun, options)
    selections = {found.keyword: found for found in selections_of(noun, options)}
    selected: list[Where] = []
    known = {keyword for table in tables for keyword in table}
    where: Where | None = None
    wanted: set[str] | None = set()
    for parameter in rest:
        if parameter.keyword == "WHERE":
            where = _where(parameter, noun, tables)
        elif parameter.values is not None:
            selected += _selected(selections.get(parameter.keyword), parameter)
        elif parameter.keyword == "ALL":
            wanted = None
        elif parameter.keyword in known or parameter.keyword in _identity(noun):
            if wanted is not None:
                wanted.add(parameter.keyword)
        elif parameter.keyword in _aliases(tables):
            if wanted is not None:
                wanted.add(_aliases(tables)[parameter.keyword])
        else:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
    if wanted is not None and not wanted:
        wanted = None if options.get("TYPE") == "HANDLE" and where is None else _shown_by_default(noun, name, where)
    chosen = None if wanted is None else frozenset(wanted)
    return Request(
        verb="DISPLAY", noun=noun, name=name, options=options, wanted=chosen, where=where, selected=tuple(selected)
    )


def _selected(selection: Selection | None, parameter: Parameter) -> tuple[Where, ...]:
    """What a parameter that selects by a value asks for. Raises CommandErrorAt."""
    if selection is None or parameter.values is None or len(parameter.values) != 1:
        raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
    found = selection.conditions(parameter.value)
    if found is None:
        raise CommandErrorAt(Condition.VALUE_ERROR, parameter)
    return found


def _shown_by_default(noun: str, name: str, where: Where | None) -> set[str] | None:
    """Without any attribute asked for: all of one object; of several only their names, and what the filter is about."""
    if noun == "CHSTATUS":
        return {"CHLTYPE", "CONNAME", "RQMNAME", "STATUS", "XMITQ"}
    if noun == "CHLAUTH" and name.endswith("*"):
        return {"ADDRESS", "ADDRLIST", "CLNTUSER", "QMNAME", "SSLPEER", "USERLIST", "USERSRC"}
    if where is not None:
        return {where.keyword}
    return set() if name.endswith("*") else None


def _aliases(tables: list[Mapping[str, Attribute]]) -> dict[str, str]:
    """Other spellings, a flag's NO form among them, → the row's keyword."""
    found: dict[str, str] = {}
    for table in tables:
        for row in table.values():
            found.update(dict.fromkeys(row.aliases, row.keyword))
            if isinstance(row.type, Flag):
                found[row.type.off] = row.keyword
    return found


def _identity(noun: str) -> dict[str, Attribute]:
    """Keywords that name the object; they are always shown and may be asked for."""
    if noun in STATUSES:
        return {QMGR_NAME.keyword: QMGR_NAME} if noun == "QMSTATUS" else {}
    row = NOUNS[kinds_of(noun)[0]]
    both = {row.name.keyword: row.name}
    if row.type is not None:
        both |= {row.type.keyword: row.type}
    return both | ({"QTYPE": QUEUE_TYPE} if row is QUEUES else {})


def _where(parameter: Parameter, noun: str, tables: list[Mapping[str, Attribute]]) -> Where:
    """WHERE(keyword operator value)."""
    if parameter.values is None or len(parameter.values) != 3:
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter)
    keyword, word, value = parameter.values
    keyword = _aliases(tables).get(keyword.upper(), keyword.upper())
    known = _identity(noun) | {name: row for table in tables for name, row in table.items()}
    row = known.get(keyword)
    operator = OPERATORS.get(word.upper())
    if row is None and ibm_has("DISPLAY", noun, keyword):
        raise CommandError(Condition.NOT_BUILT, name=keyword)
    if row is None or operator is None or not operator_fits(row, operator):
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter)
    if isinstance(row.type, Text | Names | Words):
        return Where(keyword=row.keyword, operator=operator, value=value.rstrip(" "))  # blanks are padding
    try:
        return Where(keyword=row.keyword, operator=operator, value=row.type.canonical(keyword, value))
    except AttributeProblem as problem:
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter) from problem
