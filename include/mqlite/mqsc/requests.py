"""MQSC statement → Request: which parameters belong to the command, which are attributes, which filter."""

from __future__ import annotations

from mqlite.attributes import (
    TABLE,
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
    attribute,
    rows,
)
from mqlite.attributes.status import STATUS_TABLE, Status
from mqlite.commands import COMMANDS
from mqlite.commands.filters import OPERATORS, Where, operator_fits
from mqlite.commands.nouns import NOUNS, kinds_of
from mqlite.commands.request import Request
from mqlite.conditions import CommandError, Condition
from mqlite.mqsc.parser import Parameter, Statement

# Keywords that belong to the command: without a value they stand for YES; NO... stands for NO of the same keyword.
SWITCHES = {"REPLACE": ("REPLACE", "YES"), "NOREPLACE": ("REPLACE", "NO"), "FORCE": ("FORCE", "YES"),
            "NOFORCE": ("FORCE", "NO"), "PURGE": ("PURGE", "YES"), "NOPURGE": ("PURGE", "NO")}  # fmt: skip
OPTIONS = {
    ("DEFINE", ""): {"REPLACE", "NOREPLACE", "LIKE"},
    ("ALTER", ""): {"FORCE", "NOFORCE"},
    ("DELETE", "Q"): {"PURGE", "NOPURGE", "QSGDISP"},
    ("CLEAR", "Q"): {"QSGDISP"},
    ("DELETE", ""): {"CHLTABLE", "IGNSTATE"},
    ("DISPLAY", "Q"): {"TYPE"},
    ("DISPLAY", "QSTATUS"): {"TYPE"},
    ("DISPLAY", "CHANNEL"): {"TYPE", "CHLTYPE"},
    ("DISPLAY", "CHSTATUS"): {"SAVED", "CURRENT", "SHORT"},
    ("DISPLAY", "CONN"): {"TYPE"},
    ("STOP", "CHANNEL"): {"MODE", "STATUS"},
    ("RESET", "CHANNEL"): {"SEQNUM"},
    ("RESOLVE", "CHANNEL"): {"ACTION"},
    ("REFRESH", "SECURITY"): {"TYPE"},
    ("REFRESH", "QMGR"): {"TYPE", "NAME"},
}
ZOS_ONLY = {("RESET", "QSTATS")}  # of MQSC; PCF has it everywhere
STATUS_KINDS = {"CHSTATUS": Status.CHANNEL, "QMSTATUS": Status.QMGR, "CONN": Status.CONNECTION}
ENTITIES = {"PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP"}
AUTHORITY_OPTIONS = {"SET": ENTITIES | {"AUTHADD", "AUTHRMV"}, "DELETE": ENTITIES, "DISPLAY": ENTITIES | {"MATCH"}}
AUTHORITY_SHOWN = {"ALL", "AUTHLIST", "ENTITY", "ENTTYPE"}
AUTHORITY_MATCHES = {"PROFILE", "EXACT", "MEMBERSHIP"}
SYNONYMS = {"CHLTYPE": "TYPE"}


def request_of(statement: Statement, platform: str) -> Request:
    """The request a statement makes. Raises CommandError with a condition that runmqsc counts as a syntax error."""
    noun, name = statement.noun, statement.name or ""
    if (statement.verb, noun) not in COMMANDS or ((statement.verb, noun) in ZOS_ONLY and platform != "zos"):
        raise CommandError(Condition.NOT_SUPPORTED, name=f"{statement.verb} {noun}")
    if noun == "AUTHREC":
        return _authority(statement)
    if not name and noun not in {"QMGR", "QMSTATUS", "SECURITY", "CONN"}:
        raise CommandError(Condition.REQUIRED_MISSING)
    name = name.rstrip()
    allowed = _options(statement.verb, noun)
    options: dict[str, str] = {}
    rest: list[Parameter] = []
    for parameter in statement.parameters:
        if parameter.keyword in allowed:
            _set_option(options, parameter)
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
        if parameter.keyword == "MATCH" and parameter.value not in AUTHORITY_MATCHES:
            raise CommandErrorAt(Condition.VALUE_ERROR, parameter)
        options[parameter.keyword] = parameter.value
    return Request(verb=statement.verb, noun="AUTHREC", options=options)


class CommandErrorAt(CommandError):
    """A CommandError that knows which parameter of the text it is about."""

    def __init__(self, condition: Condition, at: Parameter) -> None:
        super().__init__(condition, name=at.keyword)
        self.at = at


def _options(verb: str, noun: str) -> set[str]:
    queues = "Q" if noun in {"QLOCAL", "QALIAS", "QREMOTE", "QMODEL", "QUEUE"} else noun
    return OPTIONS.get((verb, queues), OPTIONS.get((verb, ""), set()))


