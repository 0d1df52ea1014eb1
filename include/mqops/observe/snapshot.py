"""A snapshot in the lake: its Parquet files are made durable, then summarised in observe.json."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pyarrow.compute as pc

from mqops.clock import utc_now
from mqops.errors import SettingsError
from mqops.lake.files import make_durable
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.model import ObserveSummary
from mqops.observe import anatomy, replays, tries
from mqops.observe.anatomy import AnatomyCounter
from mqops.observe.core.expired import Expired
from mqops.observe.recorded import OBSERVED


def find(path: Path) -> tuple[RunFolder | None, Path]:
    """The run of a recorded snapshot, None if the lake has none for it, and the folder of its Parquet files.

    Parameters: `path` a run's folder, the snapshot folder of a run, or any folder of a snapshot's Parquet files.

    Raises:
        SettingsError: there is no snapshot.
    """
    run = RunFolder(path.parent if path.name == "snapshot" else path)
    recorded = OBSERVED.exists(run)
    folder = run.snapshot if recorded else path
    if not folder.is_dir() or not any(folder.glob("*.parquet")):
        raise SettingsError(f"There is no snapshot in {path}: name a run's folder, or one of Parquet files")
    return (run if recorded else None), folder


def has_queue(folder: Path, queue: str) -> bool:
    """Whether the snapshot in this folder has a message of a queue. Raises `LakeError`."""
    return any(pc.any(pc.equal(batch.column("queue"), queue)).as_py() for batch in read_parquet(folder, ["queue"]))


def queues_recorded(folder: Path, names: Iterable[str]) -> tuple[str, ...]:
    """The names, and for each beginning and `*` the queues of the snapshot that have it, in order, each once. Queues
    `SYSTEM.*` and `MQOPS.*` are meant only by patterns that begin so, as on a queue manager.

    Raises:
        LakeError: the snapshot cannot be read.
        SettingsError: a pattern fits no queue of it.
    """
    found: dict[str, None] = {}
    there: list[str] | None = None
    for name in names:
        if not name.endswith("*"):
            found[name] = None
            continue
        there = there if there is not None else sorted(_queues_of(folder))
        own = tuple(one for one in ("SYSTEM.", "MQOPS.") if not name.startswith(one))
        fits = [one for one in there if one.startswith(name[:-1]) and not one.startswith(own)]
        if not fits:
            has = f"it has {', '.join(there)}" if there else "it has no message"
            raise SettingsError(f"The snapshot has no queue whose name fits {name}: {has}")
        found |= dict.fromkeys(fits)
    return tuple(found)


def _queues_of(folder: Path) -> set[str]:
    return {str(one) for batch in read_parquet(folder, ["queue"]) for one in batch.column("queue").unique().to_pylist()}


def begin(run: RunFolder) -> None:
    """Make the run's folder for a new snapshot.

    Raises:
        SettingsError: the run has a finished snapshot, which is never overwritten.
        LakeError: the folder cannot be made.
    """
    run.create()
    if OBSERVED.exists(run):
        raise SettingsError(f"Run {run.run} has a snapshot already; a new snapshot needs a new run")


def finish(
    run: RunFolder,
    queue_manager: str,
    queues: Sequence[str],
    observed_at: str,
    *,
    whole: bool = True,
    expired: Mapping[str, Expired] = MappingProxyType({}),
    gone: Collection[str] = (),
    settled: Collection[str] = (),
    ledger: LedgerFile,
    unseen: Callable[[str], str] = lambda _queue: "",
    base: Callable[[str], str] = lambda queue: queue,
) -> ObserveSummary:
    """Make the snapshot durable, count its messages and their earlier tries, and write observe.json.

    Parameters: `whole` whether the snapshot has every message of its queues; only then its anatomy is recorded;
    `expired` queue → what the queue manager discarded meanwhile; `gone` queues that have ended; `settled` those without
    uncommitted messages; `ledger` the open one; `unseen` why a browse got nothing from a queue, asked of those alone;
    `base` the queue that a name stands for.

    Raises:
        LakeError: the disk refused.
    """
    ended_at = utc_now()
    files = make_durable(run.snapshot)
    counter = AnatomyCounter(queue_manager, queues, observed_at, run.run)
    for batch in read_parquet(run.snapshot, anatomy.COLUMNS):
        counter.add(batch)
    there = [one for one in counter.observed() if one.messages or one.queue not in gone]
    bases = {queue: behind for queue in queues if queue not in gone and (behind := base(queue)) != queue}
    observed = tuple(
        replace(
            one,
            expired=lost.messages,
            expired_exact=lost.exact,
            unseen="" if one.messages else unseen(one.queue),
            base=bases.get(one.queue, ""),
        )
        for one in there
        for lost in [expired.get(one.queue, Expired())]
    )
    summary = ObserveSummary(
        run=run.run,
        queue_manager=queue_manager,
        observed_at=observed_at,
        ended_at=ended_at,
        messages=sum(queue.messages for queue in observed),
        bytes=sum(queue.bytes for queue in observed),
        queues=observed,
        files=files,
        whole=whole,
        gone=tuple(gone),
        settled=tuple(queue for queue in queues if queue in settled),
    )
    tries.write(run, ledger)
    if (run.path / "backout.json").exists():
        replays.write(run, ledger)
    elif whole:
        anatomy.write(run, counter)
    OBSERVED.write(run, summary)
    return summary
