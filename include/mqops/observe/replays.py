"""Earlier replays of a snapshot's messages: counted from the ledger, kept in RUN/replays.jsonl beside the snapshot.

A line of the file is `{"msg_key": ..., "replays": number, "puts": number}`, one for each message that was put before:
how often backout reprocessing put that very message back, and in how many runs of any workflow one with its MsgId was
put.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mqops.lake.files import lake_errors, write_bytes
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import BODY_DIGITS, Marker
from mqops.ledger.core.replays import put_in_runs, replay_key, replays
from mqops.ledger.file import LedgerFile
from mqops.observe.message_ids import message_ids

_COLUMNS = ["msg_key", "msg_id", "body_sha256"]


def of_snapshot(run: RunFolder, ledger: LedgerFile) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Replay key → replays so far, and MsgId (hex) → runs that put one with it, of the messages of a run's snapshot;
    those of others may be among them.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """

    def acted() -> Iterator[Marker]:
        return ledger.of_messages(message_ids(run.snapshot), "acted")

    plans = dict.fromkeys(PlanIdentity(run=marker.run, digest=marker.plan) for marker in acted())
    if not plans:
        return {}, {}
    issued = (marker for plan in plans for marker in ledger.markers(plan=plan, kind="issued"))
    return replays(issued, acted()), put_in_runs(acted())


def write(run: RunFolder, ledger: LedgerFile) -> int:
    """Write RUN/replays.jsonl for the messages of the run's snapshot; gives the number of lines.

    Raises as `of_snapshot`.
    """
    counted, puts = of_snapshot(run, ledger)
    here: dict[str, tuple[int, int]] = {}
    if counted or puts:
        for batch in read_parquet(run.snapshot, _COLUMNS):
            for key, msg_id, digest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number = counted.get(replay_key(msg_id.hex(), digest.hex()[:BODY_DIGITS]), 0)
                if any(found := (number, puts.get(msg_id.hex(), 0))):
                    here[key] = found
    lines = [json.dumps({"msg_key": key, "replays": here[key][0], "puts": here[key][1]}) for key in sorted(here)]
    write_bytes(run.replays, "".join(line + "\n" for line in lines).encode())
    return len(lines)


def read(run: RunFolder) -> dict[str, int]:
    """Read RUN/replays.jsonl: msg_key → number of replays; empty if there is no such file. Raises `LakeError`."""
    return _read(run, "replays")


def puts_before(run: RunFolder) -> dict[str, int]:
    """msg_key → runs that put a message with its MsgId, as counted when it was first asked for.

    Raises as `of_snapshot`.
    """
    count_once(run)
    return _read(run, "puts")


def count_once(run: RunFolder) -> None:
    """Write RUN/replays.jsonl if it is missing. Raises as `of_snapshot`."""
    if not run.replays.exists():
        write(run, LedgerFile(run.lake_folder))


def _read(run: RunFolder, what: str) -> dict[str, int]:
    if not run.replays.exists():
        return {}
    with lake_errors(run.replays):
        text = run.replays.read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {row["msg_key"]: int(row[what]) for row in rows if row.get(what)}
