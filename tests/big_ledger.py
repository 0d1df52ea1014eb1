"""A ledger as large as one likes: runs of 200 messages, each message moved once, as the dead-letter rules do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerRow
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of

UNIT = 200
"""Messages of a unit of work."""
AT = "2026-01-01T00:00:00+00:00"


def msg_id(number: int) -> str:
    """The MsgId of a message, as a queue manager makes them: its name, and a number that grows."""
    return (b"AMQ QM1         " + number.to_bytes(8, "big")).hex()


def plan(number: int, named: str = "old-{:07}") -> PlanIdentity:
    return PlanIdentity(run=named.format(number), digest=hashlib.sha256(b"%d" % number).hexdigest())


def markers(messages: int, unit: int = UNIT, named: str = "old-{:07}") -> Iterator[Marker]:
    """The lines of these messages, one run a unit of work."""
    for run, numbers in enumerate(range(first, min(first + unit, messages)) for first in range(0, messages, unit)):
        mine = plan(run, named)
        of_run = {"run": mine.run, "plan": mine.digest, "at": AT}
        about = {
            "workflow": "dlq_rules",
            "queue": "DEAD.LETTERS",
            "requested_by": "night@ops",
            "table_digest": "ab" * 32,
        }
        yield Marker(unit=mine.issued_id().hex(), kind="issued", lanes=(len(numbers),), about=about, **of_run)
        rows = tuple(
            MarkerRow(
                row,
                hashlib.sha256(b"%d" % one).hexdigest(),
                msg_id(one),
                "FWD",
                "1a2b3c",
                "PAY.IN",
                "",
                None,
                "ab" * 16,
            )
            for row, one in enumerate(numbers)
        )
        first = {"first": 0, "next": len(rows), "last": True}
        yield Marker(unit=mine.last_id(0).hex(), kind="acted", rows=rows, **first, **of_run)


def make_ledger(
    lake_folder: Path,
    messages: int,
    *,
    unit: int = UNIT,
    at_once: int = 100,
    segment_size: int = 0,
    named: str = "old-{:07}",
) -> LedgerFile:
    """Record so many messages of so many runs that are gone. Parameters: `at_once` lines that are added at once;
    `segment_size` as of `LedgerFile`; `named` the keys of the runs."""
    file = LedgerFile(lake_folder, lambda: AT, segment_size=segment_size)
    with writer_of(file) as writer:
        lines = markers(messages, unit, named)
        while some := list(islice(lines, at_once)):
            writer.add(some)
    return file
