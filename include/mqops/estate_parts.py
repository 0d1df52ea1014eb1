"""What can be used of an estate file with errors: the smallest part that has the error is left out, the rest stands.

1. A part is a section of a queue manager (`SECTIONS`), a whole queue manager, `notify`, `retention`,
   `calendar`, or `checks`.
2. An error in a section leaves out that section. Any other error of a queue manager leaves out the queue manager:
   without its `reveal` or `storage` it would be another one.
3. Without its `trigger_monitor` a queue manager's workflows have no `trigger`: nothing would serve it.
4. Two queue managers that would share DAG ids are left out both: which of them a DAG is of cannot be known.
5. An error elsewhere (`lake`, `spark`, an unknown key) concerns all: nothing of the file can be used.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from mqops.estate_block import PartError, Section
from mqops.estate_sections import Estate, QueueManager
from mqops.settings_file import Document, FieldPath, models_in

MANAGERS, MONITOR = "queue_managers", "trigger_monitor"
OF_ALL = frozenset({"notify", "retention", "calendar", "checks"})
"""Sections of the whole that can be left out."""
SECTIONS = frozenset(
    name
    for name, field in QueueManager.model_fields.items()
    if any(issubclass(model, Section) for model in models_in(field.annotation))
)
"""The sections of a queue manager that can be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """What can be used of a file.

    Parameters: `estate` the valid rest; `value` the same as plain values; `left_out` place of each part → what stands
    there.
    """

    estate: Estate
    value: Mapping[str, Any]
    left_out: Mapping[FieldPath, Any]


def usable(document: Document) -> Usable | None:
    """What can be used of a document with problems; None where it is nothing."""
    value, left_out = deepcopy(document.value), dict[FieldPath, Any]()
    wrong = set(document.unread)
    if not isinstance(value, dict):
        return None
    while True:
        wrong |= set(_errors(value))
        if not wrong:
            return Usable(estate=Estate.model_validate(value), value=value, left_out=left_out)
        for part in {_part(path) for path in wrong}:
            if part is None:
                return None
            if any(part[:number] in left_out for number in range(1, len(part) + 1)):
                continue
            if not _leave_out(value, part, left_out):
                return None
        wrong = set()


def _errors(value: object) -> Iterator[FieldPath]:
    """The place of each error of these values."""
    try:
        Estate.model_validate(value)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            place = tuple(str(part) for part in item["loc"] if part != "[key]")
            found = (item.get("ctx") or {}).get("error")
            yield from ((*place, *part) for part in found.parts) if isinstance(found, PartError) else (place,)


def _part(path: FieldPath) -> FieldPath | None:
    """The part that has the error at this place, None for what concerns all."""
    if path[:1] and path[0] in OF_ALL:
        return path[:1]
    if path[:1] == (MANAGERS,) and len(path) > 1:
        return path[:3] if len(path) > 2 and path[2] in SECTIONS else path[:2]
    return None


def _leave_out(value: dict[Any, Any], part: FieldPath, left_out: dict[FieldPath, Any]) -> bool:
    """Take a part out of the values; whether it was there."""
    inside: Any = value
    for name in part[:-1]:
        inside = inside.get(name) if isinstance(inside, dict) else None
    keys = [key for key in inside if str(key) == part[-1]] if isinstance(inside, dict) else []
    for key in keys:
        left_out[part] = inside.pop(key)
    if part[-1] == MONITOR and isinstance(inside, dict):
        for section in inside.values():
            if isinstance(section, dict):
                section.pop("trigger", None)
    return bool(keys)


def may_ask_for_four_eyes(left_out: Any) -> bool:
    """Whether a part that was left out may ask for four eyes: it has such a key, also a misspelt one, that is not
    false."""
    if isinstance(left_out, dict):
        return any(_asks(key, inside) or may_ask_for_four_eyes(inside) for key, inside in left_out.items())
    return isinstance(left_out, list) and any(map(may_ask_for_four_eyes, left_out))


def _asks(key: object, value: object) -> bool:
    return value is not False and bool(difflib.get_close_matches(str(key), ["four_eyes"], n=1))


def part_of(path: FieldPath, parts: Iterable[FieldPath]) -> bool:
    """Whether a place is in one of these parts, or is one."""
    return any(path[: len(part)] == part for part in parts)
