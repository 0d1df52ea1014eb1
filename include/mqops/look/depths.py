"""How many messages queues had over the last day, as looks at their queue manager have seen it.

1. Each look that keeps its figures (`mqops.look.figures`) leaves a sample, where the newest one is 15 minutes old. None
   is older than 24 hours, and each has the deepest queues only: the file LAKE/<queue manager>/depths.json stays small.
2. Only depths are kept. Puts and gets are counted only where the estate asks for it (`mqops.observe.statistics`).
3. The file is a cache. It may be deleted; what cannot be read, or written, is done without.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from mqops.errors import LakeError
from mqops.lake.files import write_json
from mqops.lake.run_file import Checked
from mqops.observe.samples import MOST_SAMPLES, is_of_last_day, is_recent

FILE = "depths.json"
MOST = 200
"""Queues of a sample, the deepest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Parameters: `at` ISO 8601 UTC; `depths` queue → messages, of queues that had some; `whole` whether it has all of
    these."""

    at: str
    depths: Mapping[str, int]
    whole: bool = True

    def of(self, queue: str) -> int | None:
        """The messages of a queue; None where they are not known."""
        return self.depths.get(queue, 0 if self.whole else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Depths:
    """The samples, oldest first."""

    samples: tuple[Sample, ...] = ()


_DEPTHS = Checked(Depths)


def depths(lake_folder: Path, now: datetime) -> tuple[Sample, ...]:
    """The samples of the last day, oldest first. Parameters: `lake_folder` LAKE/<queue manager>."""
    path = lake_folder / FILE
    with suppress(LakeError):
        found = _DEPTHS.read(path).samples if path.exists() else ()
        return tuple(one for one in found if is_of_last_day(one.at, now))
    return ()


def note_depths(lake_folder: Path, at: str, found: Mapping[str, int]) -> None:
    """Leave a sample (rule 1). Parameters: `at` ISO 8601 UTC; `found` queue → messages. Raises `LakeError`."""
    now = datetime.fromisoformat(at)
    kept = depths(lake_folder, now)
    if kept and is_recent(kept[-1].at, now):
        return
    filled = sorted(((depth, queue) for queue, depth in found.items() if depth), reverse=True)
    sample = Sample(at=at, depths={queue: depth for depth, queue in filled[:MOST]}, whole=len(filled) <= MOST)
    write_json(lake_folder / FILE, asdict(Depths(samples=(*kept, sample)[-MOST_SAMPLES:])))
