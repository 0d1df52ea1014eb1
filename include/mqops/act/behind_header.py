"""A message behind the MQDLH that the poison guard gives it: what is put, and what an undo looks for."""

from __future__ import annotations

from datetime import datetime

from mqops.act.report_sender import APPL_TYPE, APPLICATION
from mqops.backout.core.disposal import dead_letter_header, dead_lettered
from mqwire.structures import MQMD


def behind_header(
    md: bytes, body: bytes, *, reason: int, queue: str, queue_manager: str, at: datetime
) -> tuple[bytes, bytes]:
    """Descriptor and body as they are put on a dead-letter queue.

    Parameters: `reason` MQRC_* why it is not on its backout queue; `queue` and `queue_manager` it was taken from; `at`
    the time of the run's snapshot. That the MQDLH has this time, and not that of the put, makes its bytes known before:
    an undo takes exactly the message that was put.
    """
    header = dead_letter_header(
        MQMD.unpack(md),
        reason=reason,
        queue=queue,
        queue_manager=queue_manager,
        application=APPLICATION,
        appl_type=APPL_TYPE,
        at=at,
    )
    return dead_lettered(md, body, header)
