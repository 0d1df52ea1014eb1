"""The columns of payloads that a suite names, by their paths or below its `columns`, and what comes with them.

columns:
  $.amount: number                                          a path or a property, and its type
  booked: {at: $.booked, type: date, format: "%d.%m.%Y"}    a name of one's own
  account: {offset: 0, length: 10, ccsid: 273}              a field of a fixed record, in bytes behind the headers
  total: {offset: 10, length: 5, type: packed, decimals: 2}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops.given_file import text_of, why_unread
from mqops.message_checks import OnFailure
from mqops.quality.columns import COLUMNS, PROBLEM, Column, is_payload
from mqops.quality.json_schemas import json_validator
from mqops.quality.payload import ISO_DATE, KINDS, Asked, asked_by_name
from mqops.quality.suite import Argument, Check
from mqops.quality.vocabulary import EXPECTATIONS, SEVERITIES, Expectation, Takes
from mqops.quality.where import Condition
from mqops.quality.xml_schemas import xsd
from mqops.settings_file import found

READABLE = EXPECTATIONS["column_values_to_be_readable"]
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_-]{0,99}")
_OF_SLICES = ("packed", "zoned")
_SCHEMAS = {Takes.JSON_SCHEMA: json_validator, Takes.XML_SCHEMA: xsd}
_WRITE = "write $.name or $[0] for JSON, /name/name for XML, folder.name for a property, or offset and length"


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    at: str = ""
    offset: Annotated[int, Field(ge=0, lt=1 << 27)] = 0
    length: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    ccsid: int | None = None
    type: Literal["text", "number", "flag", "date", "packed", "zoned"] = "text"
    decimals: Annotated[int, Field(ge=0, le=15)] = 0
    format: str = ISO_DATE


class Named:
    """The columns of one suite. Parameters: `head` of it, None where there is none.

    Attributes: `problems` name → what is wrong with it; `used` name in frames → what checks ask.
    """

    def __init__(self, head: Any) -> None:
        self.problems: dict[str, str] = {}
        self.used: dict[str, Asked] = {}
        self._declared: dict[str, Asked] = {}
        self._folder = Path()
        for name, said in (head.columns if head else {}).items():
            try:
                self._declared[name] = _declared(name, said)
            except ValueError as error:
                self.problems[name] = str(error)

    def in_folder(self, source: str) -> None:
        """Where the suite stands: its schemas are named from there."""
        self._folder = Path(source).parent

    def asked(self, name: str) -> Asked | None:
        """What a name asks; None where it names no column of a payload."""
        one = self._declared.get(name) or (None if name in self.problems else asked_by_name(name))
        if one is not None:
            self.used[one.column.name] = one
        return one

    def other(self, name: Argument | None, like: Column) -> str:
        """The column of another queue that one is compared with. Parameters: `name` as the suite says it, None for the
        same one. Raises ValueError: there is none, or it is of another kind."""
        if name is None:
            return like.name
        one = self.asked(str(name))
        column = COLUMNS.get(str(name)) or (one.column if one else None)
        if column is None or column.kind is not like.kind:
            raise ValueError(f"must be a column that is {like.kind.value} (found {found(name)})")
        return column.name

    def computed(
        self, expectation: Expectation, columns: Sequence[Column], arguments: Mapping[str, Argument]
    ) -> tuple[str, ...]:
        """The columns that a check is computed on. Raises ValueError: its schema cannot be used."""
        if expectation is READABLE:
            return tuple(f"{column.name}{PROBLEM}" for column in columns)
        if not expectation.probe:
            return tuple(column.name for column in columns)
        by = "".join(str(value) for value in arguments.values())
        for name, takes in expectation.arguments.items():
            if takes in _SCHEMAS:
                by = self._schema(str(arguments[name]), takes)
        about = self.used.get(columns[0].name) if columns else Asked(name="payload", language="document")
        if about is None:
            about = Asked(name=columns[0].name, language="column", path=columns[0].name)
        probe = replace(about, probe=expectation.probe, probe_by=by)
        self.used[probe.column.name] = probe
        return (probe.column.name,)

    def _schema(self, name: str, takes: Takes) -> str:
        try:
            text = text_of(self._folder / name)
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{name} cannot be read: {why_unread(error)}") from error
        try:
            _SCHEMAS[takes](text)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from error
        return text


def readable(checks: Sequence[Check], named: Named) -> Iterator[Check]:
    """A check for each column of a payload, that it can be read: a message whose payload is of another kind fails it.
    It is about the messages that a check of the column is about, and as severe; none where the suite has one itself."""
    said = {name for check in checks if check.expectation is READABLE for name in check.columns}
    wanted: dict[tuple[str, Any], Check] = {}
    strictest: dict[tuple[str, Any], OnFailure] = {}
    strict = tuple(OnFailure)
    for check in checks:
        there = [*(_value_of(name, named) for name in check.columns), *(one.column for one in check.where)]
        where = tuple(one for one in check.where if not is_payload(one.column))
        other = (Condition(column="queue", operator="equals", value=str(check.arguments.get("in_queue"))),)
        needed = [*((name, where) for name in there), *((name, other) for name in check.also)]
        for name, about in dict.fromkeys(needed):
            known = wanted.get((name, about))
            if not is_payload(name) or f"{name}{PROBLEM}" in said:
                continue
            before = strictest.get((name, about), strict[-1])
            strictest[name, about] = min(before, check.on_failure, key=strict.index)
            if known is None or SEVERITIES.index(check.severity) < SEVERITIES.index(known.severity):
                wanted[name, about] = check
    taken = {check.id for check in checks}
    for (name, where), check in wanted.items():
        shown = re.sub("[^A-Za-z0-9]+", "_", named.used[name].name).strip("_")
        every = chain([f"{shown}_readable"], (f"{shown}_readable_{number}" for number in count(2)))
        chosen = next(one for one in every if one not in taken)
        taken.add(chosen)
        yield Check(
            id=chosen,
            expectation=READABLE,
            columns=(f"{name}{PROBLEM}",),
            severity=check.severity,
            on_failure=strictest[name, where],
            where=where,
            why=f"{named.used[name].name} cannot be read",
            line=check.line,
        )


def _value_of(name: str, named: Named) -> str:
    """The column that a test is of; the column itself where it is no test."""
    one = named.used.get(name)
    if one is None or not one.probe or one.language in ("column", "document"):
        return name
    value = replace(one, probe="", probe_by="")
    named.used[value.column.name] = value
    return value.column.name


def _declared(name: str, said: object) -> Asked:
    """What a suite's own column asks. Raises ValueError."""
    if name in COLUMNS:
        raise ValueError("is the name of a column already: choose another one")
    block = _block({"type": said} if isinstance(said, str) else said)
    by_path = asked_by_name(block.at or name)
    if block.length:
        if block.at or by_path or not _NAME.fullmatch(name):
            raise ValueError("a slice has offset and length, and a name of letters, digits, _ and -")
        return _checked(Asked(name=name, language="slice", offset=block.offset, length=block.length), block)
    if by_path is None:
        raise ValueError(f"names nothing in a message: {_WRITE}")
    if block.at and not _NAME.fullmatch(name):
        raise ValueError("must be a name of letters, digits, _ and -")
    if block.ccsid is not None or block.offset or block.type in _OF_SLICES:
        raise ValueError("offset, ccsid, packed and zoned are of a slice: give its length")
    return _checked(replace(by_path, name=name), block)


def _checked(asked: Asked, block: _Block) -> Asked:
    if block.decimals and block.type not in _OF_SLICES:
        raise ValueError("decimals are of packed and zoned numbers")
    if block.type == "packed" and asked.length > 16:
        raise ValueError("a packed number has at most 16 bytes")
    return replace(asked, ccsid=block.ccsid, type=block.type, decimals=block.decimals, date_format=block.format)


def _block(said: object) -> _Block:
    try:
        return _Block.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        kinds = ", ".join(KINDS)
        raise ValueError(
            f"{at or 'it'} is not valid here (found {found(first['input'])}): write a type ({kinds}), or a block of "
            "at, offset, length, ccsid, type, decimals, format"
        ) from error
