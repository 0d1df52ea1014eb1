"""What is kept for the next call, bounded by bytes: what was used last stays, as far as there is room.

A bound of entries is none where an entry can have the messages of a run, or the lines of all runs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Entry(NamedTuple, Generic[T]):
    value: T
    size: int


class Kept(Generic[T]):
    """Values by their keys. Parameters: `most` bytes of all; `size` tells the bytes of a value, about."""

    def __init__(self, *, most: int, size: Callable[[T], int]) -> None:
        self._most = most
        self._size = size
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: Hashable) -> T | None:
        """The value of a key, None where it is not kept."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: Hashable, value: T) -> None:
        """Keep a value, in place of an earlier one. The newest one is kept whatever its size."""
        entry = _Entry(value, self._size(value))
        with self._lock:
            if old := self._entries.pop(key, None):
                self.bytes -= old.size
            self._entries[key] = entry
            self.bytes += entry.size
            while self.bytes > self._most and len(self._entries) > 1:
                self.bytes -= self._entries.popitem(last=False)[1].size


def kept(*, most: int, size: Callable[[T], int]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As `functools.lru_cache`, bounded by bytes. Errors are not kept. Parameters: as of `Kept`."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known: Kept[tuple[T]] = Kept(most=most, size=lambda found: size(found[0]))

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            key = args, tuple(sorted(kwargs.items()))
            if (found := known.get(key)) is not None:
                return found[0]
            value = function(*args, **kwargs)
            known.put(key, (value,))
            return value

        return called

    return decorated
