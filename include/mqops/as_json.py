"""The JSON of a value, made in one place: what `--json` prints, and what other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]


def as_json(value: object) -> Json:
    """A dataclass or a NamedTuple becomes an object of its fields, in their order; another sequence becomes an array.

    Raises:
        TypeError: the value, or one in it, is of a type that JSON does not have, such as bytes.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [as_json(one) for one in value]
    return json_object(value)


def json_object(value: object) -> JsonObject:
    """The JSON object of a dataclass, a NamedTuple or a mapping. Raises `TypeError`, as `as_json`."""
    if isinstance(value, Mapping):
        return {str(name): as_json(one) for name, one in value.items()}
    if is_dataclass(value):
        return {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        names: tuple[str, ...] = getattr(value, "_fields", ())
        return dict(zip(names, map(as_json, value), strict=True))
    raise TypeError(f"{type(value).__name__} has no JSON")
