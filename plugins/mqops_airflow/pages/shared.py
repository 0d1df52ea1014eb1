"""What a page looks up: once for all who ask within a second, so that many readers cost little more than one.

A reader may see what the lake had a second ago. Rights are no part of it: they are checked for each reader before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mqops.single_flight import single_flight

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 1.0
"""Seconds for which an answer is given again."""


def shared(function: Callable[P, T]) -> Callable[P, T]:
    """As `single_flight`; who asks again within KEPT seconds gets the same answer. Errors are not kept."""
    at_once = single_flight(function)
    lock = threading.Lock()
    kept: dict[object, tuple[float, T]] = {}

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        key, now = (args, tuple(sorted(kwargs.items()))), time.monotonic()
        found = kept.get(key)
        if found is not None and now - found[0] < KEPT:
            return found[1]
        value = at_once(*args, **kwargs)
        with lock:
            for old in [one for one, (at, _value) in kept.items() if now - at >= KEPT]:
                del kept[old]
            kept[key] = now, value
        return value

    return called
