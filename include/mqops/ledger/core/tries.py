"""Retry counts (D02, D03): how often a rule has failed for a message, counted from the failed markers."""

from __future__ import annotations

from collections.abc import Iterable

from mqops.ledger.core.marker import Marker, MarkerKind

Tries = dict[str, dict[str, int]]
"""msg_key → rule key → failed tries."""


def count_tries(markers: Iterable[Marker]) -> Tries:
    """Add up the failed tries of all runs; markers of other kinds are passed over."""
    tries: Tries = {}
    for marker in markers:
        if marker.kind != MarkerKind.FAILED:
            continue
        for row in marker.rows:
            of_message = tries.setdefault(row.msg_key, {})
            of_message[row.rule_key] = of_message.get(row.rule_key, 0) + 1
    return tries
