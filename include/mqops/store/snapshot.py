"""A snapshot in the lake: made durable, then summarised in observe.json. Whoever wrote the Parquet files."""

from __future__ import annotations

from collections.abc import Sequence

from mqops.errors import SettingsError
from mqops.model import ObserveSummary, QueueObserved
from mqops.store import replays, tries
from mqops.store.arrow import read_parquet
from mqops.store.files import make_durable, write_json
from mqops.store.run import RunFolder

_COLUMNS = ["queue", "body_length", "dlh_error", "put_date", "put_time"]


def begin(run: RunFolder) -> None:
    """Make the run's folder for a new snapshot.

    Raises:
        SettingsError: the run has a finished snapshot, which is never overwritten.
        LakeError: the folder cannot be made.
    """
    run.create()
    if run.observe_json.exists():
        raise SettingsError(f"Run {run.run} has its snapshot already; a new snapshot needs a new run")


def finish(run: RunFolder, queue_manager: str, queues: Sequence[str], observed_at: str) -> ObserveSummary:
    """Bring the snapshot to disk, count its messages' earlier tries, say so in observe.json. Raises `LakeError`."""
    files = make_durable(run.snapshot)
    observed = _count(run, queues)
    summary = ObserveSummary(
        run=run.run,
        queue_manager=queue_manager,
        observed_at=observed_at,
        messages=sum(queue.messages for queue in observed),
        bytes=sum(queue.bytes for queue in observed),
        queues=observed,
        files=files,
    )
    tries.write(run)
    if run.backout_json.exists():
        replays.write(run)
    write_json(run.observe_json, summary.to_json())
    return summary


def _count(run: RunFolder, queues: Sequence[str]) -> tuple[QueueObserved, ...]:
    counts = {queue: [0, 0, 0] for queue in queues}
    oldest = dict.fromkeys(queues, "")
    for batch in read_parquet(run.snapshot, _COLUMNS):
        for queue, length, dlh_error, put_date, put_time in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            count = counts[queue]
            count[0] += 1
            count[1] += length
            count[2] += dlh_error is None
            put = put_date + put_time
            if put and (not oldest[queue] or put < oldest[queue]):
                oldest[queue] = put
    return tuple(
        QueueObserved(queue=queue, messages=n, bytes=size, with_dlh=dlh, without_dlh=n - dlh, oldest=oldest[queue])
        for queue, (n, size, dlh) in counts.items()
    )
