"""What pages look up is looked up once a second for all readers."""

from __future__ import annotations

import pytest

from mqops_airflow.pages import shared


def test_who_asks_within_a_second_gets_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    @shared.shared
    def answer(name: str) -> int:
        asked.append(name)
        if name == "none":
            raise ValueError(name)
        return len(asked)

    monkeypatch.setattr(shared, "KEPT", 3600.0)
    assert [answer("a"), answer("b"), answer("a"), answer("b")] == [1, 2, 1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="none"):
            answer("none")
    assert asked == ["a", "b", "none", "none"]
    monkeypatch.setattr(shared, "KEPT", 0.0)
    assert (answer("a"), asked[4:]) == (5, ["a"])
