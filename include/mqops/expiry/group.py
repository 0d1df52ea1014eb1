"""Shared queues: what the scan of one member of a queue-sharing group teaches counts for all members (E17).

1. A scan notes its queue manager's group in LAKE/<queue manager>/expiry/group.json.
2. Of a shared queue the newest scan counts, whichever member made it. So one member scans it: the first whose scan
   comes. The others find nothing to do, until there is something to do again.
3. If a member ends, the next scan of another one takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mqops.expiry.core.candidates import Known, QueueNow
from mqops.expiry.record import known
from mqops.lake.files import make_folder, write_json
from mqops.lake.run_file import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A queue manager and its queue-sharing group."""

    queue_manager: str
    group: str


_MEMBER = Checked(Member)


def note_group(lake_folder: Path, queue_manager: str, group: str) -> None:
    """Rule 1. Parameters: `lake_folder` LAKE/<queue manager>. Raises `LakeError`."""
    path = lake_folder / "expiry" / "group.json"
    make_folder(path.parent)
    write_json(path, asdict(Member(queue_manager=queue_manager, group=group)))


def members(lake: Path, group: str) -> Iterator[tuple[str, Path]]:
    """The queue managers of a group that were scanned, each with its LAKE/<queue manager>. Raises `LakeError`."""
    for path in sorted(lake.glob("*/expiry/group.json")):
        noted = _MEMBER.read(path)
        if noted.group == group:
            yield noted.queue_manager, path.parents[1]


def known_by_all(own: Mapping[str, Known], folders: Iterable[Path], queues: Iterable[QueueNow]) -> dict[str, Known]:
    """Rule 2: queue → what its last scan taught.

    Parameters: `own` what this queue manager's scans taught; `folders` LAKE/<queue manager> of all members.

    Raises:
        LakeError: what a scan taught cannot be read.
    """
    shared = {queue.name for queue in queues if queue.shared}
    found = {name: one for name, one in own.items() if name not in shared}
    for folder in folders:
        for name, one in known(folder).items():
            if name in shared and (name not in found or one.scanned_at > found[name].scanned_at):
                found[name] = one
    return found
