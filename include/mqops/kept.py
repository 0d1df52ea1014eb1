"""What is worked out once for all threads, and kept: for what never changes, such as the plan of a run.

Threads that ask for the same at the same time share one answer: one works it out, the others wait (`cachetools.cached`
with a condition). What was used last stays, as far as there is room. Errors are not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import Any, ParamSpec, Protocol, TypeVar

from cachetools import LRUCache, cached

P = ParamSpec("P")
T = TypeVar("T")


class OfArrow(Protocol):
    """A table or an array of Arrow."""

    @property
    def nbytes(self) -> int:
        """Bytes of its values."""


def bytes_of(*values: OfArrow) -> int:
    """The size of an entry that has these values, for `kept`: their bytes, and what the entry takes beside them."""
    return 1000 + sum(int(value.nbytes) for value in values)


def _one(_value: object) -> int:
    return 1


def kept(*, most: int, size: Callable[[Any], int] = _one) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the answers of a function by its arguments, which can be keys of a dict; its answers are not changed.

    A bound of entries is none where an entry can have the messages of a run: there, `size` gives the bytes of one.

    Parameters: `most` of all answers, by default how many; `size` of one. The newest one is kept whatever its size.
    """
    return cached(bounded(most=most, size=size), condition=Condition())


def bounded(*, most: int, size: Callable[[Any], int] = _one) -> LRUCache[Any, Any]:
    """What was used last, as far as there is room. A lock is the caller's. Parameters: as of `kept`."""
    return LRUCache(maxsize=most, getsizeof=lambda value: min(size(value), most))
