"""What checks values of a type, made when the first value is checked, because most processes check few types; and what
it says of one that does not fit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


def adapter_of(kind: type[T]) -> TypeAdapter[T]:
    """Pydantic's adapter of a type, made once. Parameters: `kind` a dataclass, or another type that pydantic knows."""
    key: Any = kind  # mypy takes a class for no key of a cache
    adapter: TypeAdapter[T] = _made(key)
    return adapter


class Refused(NamedTuple):
    """What does not fit, without its value: the field, "" for the whole; pydantic's name of the error, and its text."""

    place: str
    kind: str
    text: str


def refused(error: ValidationError) -> Refused:
    """The first of the errors that pydantic found. The value that was given is not in it: it may be a secret."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return Refused(place=".".join(map(str, first["loc"])), kind=first["type"], text=first["msg"])


@cache
def _made(kind: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - a sixth of a second, for who checks nothing

    return TypeAdapter(kind)
