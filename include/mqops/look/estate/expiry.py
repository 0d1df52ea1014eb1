"""Whether it can be told what expires before the morning."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Problem


def expiry(known: Known) -> Iterator[Problem]:
    """That it cannot."""
    if known.expiring and known.expiring.problem:
        yield Problem(what=known.expiring.problem)
