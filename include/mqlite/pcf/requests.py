"""A PCF command message → Request. What PCF refuses is refused with its MQRCCF_ reason and the parameter at fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mqlite.attributes import (
    QUEUE_TYPES,
    TABLE,
    Attribute,
    AttributeProblem,
    Flag,
    Kind,
    Names,
    ReadOnly,
    Text,
    UnknownAttribute,
    Value,
    Words,
    attribute,
)
from mqlite.attributes.status import STATUS_TABLE, Status
from mqlite.commands.filters import ORDERED, Where, operator_fits
from mqlite.commands.nouns import NOUNS, kinds_of, tables_of
from mqlite.commands.request import Request
from mqlite.commands.selections import selections_of
from mqlite.commands.status import IDENTITIES
from mqlite.conditions import CommandError, Condition
from mqlite.pcf.authority import authority_request
from mqlite.pcf.commands import PCF_COMMANDS, PcfCommand
from mqlite.platform import Platform
from mqwire import constants as c
from mqwire import pcf

UNKNOWN_PARAMETER: Mapping[type[Any], int] = {
    pcf.MQCFIN: c.MQRCCF_CFIN_PARM_ID_ERROR,
    pcf.MQCFIL: c.MQRCCF_CFIL_PARM_ID_ERROR,
    pcf.MQCFST: c.MQRCCF_CFST_PARM_ID_ERROR,
    pcf.MQCFSL: c.MQRCCF_CFSL_PARM_ID_ERROR,
    pcf.MQCFBS: c.MQRCCF_CFBS_PARM_ID_ERROR,
    pcf.MQCFIF: c.MQRCCF_CFIF_PARM_ID_ERROR,
    pcf.MQCFSF: c.MQRCCF_CFSF_PARM_ID_ERROR,
    pcf.MQCFGR: c.MQRCCF_CFGR_PARM_ID_ERROR,
}
DUPLICATE: Mapping[type[Any], int] = {
    pcf.MQCFIN: c.MQRCCF_CFIN_DUPLICATE_PARM,
    pcf.MQCFST: c.MQRCCF_CFST_DUPLICATE_PARM,
    pcf.MQCFSL: c.MQRCCF_CFSL_DUPLICATE_PARM,
    pcf.MQCFBS: c.MQRCCF_CFBS_DUPLICATE_PARM,
}
FILTERS = (pcf.MQCFIF, pcf.MQCFSF, pcf.MQCFBF)
ALL_QUEUES = c.MQQT_ALL
SUB_ID = c.MQBACF_SUB_ID
BY_IDENTIFIER = frozenset({"ALTER", "DELETE", "DISPLAY"})  # IBM MQ, "Delete Subscription" ...: SubName or SubId


def request_of(message: pcf.Message, platform: str, queue_manager: str) -> tuple[PcfCommand, Request]:
    """The command of a PCF message. Raises CommandError."""
    command = PCF_COMMANDS.get(message.header.command)
    if command is None:
        raise CommandError(Condition.NOT_SUPPORTED, reason=c.MQRCCF_CFH_COMMAND_ERROR)
    given = _once(message)
    if command.noun == "AUTHREC":
        return command, authority_request(command.verb, given, {key: _value(found) for key, found in given.items()})
    _check_scope(given, platform, queue_manager)
    options = _options(command, given)
    name = _name(command, given, options)
    noun = _noun(command, given, options)
    if command.verb == "DISPLAY":
        request = Request(verb="DISPLAY", noun=noun, name=name, options=options)
        return command, _inquiry(command, request, given)
    if command.verb in {"DEFINE", "ALTER"}:
        if command.like:
            _copied_from(command, given, options)
        kind = Kind(noun)
        values = _attributes(kind, given)
        return command, Request(verb=command.verb, noun=noun, name=name, attributes=values, options=options)
    if command.noun == "CHLAUTH":
        values = _values({row.selector: row for row in STATUS_TABLE[Status.CHLAUTH].values()}, given)
        return command, Request(verb=command.verb, noun=noun, name=name, attributes=values, options=options)
    for left in given.values():
        raise _unknown(left)
    return command, Request(verb=command.verb, noun=noun, name=name, options=options)


def _check_scope(given: dict[int, pcf.Parameter], platform: str, queue_manager: str) -> None:
    """CommandScope, on z/OS only: blank or this queue manager. Raises CommandError for another one."""
    if platform != Platform.ZOS or c.MQCACF_COMMAND_SCOPE not in given:
        return
    if _text(given.pop(c.MQCACF_COMMAND_SCOPE), c.MQCACF_COMMAND_SCOPE).strip() not in {"", queue_manager}:
        reason = c.MQRCCF_COMMAND_SCOPE_ERROR
        raise CommandError(Condition.VALUE_ERROR, reason=reason, parameter=c.MQCACF_COMMAND_SCOPE)


def _copied_from(command: PcfCommand, given: dict[int, pcf.Parameter], options: dict[str, str]) -> None:
    """The object that COPY takes its attributes from; a subscription may be named by its SubId."""
    if command.noun == "SUB" and isinstance(given.get(SUB_ID), pcf.MQCFBS):
        options["SUBID"] = bytes(_value(given.pop(SUB_ID))).hex().upper()
        found = given.pop(command.like, None)
        options["LIKE"] = "" if found is None else _text(found, command.like)
    else:
        options["LIKE"] = _text(given.pop(command.like, None), command.like)


def _once(message: pcf.Message) -> dict[int, pcf.Parameter]:
    """Parameters by identifier. Raises CommandError for one that is there twice."""
    given: dict[int, pcf.Parameter] = {}
    for found in message.parameters:
        key = -found.parameter if isinstance(found, FILTERS) else found.parameter
        if key in given:
            reason = DUPLICATE.get(type(found), c.MQRCCF_PARM_CONFLICT)
            raise CommandError(Condition.DUPLICATE_PARAMETER, reason=reason, parameter=found.parameter)
        given[key] = found
    return given


def _unknown(found: pcf.Parameter) -> CommandError:
    reason = UNKNOWN_PARAMETER.get(type(found), c.MQRCCF_PARM_SYNTAX_ERROR)
    return CommandError(Condition.UNKNOWN_PARAMETER, reason=reason, parameter=found.parameter)


def _value(found: pcf.Parameter) -> Any:
    """The value, text without what stands after a NUL, and without trailing blanks."""
    value = pcf.Message(header=pcf.MQCFH(command=0), parameters=(found,)).value(found.parameter)
    return list(value) if isinstance(value, tuple) else value


def _text(found: pcf.Parameter | None, parameter: int) -> str:
    if found is None:
        raise CommandError(Condition.REQUIRED_MISSING, parameter=parameter)
    if not isinstance(found, pcf.MQCFST):
        raise _unknown(found)
    return str(_value(found))


def _name(command: PcfCommand, given: dict[int, pcf.Parameter], options: dict[str, str]) -> str:
    if not command.name:
        return ""
    if command.exact_name in given and command.name not in given:
        exact = given.pop(command.exact_name)
        if not isinstance(exact, pcf.MQCFBS):
            raise _unknown(exact)
        if len(exact.value) != c.MQ_CONNECTION_ID_LENGTH:
            raise CommandError(Condition.CONNECTION_NOT_FOUND, parameter=command.exact_name)
        return exact.value.hex().upper()
    found = given.pop(command.name, None)
    if command.noun == "SUB" and command.verb in BY_IDENTIFIER and isinstance(given.get(SUB_ID), pcf.MQCFBS):
        options["SUBID"] = bytes(_value(given.pop(SUB_ID))).hex().upper()
        return "" if found is None else _text(found, command.name)
    if isinstance(found, pcf.MQCFBS):
        return found.value.hex().upper() + ("*" if command.verb == "DISPLAY" else "")
    if found is None and (command.optional_name or command.name_left_out):
        return "*" if command.optional_name else ""
    return _text(found, command.name)


def _options(command: PcfCommand, given: dict[int, pcf.Parameter]) -> dict[str, str]:
    options: dict[str, str] = {}
    for parameter, (option, words) in command.options.items():
        found = given.pop(parameter, None)
        if found is None:
            continue
        if not isinstance(found, pcf.MQCFIN) or (words and found.value not in words):
            raise CommandError(Condition.VALUE_ERROR, reason=c.MQRCCF_PARM_VALUE_ERROR, parameter=parameter)
        options[option] = words[found.value] if words else str(found.value)
    return options


def _noun(command: PcfCommand, given: dict[int, pcf.Parameter], options: dict[str, str]) -> str:
    """QUEUE becomes the kind that Q_TYPE says: needed to define and alter, a choice to delete and inquire."""
    if command.noun == "CHANNEL" and command.verb == "DISPLAY":
        _channel_types(given, options)
    if command.noun == "QSTATUS" or command.verb == "DISPLAY":
        given.pop(c.MQIA_QSG_DISP, None)
    if command.noun == "AUTHINFO" and command.verb == "DISPLAY":
        given.pop(c.MQIA_AUTH_INFO_TYPE, None)  # there is one type only
    if command.noun != "QUEUE":
        return command.noun
    found = given.pop(c.MQIA_Q_TYPE, None)
    if found is None:
        if command.verb in {"DEFINE", "ALTER"}:
            raise CommandError(Condition.REQUIRED_MISSING, parameter=c.MQIA_Q_TYPE)
        return "QUEUE"
    if command.verb in {"DISPLAY", "DELETE"} and found.value == ALL_QUEUES:
        return "QUEUE"
    kind = next((kind for kind, value in QUEUE_TYPES.items() if value == found.value), None)
    if kind is None:
        raise CommandError(Condition.VALUE_ERROR, reason=c.MQRCCF_Q_TYPE_ERROR, parameter=c.MQIA_Q_TYPE)
    return str(kind)


def _channel_types(given: dict[int, pcf.Parameter], options: dict[str, str]) -> None:
    found = given.pop(c.MQIACH_CHANNEL_TYPE, None)
    if found is None:
        return
    words = {value: word for word, value in _words(attribute(Kind.CHANNEL, "CHLTYPE")).items()}
    if found.value != c.MQCHT_ALL:
        if found.value not in words:
            reason = c.MQRCCF_CHANNEL_TYPE_ERROR
            raise CommandError(Condition.VALUE_ERROR, reason=reason, parameter=found.parameter)
        options["CHLTYPE"] = words[found.value]


def _words(row: Attribute) -> Mapping[str, int]:
    words: Mapping[str, int] = getattr(row.type, "words", {})
    return words


def _attributes(kind: Kind, given: Mapping[int, pcf.Parameter]) -> dict[str, Value]:
    return _values({row.selector: row for row in TABLE[kind].values()}, given)


def _values(by_selector: Mapping[int, Attribute], given: Mapping[int, pcf.Parameter]) -> dict[str, Value]:
    """Attributes by keyword. Raises CommandError for one that is not in the table, or a value that it may not have."""
    values: dict[str, Value] = {}
    for found in given.values():
        row = by_selector.get(found.parameter)
        if row is None or row.read_only or not _fits(row, found):
            raise _unknown(found)
        try:
            values[row.keyword] = row.type.canonical(row.keyword, _value(found))
        except AttributeProblem as problem:
            raise _refused(problem, found) from problem
    return values


def _fits(row: Attribute, found: pcf.Parameter) -> bool:
    if isinstance(row.type, Names):
        return isinstance(found, pcf.MQCFSL | pcf.MQCFST)
    if isinstance(row.type, Words):
        return isinstance(found, pcf.MQCFIL | pcf.MQCFIN)
    if isinstance(row.type, Text):
        return isinstance(found, pcf.MQCFST)
    if row.is_text:
        return isinstance(found, pcf.MQCFBS)
    return isinstance(found, pcf.MQCFIN)


def _refused(problem: AttributeProblem, found: pcf.Parameter) -> CommandError:
    if isinstance(problem, UnknownAttribute | ReadOnly):
        return _unknown(found)
    if isinstance(found, pcf.MQCFST) and isinstance(problem.value, str) and len(problem.value.rstrip()) > 48:
        return CommandError(Condition.LENGTH_ERROR, parameter=found.parameter)
    if isinstance(found, pcf.MQCFST):
        return CommandError(Condition.NAME_ERROR, parameter=found.parameter)
    return CommandError(Condition.VALUE_ERROR, parameter=found.parameter)


def _inquiry(command: PcfCommand, request: Request, given: dict[int, pcf.Parameter]) -> Request:
    tables = tables_of(request.noun, request.options)
    where = next((given.pop(key) for key, found in list(given.items()) if isinstance(found, FILTERS)), None)
    selected = _selected(request, given)
    chosen = _wanted(given.pop(command.wanted, None), request.noun, tables) if command.wanted else None
    if command.names:
        chosen = frozenset()
    for left in given.values():
        raise _unknown(left)
    condition = _where(where, request.noun, tables)
    if chosen and condition is not None:
        chosen |= {condition.keyword}  # what is filtered on is answered as well
    return replace(request, wanted=chosen, where=condition, selected=selected, names_only=bool(command.names))


def _selected(request: Request, given: dict[int, pcf.Parameter]) -> tuple[Where, ...]:
    """The conditions of parameters that select by a value. Raises CommandError for a value that one does not have."""
    conditions: list[Where] = []
    for selection in selections_of(request.noun, request.options):
        found = given.pop(selection.parameter, None)
        if found is None:
            continue
        if not isinstance(found, pcf.MQCFIN if selection.words else pcf.MQCFST):
            raise _unknown(found)
        value = _value(found)
        chosen = selection.conditions(selection.numbers.get(value, "") if selection.words else str(value))
        if chosen is None:
            reason = c.MQRCCF_PARM_VALUE_ERROR
            raise CommandError(Condition.VALUE_ERROR, reason=reason, parameter=selection.parameter)
        conditions += chosen
    return tuple(conditions)


def _identity(noun: str) -> Mapping[int, Attribute]:
    """What names the object, which is always answered, by selector."""
    named = NOUNS[kinds_of(noun)[0]] if noun not in IDENTITIES else None
    rows = IDENTITIES[noun] if named is None else (named.name, named.type)
    return {row.selector: row for row in rows if row is not None}


def _wanted(
    found: pcf.Parameter | None, noun: str, tables: list[Mapping[str, Attribute]]
) -> frozenset[str] | None:  # fmt: skip
    """Keywords of the attributes asked for; None for all.

    Raises CommandError (MQRC_SELECTOR_ERROR) for a selector of no table.
    """
    if found is None:
        return None
    if not isinstance(found, pcf.MQCFIL | pcf.MQCFIN):
        raise _unknown(found)
    selectors = found.value if isinstance(found, pcf.MQCFIL) else (found.value,)
    if c.MQIACF_ALL in selectors:
        return None
    known = {row.selector: row.keyword for table in tables for row in table.values()}
    if set(selectors) - known.keys() - _identity(noun).keys():
        raise CommandError(Condition.VALUE_ERROR, reason=c.MQRC_SELECTOR_ERROR, parameter=found.parameter)
    return frozenset(known[selector] for selector in selectors if selector in known)


def _where(found: pcf.Parameter | None, noun: str, tables: list[Mapping[str, Attribute]]) -> Where | None:
    """An integer or string filter. Raises CommandError for another attribute's, or an operator that does not fit."""
    if found is None:
        return None
    known = {row.selector: row for table in tables for row in table.values()}
    if noun not in IDENTITIES:
        known |= _identity(noun)
    row = known.get(found.parameter)
    if row is None or isinstance(found, pcf.MQCFBF) or row.is_text is not isinstance(found, pcf.MQCFSF):
        raise _unknown(found)
    assert isinstance(found, pcf.MQCFIF | pcf.MQCFSF)
    if not operator_fits(row, found.operator) or (isinstance(row.type, Flag) and found.operator not in ORDERED):
        text = isinstance(found, pcf.MQCFSF)
        reason = c.MQRCCF_CFSF_OPERATOR_ERROR if text else c.MQRCCF_CFIF_OPERATOR_ERROR
        raise CommandError(Condition.FILTER_ERROR, reason=reason, parameter=found.parameter)
    return Where(keyword=row.keyword, operator=found.operator, value=_value(found))
