"""What the estate says of triggering on a queue manager. It is read in `named_in_estate` only."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.estate_sections import startable
from mqops.storage import estate_here


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInEstate:
    """Names: `initiation_queues` that mqops's trigger monitor serves; `dags` that a trigger message may start."""

    initiation_queues: tuple[str, ...] = ()
    dags: tuple[str, ...] = ()


def named_in_estate(queue_manager: str) -> NamedInEstate:
    """What the estate names for a queue manager; nothing where there is no estate file, or none for this one.

    Raises:
        SettingsError: what the estate file has for it is not valid.
    """
    file = estate_here()
    settings = file.whole(queue_manager) if file else None
    if settings is None or settings.trigger_monitor is None:
        return NamedInEstate()
    return NamedInEstate(initiation_queues=settings.trigger_monitor.queues, dags=startable(queue_manager, settings))
