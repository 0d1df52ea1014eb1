"""PCF's authority record commands → Request: names and authorities are lists there, words in the one command table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqlite.commands.authority import ALL_WORDS, OBJECT_TYPE
from mqlite.commands.request import Request
from mqlite.conditions import CommandError, Condition
from mqlite.security.authority import ENTITY_TYPES
from mqwire import constants as c
from mqwire import pcf

NAMES = {c.MQCACF_PRINCIPAL_ENTITY_NAMES: "PRINCIPAL", c.MQCACF_GROUP_ENTITY_NAMES: "GROUP"}
AUTHORITIES = {c.MQIACF_AUTH_ADD_AUTHS: "AUTHADD", c.MQIACF_AUTH_REMOVE_AUTHS: "AUTHRMV"}
OBJECT_TYPES = {number: word for word, number in getattr(OBJECT_TYPE.type, "words", {}).items()}
WORDS = {number: word for word, number in ALL_WORDS.items()}
MATCHES = {c.MQAUTHOPT_NAME_ALL_MATCHING: "PROFILE", c.MQAUTHOPT_NAME_EXPLICIT: "EXACT"}


def authority_request(verb: str, given: Mapping[int, pcf.Parameter], values: Mapping[int, Any]) -> Request:
    """The request of SET, DELETE or INQUIRE AUTH_REC(S).

    Parameters: `values` of the parameters that are `given`, by identifier. Raises CommandError.
    """
    options: dict[str, str] = {}
    entity = str(values.get(c.MQCACF_ENTITY_NAME, ""))
    for parameter, value in values.items():
        if parameter == c.MQCACF_AUTH_PROFILE_NAME:
            options["PROFILE"] = str(value)
        elif parameter == c.MQIACF_OBJECT_TYPE:
            if not (verb == "DISPLAY" and value == c.MQOT_ALL):
                options["OBJTYPE"] = _word(OBJECT_TYPES, value, parameter, c.MQRCCF_PARM_VALUE_ERROR)
        elif parameter in NAMES and verb != "DISPLAY":
            options[NAMES[parameter]] = ",".join(name.rstrip() for name in _listed(value))
        elif parameter in AUTHORITIES and verb == "SET":
            reason = c.MQRCCF_AUTH_VALUE_ERROR
            options[AUTHORITIES[parameter]] = ",".join(
                _word(WORDS, number, parameter, reason) for number in _listed(value)
            )
        elif parameter == c.MQIACF_ENTITY_TYPE and verb == "DISPLAY":
            kinds = {number: word for word, number in ENTITY_TYPES.items()}
            options[_word(kinds, value, parameter, c.MQRCCF_PARM_VALUE_ERROR)] = entity
        elif parameter == c.MQIACF_AUTH_OPTIONS and verb == "DISPLAY":
            options["MATCH"] = _match(value)
        elif not (verb == "DISPLAY" and parameter in (c.MQCACF_ENTITY_NAME, c.MQIACF_AUTH_PROFILE_ATTRS)):
            kind = c.MQRCCF_CFIN_PARM_ID_ERROR if isinstance(given[parameter], pcf.MQCFIN) else 0
            raise CommandError(
                Condition.UNKNOWN_PARAMETER, reason=kind or c.MQRCCF_CFST_PARM_ID_ERROR, parameter=parameter
            )
    return Request(verb=verb, noun="AUTHREC", options={key: value for key, value in options.items() if value})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _word(words: Mapping[int, str], value: Any, parameter: int, reason: int) -> str:
    if value not in words:
        raise CommandError(Condition.VALUE_ERROR, reason=reason, parameter=parameter)
    return words[value]


def _match(value: int) -> str:
    """MATCH of the MQAUTHOPT_* options."""
    if value & c.MQAUTHOPT_ENTITY_SET:
        return "MEMBERSHIP"
    return next((word for option, word in MATCHES.items() if value & option), "PROFILE")
