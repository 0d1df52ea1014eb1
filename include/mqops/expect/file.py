"""Reads an expectation file and says everything that is wrong with it, by file, line and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from mqops import actions
from mqops.errors import SettingsError
from mqops.rules import Rule
from mqops.rules.keyword import Keyword, ValueKind
from mqops.rules.keywords import PATTERN_KEYWORDS
from mqops.rules.values import BadValue, typed
from mqops.settings_file import Document, found, read, unknown_key

Action = Literal["RETRY", "FWD", "DISCARD", "IGNORE", "ERROR", "AMBIGUOUS"]
_DECISION = ("action", "to", "header", "putaut", "rule")
_HEX = frozenset("0123456789abcdef")


def hex_digits(text: str) -> str:
    """A MsgId, or its beginning, in lower case. Raises ValueError."""
    lowered = text.lower()
    if not lowered or len(lowered) > 48 or not set(lowered) <= _HEX:
        raise ValueError(f"must be a MsgId, 1 to 48 hex digits, in quotes (found {text!r})")
    return lowered


class Entry(BaseModel):
    """One expectation as it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = ""
    message: Annotated[str, AfterValidator(hex_digits)] | None = None
    where: dict[str, object] | None = None
    count: Annotated[int, Field(ge=0)] | None = None
    action: Action | None = None
    to: str | None = None
    header: bool | None = None
    putaut: Literal["DEF", "CTX"] | None = None
    rule: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _says_something(self, _info: ValidationInfo) -> Entry:
        if (self.message is None) == (self.where is None):
            raise ValueError("needs either message or where, which select the messages")
        if self.count is None and all(getattr(self, name) is None for name in _DECISION):
            raise ValueError(f"expects nothing: give count, or one of {', '.join(_DECISION)}")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    expectations: Annotated[list[Entry], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation, ready to be held against messages.

    Parameters: `entry` as written, `line` where; `pattern` the rule its `where` amounts to, None with `message`.
    """

    entry: Entry
    line: int
    pattern: Rule | None = None


def expectations_in(text: str, *, source: str) -> tuple[Expectation, ...]:
    """The expectations of a file's text.

    Parameters: `source` names the file in messages.

    Raises:
        SettingsError: one line for every error, `file:line: field: what`.
    """
    document = read(text, source=source)
    content = document.check(_File)
    if content is None:
        raise SettingsError(*map(str, document.problems))
    expectations = tuple(_expectation(number, entry, document) for number, entry in enumerate(content.expectations))
    if document.problems:
        raise SettingsError(*map(str, document.problems))
    return expectations


def _expectation(number: int, entry: Entry, document: Document) -> Expectation:
    path = ("expectations", str(number))
    line = document.problem(path, "").line
    if entry.where is None:
        return Expectation(entry=entry, line=line)
    patterns: dict[str, str | int] = {}
    for name, value in entry.where.items():
        keyword = PATTERN_KEYWORDS.get(name.upper())
        try:
            if keyword is None:
                raise BadValue(unknown_key(name, list(PATTERN_KEYWORDS)))
            patterns[keyword.name] = _typed(keyword, value)
        except BadValue as bad:
            document.problems.append(document.problem((*path, "where", name), str(bad)))
    return Expectation(entry=entry, line=line, pattern=pattern_of(patterns))


def pattern_of(patterns: Mapping[str, str | int]) -> Rule:
    """A rule that matches the messages with these patterns; its action means nothing."""
    return Rule(index=0, line=0, key="", patterns=dict(patterns), action=actions.Action.IGNORE)


def _typed(keyword: Keyword, value: object) -> str | int:
    """As in a rules table in quotes; here an empty text is a blank one. Raises `BadValue`."""
    number = isinstance(value, int) and not isinstance(value, bool)
    wanted = "a number or its symbolic name" if keyword.kind is ValueKind.NUMBER else "text in quotes"
    if not isinstance(value, str) and not (number and keyword.kind is ValueKind.NUMBER):
        raise BadValue(f"must be {wanted} (found {found(value)})")
    return typed(keyword, str(value))
