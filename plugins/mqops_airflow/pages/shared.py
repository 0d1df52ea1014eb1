"""What a page looks up: once for all who ask within a second, so that many readers cost little more than one.

A reader may see what the lake had a second ago. Rights are no part of it: they are checked for each reader before.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import ParamSpec, TypeVar

from cachetools import TLRUCache, cached

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 1.0
"""Seconds for which an answer is given again."""
MOST = 100
"""Answers of one page that are kept at the same time."""


def shared(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose results are shared for KEPT seconds, as of `mqops.kept.kept`."""
    cache: TLRUCache[object, T] = TLRUCache(maxsize=MOST, ttu=lambda _key, _value, now: now + KEPT)
    return cached(cache, condition=Condition())(function)
