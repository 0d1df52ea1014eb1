"""Whether the ledger is what was written."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.command import command
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency


def ledger(known: Known) -> Iterator[Problem]:
    """That it does not verify."""
    if known.ledger is not None and known.ledger.found.error:
        verify = command("mqops", "ledger", "verify", known.name)
        yield Problem(
            what=f"The ledger does not verify, so nothing may act: {known.ledger.found.error}",
            remedy=f"Restore it from a copy, and check it with `{verify}`",
            urgency=Urgency.NOW,
            place=Place.ACCOUNTED,
        )
