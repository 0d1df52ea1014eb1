"""What scans for expired messages taught, per queue manager: LAKE/<queue manager>/expiry/queues.json."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import filelock

from mqops.expiry.core.candidates import Known, QueueNow
from mqops.expiry.core.outcome import ExpirySummary, QueueScan
from mqops.lake.files import FILE_MODE, lake_errors, make_folder, write_json
from mqops.lake.run_file import Checked, RunFile

SCANNED = RunFile("expiry.json", ExpirySummary)
_KNOWN = Checked(dict[str, Known])


def known(lake_folder: Path) -> dict[str, Known]:
    """Queue → what its last scan taught.

    Parameters: `lake_folder` LAKE/<queue manager>.

    Raises:
        LakeError: the file cannot be read.
    """
    path = _path(lake_folder)
    return dict(_KNOWN.read(path)) if path.exists() else {}


def learn(lake_folder: Path, scans: Iterable[QueueScan]) -> None:
    """Add what these scans teach; other queues keep theirs. Raises `LakeError`."""
    path = _path(lake_folder)
    make_folder(path.parent)
    with lake_errors(path), filelock.FileLock(path.with_suffix(".lock"), mode=FILE_MODE):
        learned = known(lake_folder)
        for scan in scans:
            learned[scan.queue] = scan.known().after(learned.get(scan.queue), discarded=scan.discarded)
        write_json(path, {name: asdict(learned[name]) for name in sorted(learned)})


def forget_others(lake_folder: Path, there: Collection[str]) -> None:
    """Forget the queues that are not there any more, so that the file does not grow with each dynamic queue.

    Raises `LakeError`.
    """
    path = _path(lake_folder)
    if known(lake_folder).keys() <= set(there):
        return
    with lake_errors(path), filelock.FileLock(path.with_suffix(".lock"), mode=FILE_MODE):
        write_json(path, {name: asdict(one) for name, one in known(lake_folder).items() if name in there})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a check saw. Parameters: `queues` those with messages; `group` the queue-sharing group, blank for none."""

    queues: tuple[QueueNow, ...] = ()
    group: str = ""


_SEEN = Checked(Seen)


def note_seen(lake_folder: Path, queues: Iterable[QueueNow], group: str) -> None:
    """Keep what a check saw for the forecast of its run, in LAKE/<queue manager>/expiry/seen.json, in place of what the
    last one saw. Raises `LakeError`."""
    path = seen_json(lake_folder)
    make_folder(path.parent)
    write_json(path, asdict(Seen(queues=tuple(queue for queue in queues if queue.depth), group=group)))


def seen(lake_folder: Path) -> Seen:
    """What the last check saw; nothing where there was none. Raises `LakeError`."""
    path = seen_json(lake_folder)
    return _SEEN.read(path) if path.exists() else Seen()


def seen_json(lake_folder: Path) -> Path:
    """The file of what the last check saw; there is none before the first. Parameters: as of `known`."""
    return _path(lake_folder).with_name("seen.json")


def _path(lake_folder: Path) -> Path:
    return lake_folder / "expiry" / "queues.json"
