"""Response → PCF messages: one a row, texts filled up to the length of their attribute, the last one marked so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqlite.attributes import Attribute, Bits, Flag, Integer, Names, Text, Value, Word, Words
from mqlite.commands.request import Response, Row
from mqlite.conditions import CommandError
from mqlite.pcf.commands import PcfCommand
from mqwire import constants as c
from mqwire import pcf
from mqwire.ccsid import encode
from mqwire.errors import NotText

LONGEST_FILLED = 264  # MQ_CONN_NAME_LENGTH; longer texts (topic strings) have their own length


def answer(number: int, command: PcfCommand, response: Response) -> list[pcf.Message]:
    """The messages that answer a command that was done."""
    if command.names:
        groups: list[Sequence[pcf.Parameter]] = [_names(command, response.rows)]
    else:
        groups = [_row(row) for row in response.rows] or [()]
    last = len(groups)
    return [
        pcf.Message(
            header=pcf.MQCFH(
                type=c.MQCFT_RESPONSE,
                command=number,
                msg_seq_number=place,
                control=c.MQCFC_LAST if place == last else c.MQCFC_NOT_LAST,
            ),
            parameters=tuple(parameters),
        )
        for place, parameters in enumerate(groups, 1)
    ]


def refusal(number: int, error: CommandError) -> list[pcf.Message]:
    """The message that says why a command was not done, with the parameter at fault."""
    header = pcf.MQCFH(type=c.MQCFT_RESPONSE, command=number, comp_code=c.MQCC_FAILED, reason=error.reason)
    if error.parameter is None:
        return [pcf.Message(header=header)]
    return [
        pcf.Message(header=header, parameters=(pcf.MQCFIN(parameter=c.MQIACF_PARAMETER_ID, value=error.parameter),))
    ]


def within(message: pcf.Message, ccsid: int) -> pcf.Message:
    """The message with a question mark for each character that does not exist in a CCSID."""

    def shown(text: str) -> str:
        return "".join(one if one.isascii() or _exists(one, ccsid) else "?" for one in text)

    found = (
        pcf.with_texts(each, shown) if isinstance(each, pcf.TextParameter) else each for each in message.parameters
    )
    return replace(message, parameters=tuple(found))


def _exists(character: str, ccsid: int) -> bool:
    try:
        encode(character, ccsid)
    except NotText:
        return False
    return True


def _names(command: PcfCommand, rows: Sequence[Row]) -> list[pcf.Parameter]:
    """One list of names, and one of types where the kind has types."""
    first = rows[0].identity[0][0]
    texts = tuple(str(row.identity[0][1]) for row in rows)
    found: list[pcf.Parameter] = [pcf.MQCFSL(parameter=command.names, value=texts, length=_length(first))]
    if len(rows[0].identity) > 1:
        types = {c.MQCACF_Q_NAMES: c.MQIACF_Q_TYPES, c.MQCACH_CHANNEL_NAMES: c.MQIACH_CHANNEL_TYPES}[command.names]
        values = tuple(row.identity[1][1] for row in rows)
        found.append(pcf.MQCFIL(parameter=types, value=tuple(value for value in values if isinstance(value, int))))
    return found


def _row(row: Row) -> list[pcf.Parameter]:
    named = [_parameter(part, value) for part, value in row.identity]
    return named + [_parameter(row.rows[keyword], value) for keyword, value in row.values.items()]


def _parameter(row: Attribute, value: Value) -> pcf.Parameter:
    match row.type, value:
        case ((Integer() | Word() | Flag()), int()):
            return pcf.MQCFIN(parameter=row.selector, value=value)
        case Words(), list():
            return pcf.MQCFIL(parameter=row.selector, value=tuple(row.type.words[word] for word in value))
        case Names(), list():
            return pcf.MQCFSL(parameter=row.selector, value=tuple(value), length=row.type.length if value else None)
        case Bits(), str():
            return pcf.MQCFBS(parameter=row.selector, value=bytes.fromhex(value))
        case Text(), str():
            return pcf.MQCFST(parameter=row.selector, value=value, length=_length(row, value))
    raise TypeError(f"{row.keyword} cannot be {value!r}")


def _length(row: Attribute, value: str = "") -> int | None:
    """StringLength: that of the attribute, or none of its own for a long one or one that is not plain ASCII."""
    assert isinstance(row.type, Text)
    if row.type.length > LONGEST_FILLED or not value.isascii():
        return None
    return row.type.length
