"""What expires on the queues of a queue manager before the morning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqops.clock import utc, utc_now
from mqops.expiry.core.candidates import Known as Scanned
from mqops.look.core.expires import Expires, QueueForecast, expires
from mqops.look.estate.problem import tried
from mqops.look.expiry_forecast import MORNING, Forecast, forecast, next_time
from mqops.look.figures import QueueFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiring:
    """What expires before the morning. Parameters: `at` when it was counted, ISO 8601 UTC; `queues` that a run has
    recorded → as its snapshot has them; `removed` queue → the run because of which it is not counted, as of `Forecast`;
    `problem` why it cannot be told, in words."""

    at: str = ""
    queues: Mapping[str, QueueForecast] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def expiring_now(lake: Path, name: str) -> Expiring:
    """What expires before the morning, by the newest snapshot of each queue. It takes long where runs have taken many
    messages since: nobody should wait for it."""
    now = utc()

    def counted_now() -> Forecast | None:
        return forecast(lake, name, now=now, limit=next_time(now, MORNING))

    found, failed = tried("What expires cannot be told", counted_now, None)
    return Expiring(
        at=utc_now(),
        queues={one.queue: one for one in found.queues} if found else {},
        removed=found.removed if found else {},
        problem=failed[0].text if failed else "",
    )


def expires_of(queue: QueueFigures, scan: Scanned | None, expiring: Expiring | None) -> Expires:
    """What is known of a queue. Parameters: `scan` what the last scan for expired messages taught of it."""
    if expiring is None or expiring.problem:
        return Expires(why="see the problem" if expiring else "it is being counted")
    recorded, limit = expiring.queues.get(queue.name), next_time(utc(), MORNING)
    removed = queue.name in expiring.removed
    return expires(queue.depth, recorded, scan, queue.last_put, limit=limit, removed=removed)
