"""What the estate says of triggering on a queue manager. It is read in `named_in_estate` only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mqops.storage import estate_here


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInEstate:
    """Names: `initiation_queues` that mqops's trigger monitor serves; `dags` that a trigger message may start."""

    initiation_queues: tuple[str, ...] = ()
    dags: tuple[str, ...] = ()


def named_in_estate(queue_manager: str) -> NamedInEstate:
    """What the estate names for a queue manager; nothing where there is no estate file, or none for this one.

    Raises:
        SettingsError: the estate file is not valid.
    """
    file = estate_here()
    settings = file.estate.queue_managers.get(queue_manager) if file else None
    section: Any = getattr(settings, "trigger_monitor", None)
    if section is None:
        return NamedInEstate()
    return NamedInEstate(initiation_queues=tuple(section.initiation_queues), dags=tuple(section.dags))
