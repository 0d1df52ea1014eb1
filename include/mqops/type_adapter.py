"""What checks values of a type: made when the first value is checked, because most processes check few types."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def adapter_of(kind: type[T]) -> TypeAdapter[T]:
    """Pydantic's adapter of a type, made once. Parameters: `kind` a dataclass, or another type that pydantic knows."""
    key: Any = kind  # mypy takes a class for no key of a cache
    adapter: TypeAdapter[T] = _made(key)
    return adapter


@cache
def _made(kind: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - a sixth of a second, for who checks nothing

    return TypeAdapter(kind)
