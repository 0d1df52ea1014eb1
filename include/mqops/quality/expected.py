"""What a check expects of the messages, in MQ's words: fields by the names that IBM MQ gives them, constants by their
symbols, and not by the names of Great Expectations. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from mqops.observe.core.reasons import reason_symbol
from mqops.quality.columns import COLUMNS, ColumnKind
from mqops.quality.units import with_unit
from mqwire import names
from mqwire.structures import MQDLH_LAYOUT, MQMD_LAYOUT

if TYPE_CHECKING:
    from mqops.message_checks import CheckResult

_FIELDS: Mapping[str, str] = {
    **{one.key: one.name for one in MQMD_LAYOUT.fields},
    **{f"dlh_{one.key}": f"{one.name} of the MQDLH" for one in MQDLH_LAYOUT.fields},
    "age_seconds": "age",
    "body_length": "length of the body",
    "ccsid": "CodedCharSetId",
    "dlh_ccsid": "CodedCharSetId of the MQDLH",
    "dlh_dest_q": "DestQName of the MQDLH",
    "dlh_dest_q_mgr": "DestQMgrName of the MQDLH",
    "expires_in_seconds": "time until it expires",
    "msg_offset": "Offset",
    "payload_length": "length of the data",
}
"""Column → what IBM MQ calls it. A column that is not here keeps its name."""
_NAMES: Mapping[str, Callable[[int], str | None]] = {
    "dlh_reason": reason_symbol,
    "expiry": partial(names.lookup, "MQEI"),
    "feedback": names.feedback_name,
    "msg_type": partial(names.lookup, "MQMT"),
    "persistence": partial(names.lookup, "MQPER"),
}
"""Column whose numbers are constants → what names one. The Reason of an MQDLH may be a feedback code, and the Feedback
of an exception report is a reason code, of the MQI or of a command, or stands for a code of IMS (IBM MQ, "Reason",
"Feedback")."""
_VERBS: Mapping[str, str] = {
    "column_value_lengths_to_be_between": "has a length of {}",
    "column_value_lengths_to_equal": "has a length of {}",
    "column_values_to_be_between": "is {}",
    "column_values_to_be_in_set": "is one of {}",
    "column_values_to_match_regex": "matches {}",
    "column_values_to_not_be_in_set": "is none of {}",
    "column_values_to_not_match_regex": "does not match {}",
    "table_row_count_to_be_between": "the number of messages is {}",
    "table_row_count_to_equal": "the number of messages is {}",
}
_ONE_VALUE: Mapping[str, str] = {"is one of {}": "is {}", "is none of {}": "is not {}"}
_WITHOUT_LIMITS: Mapping[str, str] = {
    "column_values_to_be_null": "has no value",
    "column_values_to_be_unique": "is in one message only",
    "column_values_to_not_be_null": "has a value",
    "compound_columns_to_be_unique": "together are in one message only",
}
_SAYS: Mapping[str, str] = {"=": "is", "at": "is at", "equals": "is", "not": "is not"}
"""Words of a condition → in a sentence."""
_NUMBER = re.compile(r"-?[0-9]++")


def fields(check: CheckResult) -> str:
    """The fields that a check is about, as IBM MQ names them; nothing where the sentence names them itself."""
    return "" if _of_flag(check) else ", ".join(_FIELDS.get(one, one) for one in check.columns)


def expected(check: CheckResult) -> str:
    """What a check expects of its fields. A run of an earlier version does not tell the limits."""
    found = _of_flag(check) or _of_values(check)
    where = " and ".join(map(_where, check.where.split(" and ")))
    return f"{found}, where {where}" if where else found


def _of_flag(check: CheckResult) -> str:
    """The sentence of a column that is true or false; "" for another check."""
    asks, _comma, share = check.limits.partition(", ")
    if check.expect != "column_values_to_be_in_set" or asks != "true" or share[:3] not in {"", "in "}:
        return ""
    meaning = _meaning(check.columns[0]) if len(check.columns) == 1 else ""
    return f"{meaning}, {share}" if meaning and share else meaning


def _meaning(column: str) -> str:
    """What it means that a column is true; "" for another column. What is said of null is left out."""
    found = COLUMNS.get(column)
    return found.meaning.partition(";")[0] if found and found.kind is ColumnKind.FLAG else ""


def _of_values(check: CheckResult) -> str:
    verb, limits = _VERBS.get(check.expect), _symbols(check)
    if check.limits and verb:
        several = "," in check.limits.partition(", in ")[0]
        return (verb if several else _ONE_VALUE.get(verb, verb)).format(limits)
    if (without := _WITHOUT_LIMITS.get(check.expect)) and (not limits or limits.startswith("in ")):
        return f"{without}, {limits}" if limits else without
    plain = check.expect.removeprefix("column_").replace("value_lengths", "lengths").replace("_", " ")
    return f"{plain}: {limits}" if limits else plain


def _symbols(check: CheckResult) -> str:
    """The limits of a check, with the symbols of constants in place of their numbers."""
    if len(check.columns) != 1 or not check.expect.endswith("_be_in_set"):
        return check.limits
    return ", ".join(_symbol(check.columns[0], one) for one in check.limits.split(", "))


def _symbol(column: str, value: str) -> str:
    """A number as the symbol of a constant, where the column has constants."""
    name = _NAMES.get(column) if _NUMBER.fullmatch(value) else None
    return (name(int(value)) if name else None) or value


def _where(condition: str) -> str:
    """A condition such as "msg_type equals 1" or "dlh_valid equals True"."""
    column, _blank, asks = condition.partition(" ")
    word, _blank, value = asks.partition(" ")
    if word in {"=", "equals"} and value.lower() == "true" and (meaning := _meaning(column)):
        return meaning
    before = next((one for one in ("one of ", "least ", "most ") if value.startswith(one)), "")
    values = (with_unit((column,), _symbol(column, one)) for one in value.removeprefix(before).split(", "))
    shown = before + ", ".join(values)
    return " ".join(filter(None, (_FIELDS.get(column, column), _SAYS.get(word, word), shown)))
