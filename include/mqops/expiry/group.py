"""Shared queues: what the scan of one member of a queue-sharing group teaches counts for all members (E17).

1. A scan notes its queue manager's group, its EXPRYINT and the time in LAKE/<queue manager>/expiry/group.json.
2. Of a shared queue the newest scan counts, whichever member made it. So one member scans it: the first whose scan
   comes. The others find nothing to do, until there is something to do again.
3. Scans on a schedule leave a shared queue to the member that scanned it last, as long as that one looks for
   candidates: it is its scanner. If it has not done so for `MISSED` intervals, as when its queue manager has ended, the
   next scan of another member takes over, and that one is the scanner.
4. A scan by hand scans what is worth it, whoever did before.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.expiry.core.candidates import Known, QueueNow, Scanner
from mqops.expiry.record import known
from mqops.lake.files import make_folder, write_json
from mqops.lake.run_file import Checked

MISSED = 2
"""Intervals of the scanner without a look, after which another member takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A queue manager and its queue-sharing group.

    Parameters: `expryint` its EXPRYINT in seconds, 0 for OFF, and `checked_at` when it looked for candidates last, ISO
    8601 UTC: None and blank in the record of an older version.
    """

    queue_manager: str
    group: str
    expryint: int | None = None
    checked_at: str = ""

    def looks(self, now: datetime, interval: timedelta) -> bool:
        """Whether it has looked for candidates lately. Parameters: `interval` of the scans."""
        return bool(self.checked_at) and now - datetime.fromisoformat(self.checked_at) < MISSED * interval


_MEMBER = Checked(Member)


def note_group(lake_folder: Path, member: Member) -> None:
    """Rule 1. Parameters: `lake_folder` LAKE/<queue manager>. Raises `LakeError`."""
    path = lake_folder / "expiry" / "group.json"
    make_folder(path.parent)
    write_json(path, asdict(member))


def members(lake: Path, group: str) -> Iterator[tuple[Member, Path]]:
    """The queue managers of a group that were scanned, each with its LAKE/<queue manager>. Raises `LakeError`."""
    for path in sorted(lake.glob("*/expiry/group.json")):
        noted = _MEMBER.read(path)
        if noted.group == group:
            yield noted, path.parents[1]


class Taught(NamedTuple):
    """Parameters: `known` queue → what its last scan taught; `by` shared queue → the member that made that scan."""

    known: dict[str, Known]
    by: dict[str, Member]


def known_by_all(
    own: Mapping[str, Known], folders: Iterable[tuple[Member, Path]], queues: Iterable[QueueNow]
) -> Taught:
    """Rule 2.

    Parameters: `own` what this queue manager's scans taught; `folders` all members with LAKE/<queue manager>.

    Raises:
        LakeError: what a scan taught cannot be read.
    """
    shared = {queue.name for queue in queues if queue.shared}
    found = Taught({name: one for name, one in own.items() if name not in shared}, {})
    for member, folder in folders if shared else ():
        for name, one in known(folder).items():
            if name in shared and (name not in found.by or one.scanned_at > found.known[name].scanned_at):
                found.known[name], found.by[name] = one, member
    return found


def left_to_others(
    taught: Taught, queue_manager: str, *, now: datetime, interval: timedelta | None
) -> dict[str, Member]:
    """Shared queue → its scanner, of those that have another one (rule 3). Parameters: `interval` of the scans of this
    queue manager, None for a scan by hand (rule 4)."""
    if interval is None:
        return {}
    others = {queue: one for queue, one in taught.by.items() if one.queue_manager != queue_manager}
    return {queue: one for queue, one in others.items() if one.looks(now, interval)}


def scanners(taught: Taught, shared: Iterable[str], queue_manager: str, scanned: Container[str]) -> tuple[Scanner, ...]:
    """Who scans each shared queue that anybody has scanned, or scans now. Parameters: `scanned` the queues that this
    queue manager scans now."""
    found = []
    for queue in sorted(shared):
        by = taught.by.get(queue)
        if queue in scanned:
            before = by.queue_manager if by and by.queue_manager != queue_manager else ""
            at = taught.known[queue].scanned_at if before else ""
            found.append(Scanner(queue=queue, queue_manager=queue_manager, before=before, at=at))
        elif by:
            found.append(Scanner(queue=queue, queue_manager=by.queue_manager))
    return tuple(found)
