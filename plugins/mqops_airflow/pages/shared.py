"""What a page looks up: once for all who ask within a second, so that many readers cost little more than one.

A reader may see what the lake had a second ago. Rights are no part of it: they are checked for each reader before.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import Any, Generic, ParamSpec, TypeVar

from cachetools import TLRUCache, cached

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 1.0
"""Seconds for which an answer is given again."""
MOST = 100
"""Answers of one page that are kept at the same time."""


class Same(Generic[T]):
    """A value as an argument of a shared function: this object, and not one that is equal. To compare figures or cells
    may take as long as what is made of them. What was shared itself stays the same object for as long."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


def shared(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose results are shared for KEPT seconds, as of `mqops.kept.kept`."""
    return cached(kept_for_a_moment(), condition=Condition())(function)


def kept_for_a_moment(most: int = MOST) -> TLRUCache[Any, Any]:
    """A cache of answers, each of which is there for KEPT seconds."""
    return TLRUCache(maxsize=most, ttu=lambda _key, _value, now: now + KEPT)
