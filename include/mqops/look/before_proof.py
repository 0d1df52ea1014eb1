"""Whether figures of a queue manager are of before its newest proof: a run may have moved messages since.

One time of a file tells it, so that every page may ask, however many queue managers it shows. The list is also written
where a segment of the ledger is closed: then the queue manager is asked once more than it must be.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from mqops.clock import utc_now, utc_text
from mqops.errors import MqopsError
from mqops.lake.run import folder_of
from mqops.ledger.proofs import NAME
from mqops.ledger.segments import open_segment
from mqops.look.figures import Figures


def is_before_proof(lake: Path, queue_manager: str, figures: Figures) -> bool:
    """Whether a queue manager that answers has given its figures before the newest proof. A proof that is later than
    now by our clock is another clock's, and says nothing; a lake that cannot be read has no proof, and what shows the
    queue manager tells why."""
    if figures.unreachable or not figures.seen_at:
        return False
    try:
        noted = open_segment(folder_of(lake, queue_manager)).with_name(NAME).stat().st_mtime
    except (MqopsError, OSError):
        return False
    return figures.seen_at <= utc_text(datetime.fromtimestamp(noted, UTC)) <= utc_now()
