"""What a load is about (`mqops.message_file`): RUN/load.json."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What a run loads.

    Parameters: `messages` the digest of the file's messages in their order; `queue` they are put on; `file` its name;
    `earlier` the digests of the plans of loads of the same messages on the same queue that had been begun when this one
    was planned.
    """

    messages: str
    queue: str
    file: str
    earlier: Set[str]


def write_load_record(run: RunFolder, loads: Loads) -> None:
    """Write the record into the run's folder. Raises `LakeError`."""
    about = {"messages": loads.messages, "queue": loads.queue, "file": loads.file, "earlier": sorted(loads.earlier)}
    write_json(run.load_json, about)


def read_load_record(run: RunFolder) -> Loads | None:
    """What a run loads; None if the run is not a load. Raises `LakeError`."""
    if not run.load_json.exists():
        return None
    about = read_json(run.load_json)
    return Loads(**(about | {"earlier": frozenset(about["earlier"])}))
