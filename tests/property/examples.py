"""Examples of a strategy, the same ones in every run, for tests that need them all at once."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy


def generated(strategy: SearchStrategy[Any], count: int) -> list[Any]:
    """So many examples."""
    found = []

    @given(strategy)
    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(example):
        found.append(example)

    collect()
    return found
