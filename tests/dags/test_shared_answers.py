"""What pages look up is looked up once a second for all readers, and asking queue managers takes a share of a processor
at most; no reader waits for a full garbage collection."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from mq_support import until

from mqops_airflow.pages import answers, server, shared
from mqops_airflow.pages.answers import AT_ONCE, WITHOUT_KEEPING, Answers


def test_who_asks_within_a_second_gets_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    @shared.shared
    def answer(name: str) -> int:
        asked.append(name)
        if name == "none":
            raise ValueError(name)
        return len(asked)

    monkeypatch.setattr(shared, "KEPT", 0.0)
    assert [answer("a"), answer("a")] == [1, 2]
    asked.clear()
    monkeypatch.setattr(shared, "KEPT", 3600.0)
    assert [answer("a"), answer("b"), answer("a"), answer("b")] == [1, 2, 1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="none"):
            answer("none")
    assert asked == ["a", "b", "none", "none"]


NAMES = [f"QM{number}" for number in range(3 * AT_ONCE)]


def _works() -> float:
    """Takes a little of a processor."""
    began = time.thread_time()
    while time.thread_time() - began < 0.001:
        pass
    return began


def test_asking_takes_a_bounded_share_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 37 D: answers that cost much together are kept for longer than usual."""
    monkeypatch.setattr(answers, "WAIT", 60.0)
    asked: Answers[float] = Answers(2 * WITHOUT_KEEPING)
    questions = dict.fromkeys(NAMES, _works)

    def values() -> set[float | None]:
        return {answer.value for answer in asked.of(questions).values()}

    monkeypatch.setattr(answers, "SHARE", 1e-6)
    first = values()
    assert None not in first
    assert [values() for _ in range(100)] == [first] * 100
    one_by_one = asked.of(questions, kept=WITHOUT_KEEPING)  # for who needs the next answers, whatever they cost
    assert first.isdisjoint({answer.value for answer in one_by_one.values()})
    monkeypatch.setattr(answers, "SHARE", 1e6)
    until(lambda: first.isdisjoint(values()))


@pytest.mark.parametrize(("slow", "begun"), [(3600.0, AT_ONCE), (0.0, len(NAMES))])
def test_some_are_asked_at_once_and_who_does_not_answer_takes_no_turn(
    slow: float, begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "WAIT", 0.001)
    monkeypatch.setattr(answers, "SLOW", slow)
    asked: Answers[str] = Answers(3600.0)
    answered, begins = threading.Event(), list[str]()

    def hangs(name: str) -> str:
        begins.append(name)
        answered.wait()
        return name

    questions = {name: partial(hangs, name) for name in NAMES}
    until(lambda: asked.of(questions) and len(begins) == begun)
    late = asked.of(questions)
    assert all(one.waiting for one in late.values())
    assert sum(bool(one.asked) for one in late.values()) == begun
    assert sorted(begins) == sorted(NAMES[:begun])
    answered.set()
    until(lambda: [one.value for one in asked.of(questions).values()] == NAMES)


def test_a_thread_that_has_asked_goes_on_with_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start a thread for each of many questions takes long, and nobody gets an answer meanwhile."""
    monkeypatch.setattr(answers, "WAIT", 60.0)
    monkeypatch.setattr(answers, "SLOW", 3600.0)
    for _ in range(100):  # the readers that an answer wakes begin threads, too
        found = Answers[threading.Thread](3600.0).of(dict.fromkeys(NAMES, threading.current_thread))
        threads = [answer.value for answer in found.values()]
        assert None not in threads
        assert len(set(threads)) <= AT_ONCE < len(NAMES)


@pytest.mark.parametrize(("works", "wait"), [(0, 0.1), (1, 60.0)])
def test_what_no_thread_can_be_started_for_is_asked_when_one_can(
    monkeypatch: pytest.MonkeyPatch, works: int, wait: float
) -> None:
    """The operating system may bound the threads of a process: "can't start new thread"."""
    start, started = threading.Thread.start, list[threading.Thread]()

    def starts(thread: threading.Thread) -> None:
        if thread.name == answers.THREAD and len(started) >= works:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(answers, "WAIT", wait)
    asked, questions = Answers[str](3600.0), {name: partial(str, name) for name in NAMES}
    with monkeypatch.context() as few:
        few.setattr(threading.Thread, "start", starts)
        assert any(one.value is None for one in asked.of(questions).values()) == (not works)
    until(lambda: [one.value for one in asked.of(questions).values()] == NAMES)


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_a_full_garbage_collection_does_not_look_through_what_was_loaded(thawed: None) -> None:
    """It would hold all readers for 0.2 s (`tests/bench/bench_pages.py`)."""
    loaded = len(gc.get_objects())
    server.made()
    assert len(gc.get_objects()) < loaded / 10
