"""What pages look up is looked up once a second for all readers; no reader waits for a full garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mqops_airflow.pages import server, shared


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


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_a_full_garbage_collection_does_not_look_through_what_was_loaded(thawed: None) -> None:
    """It would hold all readers for 0.2 s (`tests/bench/bench_pages.py`)."""
    loaded = len(gc.get_objects())
    server.made()
    assert len(gc.get_objects()) < loaded / 10
