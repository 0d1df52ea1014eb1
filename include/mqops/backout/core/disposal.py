"""What becomes of a poisonous message (P08, P09, P13): the decision, and the bytes it is dead-lettered with.

1. BOTHRESH(0): nothing; the message stays on its queue and is delivered again.
2. BackoutCount at or above BOTHRESH: to BOQNAME, as it is, its context passed on.
3. No BOQNAME, or it is the queue itself, or the put there failed for whatever reason: discarded if its report options
   have MQRO_DISCARD_MSG, else to the queue manager's DEADQ with an MQDLH. The reason is the MQRC of the failed put, and
   MQRC_BACKOUT_THRESHOLD_REACHED (2362) where there was no backout queue to try.
4. In the cases of rule 3 the putter gets the exception report it asked for.
5. No DEADQ, or it does not take the message either: the message stays where it is. Nothing is ever lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.structures import MQDLH, MQMD, MQMD_LAYOUT

DLH_CCSID = 1208
"""The MQDLH's own text: object names, which every queue manager can read in it."""
BYTES_CCSID = 819
"""The MQDLH's own text where a name that came with a message is not valid in `DLH_CCSID`: any bytes are, in this."""

LastResort: TypeAlias = Literal["dead-lettered", "discarded"]

_describe = MQMD_LAYOUT.writer("encoding", "coded_char_set_id", "format")
_write_expiry = MQMD_LAYOUT.writer("expiry")
_read_expiry = MQMD_LAYOUT.reader("expiry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """BackoutThreshold and BackoutRequeueQName of the queue that is consumed.

    Attributes: `queue` its name, of the base queue if an alias is opened; `threshold` 0: there is none; `backout_queue`
    blank: there is none.
    """

    queue: str
    threshold: int
    backout_queue: str

    def reached(self, backout_count: int) -> bool:
        """Whether this BackoutCount is at or above the threshold: the message is not delivered (rules 1, 2)."""
        return 0 < self.threshold <= backout_count

    @property
    def requeue_to(self) -> str:
        """The backout queue; blank if there is none to put the message on (rule 3).

        A queue that names itself counts as unset: put there, the message would begin again with a BackoutCount of zero.
        """
        return "" if self.backout_queue == self.queue else self.backout_queue


def last_resort(report: int) -> LastResort:
    """What the report options say about a message that cannot go to its backout queue (rule 3)."""
    return "discarded" if report & c.MQRO_DISCARD_MSG else "dead-lettered"


def dead_letter_header(
    md: MQMD, *, reason: int, queue: str, queue_manager: str, application: str, appl_type: int, at: datetime
) -> MQDLH:
    """The MQDLH for a message that was consumed from `queue` (IBM MQ, "MQDLH - Dead-letter header").

    Parameters: `md` as got; `application` and `appl_type` (MQAT_*) of the program that dead-letters; `at` UTC.
    """
    return MQDLH(
        reason=reason,
        dest_q_name=queue,
        dest_q_mgr_name=queue_manager,
        encoding=md.encoding,
        coded_char_set_id=md.coded_char_set_id,
        format=md.format,
        put_appl_type=appl_type,
        put_appl_name=application.encode("utf-8", "replace")[-28:].decode("latin-1"),
        put_date=f"{at:%Y%m%d}",
        put_time=f"{at:%H%M%S}{at.microsecond // 10_000:02}",
    )


def dead_lettered(md: bytes, body: bytes, header: MQDLH) -> tuple[bytes, bytes]:
    """The message behind its MQDLH: descriptor bytes that say what follows now, nothing else changed.

    Names in the header are Latin-1, one character a byte, as `MQMD.unpack` gives them: their bytes stay as they were.
    """
    packed = header.pack(encoding=c.MQENC_NATIVE, ccsid=BYTES_CCSID)
    changed = bytearray(md)
    _describe(changed, c.MQENC_NATIVE, _ccsid_of(packed), c.MQFMT_DEAD_LETTER_HEADER.encode())
    return bytes(changed), packed + body


def _ccsid_of(header: bytes) -> int:
    try:
        MQDLH.unpack(header, ccsid=DLH_CCSID)
    except WireError:
        return BYTES_CCSID
    return DLH_CCSID


def aged(md: bytes, retained: int) -> bytes:
    """The descriptor with its remaining Expiry, in tenths of a second, less the time the program kept it (E11)."""
    (expiry,) = _read_expiry(md)
    if expiry == c.MQEI_UNLIMITED or retained <= 0:
        return bytes(md)
    changed = bytearray(md)
    _write_expiry(changed, max(1, expiry - retained))
    return bytes(changed)