def _set_option(options: dict[str, str], parameter: Parameter) -> None:
    if parameter.values is None:
        keyword, value = SWITCHES.get(parameter.keyword, (parameter.keyword, "YES"))
        options[keyword] = value
        return
    if parameter.keyword in SWITCHES or len(parameter.values) != 1:
        raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
    options[parameter.keyword] = parameter.value.strip()


def _attributes(kind: Kind, parameters: list[Parameter], platform: str) -> dict[str, Value]:
    values: dict[str, Value] = {}
    there = {row.keyword for row in rows(kind, platform=platform)}
    for parameter in parameters:
        try:
            row = attribute(kind, parameter.keyword)
            if row.read_only or row.keyword not in there:
                raise ReadOnly(row.keyword)
            values[row.keyword] = _value(row, parameter)
        except AttributeProblem as problem:
            raise CommandErrorAt(_condition(problem, kind, parameter), parameter) from problem
    return values


def _value(row: Attribute, parameter: Parameter) -> Value:
    if isinstance(row.type, Flag):
        if parameter.values is not None:
            raise UnknownAttribute(parameter.keyword)
        return row.type.canonical(row.keyword, parameter.keyword)
    if parameter.values is None or (not parameter.values and not isinstance(row.type, Names)):
        raise UnknownAttribute(parameter.keyword)
    if isinstance(row.type, Names):
        return row.type.canonical(row.keyword, list(parameter.values))
    if len(parameter.values) > 1 and not isinstance(row.type, Text):
        raise UnknownAttribute(parameter.keyword)
    return row.type.canonical(row.keyword, parameter.value)


def _condition(problem: AttributeProblem, kind: Kind, parameter: Parameter) -> Condition:
    if isinstance(problem, TooLong):
        return Condition.LENGTH_ERROR
    if isinstance(problem, UnknownAttribute | ReadOnly):
        return Condition.UNKNOWN_PARAMETER
    row = attribute(kind, parameter.keyword)
    if isinstance(row.type, Integer) and parameter.value.strip().lstrip("-").isdigit():
        return Condition.RANGE_ERROR
    return Condition.VALUE_ERROR


def _display(noun: str, name: str, options: dict[str, str], rest: list[Parameter]) -> Request:
    tables = _tables(noun, options)
    known = {keyword for table in tables for keyword in table}
    where: Where | None = None
    wanted: set[str] | None = set()
    for parameter in rest:
        if parameter.keyword == "WHERE":
            where = _where(parameter, noun, tables)
        elif parameter.values is not None:
            raise CommandErrorAt(Condition.UNKNOWN_PARAMETER, parameter)
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
        wanted = _shown_by_default(noun, name, where)
    chosen = None if wanted is None else frozenset(wanted)
    return Request(verb="DISPLAY", noun=noun, name=name, options=options, wanted=chosen, where=where)


def _shown_by_default(noun: str, name: str, where: Where | None) -> set[str] | None:
    """Without any attribute asked for: all of one object; of several only their names, and what the filter is about."""
    if noun == "CHSTATUS":
        return {"CHLTYPE", "CONNAME", "RQMNAME", "STATUS", "XMITQ"}
    if where is not None:
        return {where.keyword}
    return set() if name.endswith("*") else None


def _tables(noun: str, options: dict[str, str]) -> list[dict[str, Attribute]]:
    if noun == "QSTATUS":
        return [STATUS_TABLE[Status.HANDLE if options.get("TYPE") == "HANDLE" else Status.QUEUE]]
    if noun in STATUS_KINDS:
        return [STATUS_TABLE[STATUS_KINDS[noun]]]
    return [dict(TABLE[kind]) for kind in kinds_of(noun)]


def _aliases(tables: list[dict[str, Attribute]]) -> dict[str, str]:
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
    if noun in STATUS_KINDS or noun == "QSTATUS":
        return {}
    row = NOUNS[kinds_of(noun)[0]]
    both = {row.name.keyword: row.name}
    if row.type is not None:
        both |= {row.type.keyword: row.type, "QTYPE": row.type}
    return both


def _where(parameter: Parameter, noun: str, tables: list[dict[str, Attribute]]) -> Where:
    """WHERE(keyword operator value)."""
    if parameter.values is None or len(parameter.values) != 3:
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter)
    keyword, word, value = parameter.values
    keyword = _aliases(tables).get(keyword.upper(), keyword.upper())
    known = _identity(noun) | {name: row for table in tables for name, row in table.items()}
    row = known.get(keyword)
    operator = OPERATORS.get(word.upper())
    if row is None or operator is None or not operator_fits(row, operator):
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter)
    if isinstance(row.type, Text | Names):
        return Where(keyword=row.keyword, operator=operator, value=value)
    try:
        return Where(keyword=row.keyword, operator=operator, value=row.type.canonical(keyword, value))
    except AttributeProblem as problem:
        raise CommandErrorAt(Condition.FILTER_ERROR, parameter) from problem
