"""Earlier replays of a snapshot's messages: counted from the ledger, kept in RUN/replays.jsonl beside the snapshot.

A line of the file is `{"msg_key": ..., "replays": number, "puts": number, "last": time}`, one for each message that was
put before: how often backout reprocessing put that very message back, in how many runs of any workflow one with its
MsgId was put, and when the last of them did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mqops.lake.files import read_json_lines, write_json_lines
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import BODY_DIGITS, Marker, MarkerKind
from mqops.ledger.core.replays import PutBefore, put_in_runs, replay_key, replays, undone_plans
from mqops.ledger.file import LedgerFile
from mqops.observe.tries import message_ids

_COLUMNS = ["msg_key", "msg_id", "body_sha256"]
_NOT_PUT = PutBefore(0, "")


def of_snapshot(run: RunFolder, ledger: LedgerFile) -> tuple[Mapping[str, int], Mapping[str, PutBefore]]:
    """Replay key → replays so far, and MsgId (hex) → the runs that put one with it, of the messages of a run's
    snapshot; those of others may be among them.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """

    def acted() -> Iterator[Marker]:
        return ledger.of_messages(message_ids(run.snapshot), MarkerKind.ACTED)

    plans = dict.fromkeys(PlanIdentity(run=marker.run, digest=marker.plan) for marker in acted())
    if not plans:
        return {}, {}
    issued = [marker for plan in plans for marker in ledger.markers(plan=plan, kind=MarkerKind.ISSUED)]
    return replays(issued, acted()), put_in_runs(acted(), undone_plans(issued))


def write(run: RunFolder, ledger: LedgerFile) -> int:
    """Write RUN/replays.jsonl for the messages of the run's snapshot; gives the number of lines.

    Raises as `of_snapshot`.
    """
    counted, puts = of_snapshot(run, ledger)
    here: dict[str, tuple[int, PutBefore]] = {}
    if counted or puts:
        for batch in read_parquet(run.snapshot, _COLUMNS):
            for key, msg_id, digest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number = counted.get(replay_key(msg_id.hex(), digest.hex()[:BODY_DIGITS]), 0)
                before = puts.get(msg_id.hex(), _NOT_PUT)
                if number or before.runs:
                    here[key] = (number, before)
    return write_json_lines(
        run.replays,
        (
            {"msg_key": key, "replays": number, "puts": before.runs, "last": before.last}
            for key, (number, before) in sorted(here.items())
        ),
    )


def read(run: RunFolder) -> dict[str, int]:
    """Read RUN/replays.jsonl: msg_key → number of replays; empty if there is no such file. Raises `LakeError`."""
    return {row["msg_key"]: int(row["replays"]) for row in _rows(run) if row.get("replays")}


def puts_before(run: RunFolder) -> dict[str, PutBefore]:
    """msg_key → runs that put a message with its MsgId, as counted when it was first asked for.

    Raises as `of_snapshot`.
    """
    count_once(run)
    return {row["msg_key"]: PutBefore(int(row["puts"]), row.get("last", "")) for row in _rows(run) if row.get("puts")}


def count_once(run: RunFolder) -> None:
    """Write RUN/replays.jsonl if it is missing. Raises as `of_snapshot`."""
    if not run.replays.exists():
        write(run, LedgerFile(run.lake_folder))


def _rows(run: RunFolder) -> Iterator[Any]:
    return read_json_lines(run.replays) if run.replays.exists() else iter(())
