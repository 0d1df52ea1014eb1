"""What the estate has for the backout queues of a queue manager: the table of origins, queues that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.backout.core.origin_table import OriginRow
from mqops.storage import estate_here

if TYPE_CHECKING:
    from mqops.estate_workflows import BackoutReprocess


def origins_of(queue_manager: str) -> tuple[OriginRow, ...]:
    """The rows, none where no estate names the queue manager.

    Raises:
        SettingsError: what the estate has for its backout queues is not valid, or nothing of the file can be used.
    """
    file = estate_here()
    if file is None:
        return ()
    file.refuse_left_out(("queue_managers", queue_manager, "backout_reprocess"))
    found = file.queue_manager(queue_manager)
    section = found.backout_reprocess if found else None
    return rows_of(section) if section else ()


def gate_quarantines_of(queue_manager: str) -> tuple[str, ...]:
    """The queues that gates of its workflows name for messages. Raises as `EstateFile.queue_manager`."""
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    return found.gate_quarantines() if found else ()


def rows_of(section: BackoutReprocess) -> tuple[OriginRow, ...]:
    """The rows of a section."""
    return tuple(
        OriginRow(when=row.when, queue=row.queue, backout_queue=row.backout_queue or "") for row in section.origins
    )
