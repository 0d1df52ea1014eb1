"""`mqops.kept`: what never changes is worked out once for all threads, and kept as far as there is room."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mqops.kept import kept


def test_what_was_used_last_stays_as_far_as_there_is_room() -> None:
    asked: list[int] = []

    @kept(most=10, size=len)
    def made(size: int) -> bytes:
        asked.append(size)
        if size < 0:
            raise ValueError(size)
        return bytes(size)

    assert [len(made(size)) for size in (4, 4, 6, 4, 8, 4)] == [4, 4, 6, 4, 8, 4]
    assert asked == [4, 6, 8, 4]
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            made(-1)
    assert asked[4:] == [-1, -1]
    for _ in range(2):
        assert len(made(100)) == 100  # larger than all room: it is kept alone
    assert asked[6:] == [100]


def test_without_a_size_answers_are_counted() -> None:
    asked: list[str] = []

    @kept(most=2)
    def made(name: str) -> None:
        asked.append(name)

    for name in "abacbca":
        made(name)
    assert "".join(asked) == "abcba"


class Key:
    """All keys are equal. Parameters: `compared` is set when a key is found to be the same as another one."""

    def __init__(self, compared: threading.Event) -> None:
        self.compared = compared

    def __eq__(self, other: object) -> bool:
        self.compared.set()
        return isinstance(other, Key)

    def __hash__(self) -> int:
        return 1


def test_who_asks_while_another_works_it_out_gets_his_answer() -> None:
    begun, compared = threading.Event(), threading.Event()
    calls = []

    @kept(most=1)
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
