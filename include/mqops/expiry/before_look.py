"""What a snapshot or the pass of a workflow lets the queue manager discard, told before it browses, where the estate
says from how many messages on (`expiry_scan.tell_from`).

1. It is told of dead-letter, backout and storage queues, by what the last scan for expired messages taught. Nothing is
   asked of the queue manager, and nobody is asked: the workflow goes on.
2. A message is told of once: LAKE/<queue manager>/expiry/told_before.json says until when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from mqops.clock import utc
from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.expiry.core.first_tell import AtStake
from mqops.expiry.core.histogram import QUARTER
from mqops.expiry.record import known, seen, seen_json
from mqops.lake.files import make_folder, write_json
from mqops.lake.run import folder_of
from mqops.lake.run_file import Checked
from mqops.storage import estate_here


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldBefore:
    """Parameters: `until` queue → the time until which it was told what expires there, ISO 8601 UTC."""

    until: Mapping[str, str] = field(default_factory=dict)


_TOLD = Checked(ToldBefore)


def told_before_look(
    lake: Path, queue_manager: str, queues: Collection[str], file: EstateFile | None = None
) -> tuple[str, ...]:
    """A sentence for each of the queues on which so much has expired, or does within a quarter of an hour; a sentence
    that it cannot be told where a file cannot be read or written: nothing waits for a hint.

    Parameters: `file` the estate, None for that of `estate_here`.
    """
    try:
        return _told(lake, queue_manager, queues, file)
    except MqopsError as error:
        return (f"What expires before it is browsed cannot be told: {error}",)


def _told(lake: Path, queue_manager: str, queues: Collection[str], file: EstateFile | None) -> tuple[str, ...]:
    """As of `told_before_look`. Raises `LakeError`, `SettingsError`."""
    folder = folder_of(lake, queue_manager)
    if not seen_json(folder).exists():
        return ()  # no scan has taught anything, and the estate need not be read
    file = file or estate_here()
    settings = file.estate.queue_managers.get(queue_manager) if file else None
    least = settings.expiry_scan.tell_from if settings and settings.expiry_scan else None
    if least is None:
        return ()
    path, until = folder / "expiry" / "told_before.json", utc() + timedelta(seconds=QUARTER)
    before = _TOLD.read(path) if path.exists() else ToldBefore()
    told = tuple(one for one in _at_stake(folder, queues, before, until) if one.due.messages >= least)
    if told:
        make_folder(path.parent)
        news = dict.fromkeys((one.queue for one in told), until.isoformat())
        write_json(path, asdict(ToldBefore(until={**before.until, **news})))
    return tuple(one.sentence() for one in told)


def _at_stake(folder: Path, queues: Collection[str], before: ToldBefore, until: datetime) -> Iterator[AtStake]:
    """What is due on the queues that wait for a person. Parameters: `folder` LAKE/<queue manager>."""
    taught = known(folder)
    for queue in seen(folder).queues:
        one = taught.get(queue.name)
        if queue.name in queues and queue.kind.waits and one and one.histogram:
            at = before.until.get(queue.name)
            due = one.histogram.until(until, since=datetime.fromisoformat(at) if at else None)
            yield AtStake(queue=queue.name, kind=queue.kind, due=due)
