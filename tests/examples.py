"""How many examples tests try; examples that are the same ones in every run, for tests that need them all at once."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

TIMES = int(os.environ.get("MQOPS_EXAMPLES", "1"))
"""Times as many examples as `make test` tries: each run tries others (`make full`: 20)."""


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
