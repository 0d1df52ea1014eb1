"""DISPLAY of objects, and the names-only inquiries of PCF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqlite.attributes import TABLE, Attribute, Kind, Value, channel_type, rows
from mqlite.commands.filters import generic_match
from mqlite.commands.nouns import NOUNS, kinds_of
from mqlite.commands.request import Request, Response, Row
from mqlite.commands.status import trimmed
from mqlite.conditions import CommandError

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

SECRET = frozenset({"PASSWORD"})
IN_IDENTITY = {Kind.CHANNEL: "CHLTYPE"}


def display(admin: Administration, request: Request) -> Response:
    """Every object that the name, the TYPE and the filter let through, sorted by name.

    Raises CommandError if there is none.
    """
    kinds = kinds_of(request.noun)
    noun = NOUNS[kinds[0]]
    found = tuple(row for row in _objects(admin, request, kinds) if request.admits(row))
    if not found:
        raise CommandError(noun.missing, name=request.name)
    return Response(rows=tuple(trimmed(row, request.wanted) for row in found))


def _objects(admin: Administration, request: Request, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    if kinds == (Kind.QMGR,):
        values = admin.get(Kind.QMGR, admin.queue_manager) or {}
        yield _row(admin, Kind.QMGR, admin.queue_manager, values)
        return
    wanted = request.options.get("CHLTYPE", request.options.get("TYPE", "ALL"))
    for kind, name, values in sorted(admin.find(kinds), key=lambda found: (found[1], found[0])):
        if generic_match(request.name, name):
            row = _row(admin, kind, name, values)
            if wanted in {"ALL", _channel_type(row) if kind is Kind.CHANNEL else str(kind)}:
                yield row


def _channel_type(row: Row) -> str:
    return channel_type(row.identity[1][1])


def _row(admin: Administration, kind: Kind, name: str, values: dict[str, Value]) -> Row:
    noun = NOUNS[kind]
    unnamed = name == values.get("SUBID")  # a subscription without a SubName
    identity: list[tuple[Attribute, Value]] = [(noun.name, "" if unnamed else name)]
    subtype = None
    if kind is Kind.CHANNEL:
        identity.append((_type_row(kind), values["CHLTYPE"]))
        subtype = channel_type(values["CHLTYPE"])
    elif noun.type is not None:
        identity.append((noun.type, _type_row(kind).type.canonical("TYPE", str(kind))))
    allowed = {row.keyword: row for row in rows(kind, platform=admin.platform, subtype=subtype)}
    allowed.pop(IN_IDENTITY.get(kind, ""), None)
    current = admin.current(kind, name, values).items()
    shown = {keyword: _unless_secret(keyword, value) for keyword, value in current if keyword in allowed}
    return Row(shown=noun.shown, identity=tuple(identity), values=shown, rows=TABLE[kind])


def _unless_secret(keyword: str, value: Value) -> Value:
    return "*" * 8 if keyword in SECRET and value else value


def _type_row(kind: Kind) -> Attribute:
    row = NOUNS[kind].type
    assert row is not None
    return row
