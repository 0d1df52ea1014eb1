"""`mqops.single_flight`: threads that ask for the same at the same time share one answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mqops.single_flight import single_flight


class Key:
    """All keys are equal. Parameters: `compared` is set when a key is found to be the same as another one."""

    def __init__(self, compared: threading.Event) -> None:
        self.compared = compared

    def __eq__(self, other: object) -> bool:
        self.compared.set()
        return isinstance(other, Key)

    def __hash__(self) -> int:
        return 1


def test_who_asks_while_another_computes_gets_his_answer():
    begun, compared = threading.Event(), threading.Event()
    calls = []

    @single_flight
    def slow(_key: Key) -> object:
        begun.set()
        assert compared.wait(60)
        calls.append(object())
        return calls[-1]

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(slow, Key(compared))
        assert begun.wait(60)
        second = threads.submit(slow, Key(compared))
        assert first.result() is second.result()
    assert len(calls) == 1
    slow(Key(compared))
    assert len(calls) == 2  # nothing is kept


def test_an_error_is_raised_and_not_kept():
    answers = [0, 1]

    @single_flight
    def divided(number: int) -> float:
        return number / answers.pop(0)

    with pytest.raises(ZeroDivisionError):
        divided(1)
    assert divided(1) == 1
