"""What is looked for: conditions in the language of rules tables, identifiers, a time window. Pure.

A message fits if all of them hold. The conditions are the patterns of a rule, extensions too: IBM's keywords (DESTQ,
REASON, APPLNAME, USERID ...) and AGE, SIZE, PROP, BODY ... of `docs/rules_extensions.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from mqops.errors import RulesError, SettingsError
from mqops.rules import Rule, parse
from mqops.rules.conditions import Question
from mqops.rules.keyword import ValueKind

_HEADER, _ACTION = "* MQOPS EXTENSIONS\n", " ACTION(IGNORE)"
IDENTIFIERS = {"msg_id": "MsgId", "correl_id": "CorrelId", "group_id": "GroupId"}
"""Column of a snapshot → the field of the MQMD."""
DIGITS = 48
PAYLOAD = frozenset({ValueKind.PROPERTY, ValueKind.BODY})
"""Conditions on what `mqops message show` masks."""
_HEX = re.compile(f"[0-9a-f]{{1,{DIGITS}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What messages must have.

    Parameters: `rule` whose patterns they fit, None for any; `identifiers` column → the beginning of the value, in hex;
    `since` and `until` bounds of the MQMD's put date and time, UTC, the second one excluded; `md_format` a pattern of
    MQMD.Format, blank for any: the keyword FORMAT of the rules language is MQDLH.Format; `text` a pattern of the data
    as it can be read (`mqops.look.core.searched`), `some_bytes` that stand anywhere behind the MQMD, blank for any;
    `destination` a pattern of the queue that the MQDLH, or an MQXQH, says, blank for any; `keys`
    identities in the lake of which it has one, None for any, and `keys_of` which messages these are, in words.
    """

    rule: Rule | None = None
    identifiers: tuple[tuple[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    md_format: str = ""
    text: str = ""
    some_bytes: bytes = b""
    destination: str = ""
    keys: frozenset[str] | None = None
    keys_of: str = ""

    @property
    def asks_for_payload(self) -> bool:
        """Whether the messages that are found tell a part of bodies or properties (law 9)."""
        conditions = self.rule.extensions if self.rule else ()
        return bool(self.text or self.some_bytes) or asks_for_payload(one.question for one in conditions)

    @property
    def whole_ids(self) -> dict[str, bytes]:
        """The MsgId and the CorrelId, where all their digits are given: MQGET can match a whole identifier."""
        return {name: bytes.fromhex(text) for name, text in self.identifiers if len(text) == DIGITS}


def id_range(text: str) -> tuple[bytes, bytes]:
    """The least and the greatest identifier that begins with a text. Parameters: `text` hex digits."""
    low, high = (bytes.fromhex(text.ljust(DIGITS, end)) for end in "0f")
    return low, high


def criteria(
    where: str = "",
    *,
    msg_id: str = "",
    correl_id: str = "",
    group_id: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    md_format: str = "",
    text: str = "",
    hex_bytes: str = "",
    destination: str = "",
) -> Criteria:
    """What is looked for.

    Parameters: `where` patterns such as `REASON(MQRC_Q_FULL) PROP('usr.country' = 'DE')`, "" for any; identifiers in
    hex, or the beginning of one; times without a zone are UTC; `md_format` with the wildcards of that language,
    as `text`, which stands anywhere in the data, and `destination`; `hex_bytes` pairs of hex digits, with or without
    blanks between.

    Raises:
        RulesError: `where` is not valid; each problem has the column in it.
        SettingsError: an identifier is not hex, or the bytes are not, or a time is none in UTC.
    """
    given = {"msg_id": msg_id, "correl_id": correl_id, "group_id": group_id}
    wanted = {name: text.strip().lower() for name, text in given.items() if text.strip()}
    for name, digits in wanted.items():
        if not _HEX.fullmatch(digits):
            raise SettingsError(f"{digits!r} is not a {IDENTIFIERS[name]} in hex, or the beginning of one")
    return Criteria(
        rule=_rule(where) if where.strip() else None,
        identifiers=tuple(wanted.items()),
        since=_utc(since),
        until=_utc(until),
        md_format=md_format.strip(),
        text=f"*{text}*" if text else "",
        some_bytes=_bytes(hex_bytes),
        destination=destination.strip(),
    )


def asks_for_payload(questions: Iterable[Question]) -> bool:
    """Whether one of the questions is about bodies or properties."""
    return any(one.kind in PAYLOAD for one in questions)


def described(wanted: Criteria) -> str:
    """What is looked for, in words; what is looked for in bodies and properties is not shown, because it is payload."""
    rule = wanted.rule
    parts = [f"{IDENTIFIERS[name]} {text}" for name, text in wanted.identifiers]
    parts += [f"{keyword}({value})" for keyword, value in rule.conditions().items()] if rule else []
    for one in rule.extensions if rule else ():
        shown = "..." if one.question.kind in PAYLOAD else str(one)
        parts.append(f"{one.question.keyword}({shown})")
    parts += [f"destination {wanted.destination}"] if wanted.destination else []
    parts += ["text ..."] if wanted.text else []
    parts += ["bytes ..."] if wanted.some_bytes else []
    parts += [f"MQMD.Format {wanted.md_format}"] if wanted.md_format else []
    parts += [f"put since {wanted.since.isoformat()}"] if wanted.since else []
    parts += [f"put before {wanted.until.isoformat()}"] if wanted.until else []
    parts += [wanted.keys_of] if wanted.keys is not None else []
    return " ".join(parts)


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise SettingsError("These bytes are not pairs of hex digits: write them as in 31 32 or c1c2") from error


def _utc(time: datetime | None) -> datetime | None:
    if time is None or time.tzinfo is None:
        return time and time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        text = f"{time.isoformat()} is before the year 1 or behind 9999 in UTC: give another time"
        raise SettingsError(text) from error


def _rule(where: str) -> Rule:
    """The rule with these patterns."""
    text = " ".join(where.split("\n"))
    parsed = parse(f"{_HEADER}{text}{_ACTION}", source="--where", lint=False)
    if parsed.table is None or len(parsed.table.rules) != 1:
        problems = [{"line": 1, "column": one.column, "message": one.message} for one in parsed.errors]
        lines = [f"column {one['column']}: {one['message']}" for one in problems]
        raise RulesError("these conditions are not valid", *lines, problems=problems)
    return parsed.table.rules[0]
