"""Threads that call a function with the same arguments at the same time: one computes, the others wait for its answer.

So many readers of a page cost no more than one. No answer is kept: a later call computes again (`lru_cache` below
`single_flight` keeps what never changes).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def single_flight(function: Callable[P, T]) -> Callable[P, T]:
    """The function for several threads at a time. Its arguments can be keys of a dict; its answers are not changed.

    Raises: what the function raises, for all who wait.
    """
    lock = threading.Lock()
    open_: dict[object, Future[T]] = {}

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (args, tuple(sorted(kwargs.items())))
        with lock:
            answer, mine = open_.get(key), key not in open_
            if answer is None:
                answer = open_[key] = Future()
        if not mine:
            return answer.result()
        try:
            answer.set_result(function(*args, **kwargs))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            with lock:
                del open_[key]
        return answer.result()

    return called
