"""Retry counts for deciding: counted from the ledger, kept in RUN/tries.jsonl beside the snapshot they belong to.

A line of the file is `{"msg_key": ..., "tries": {rule key: number}}`, one for each message that has failed before.
"""

from __future__ import annotations

import json
from pathlib import Path

from mqops.ledger.tries import Tries, count_tries
from mqops.store.arrow import read_parquet
from mqops.store.files import write_bytes
from mqops.store.ledger import LedgerFile
from mqops.store.run import RunFolder


def current(lake_folder: Path) -> Tries:
    """The failed tries of every message that ever failed on a queue manager: msg_key → rule key → number.

    Parameters: `lake_folder` LAKE/<queue manager>. Exact however many instances are at work: it counts the ledger.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """
    return count_tries(LedgerFile(lake_folder, str).markers(kind="failed"))


def write(run: RunFolder) -> int:
    """Write RUN/tries.jsonl for the messages of the run's snapshot; gives the number of lines. Raises as `current`."""
    tries = current(run.lake_folder)
    here: set[str] = set()
    if tries:
        for batch in read_parquet(run.snapshot, ["msg_key"]):
            here.update(key for key in batch.column("msg_key").to_pylist() if key in tries)
    lines = [json.dumps({"msg_key": key, "tries": tries[key]}) for key in sorted(here)]
    write_bytes(run.tries, "".join(line + "\n" for line in lines).encode())
    return len(lines)
