"""Retry counts for deciding: counted from the ledger, kept in RUN/tries.jsonl beside the snapshot they belong to.

A line of the file is `{"format": ..., "msg_key": ..., "tries": {rule key: number}}`, one for each message that has
failed before.
Tries are those of a whole MQ group, whose messages go together: each of it has had as many as the one that had most,
also one that joined the others later. Else the table would send them to different places, and none would ever move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mqops.lake.files import write_json_lines
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.core.tries import Tries, count_tries
from mqops.ledger.file import LedgerFile
from mqops.observe.core.columns import BOUND


def current(ledger: LedgerFile, ids: Iterable[str]) -> Tries:
    """The failed tries of messages of a queue manager: msg_key → rule key → number. Those of others may be among them.

    Parameters: `ids` MsgIds (hex) of the messages. Exact however many instances are at work: it counts the ledger.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """
    return count_tries(ledger.of_messages(ids, MarkerKind.FAILED))


def message_ids(snapshot: Path) -> Iterator[str]:
    """The MsgId (hex) of each message of a snapshot, batch by batch. Raises `LakeError`."""
    for batch in read_parquet(snapshot, ["msg_id"]):
        yield from (one.hex() for one in batch.column("msg_id").to_pylist())


def write(run: RunFolder, ledger: LedgerFile) -> int:
    """Write RUN/tries.jsonl for the messages of the run's snapshot; gives the number of lines. Raises as `current`."""
    tries = current(ledger, message_ids(run.snapshot))
    here: set[str] = set()
    groups: dict[tuple[str, bytes], set[str]] = {}
    columns = ("msg_key", "queue", "group_id", "msg_flags")
    for batch in read_parquet(run.snapshot, columns) if tries else ():
        for key, queue, group_id, flags in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            if key in tries:
                here.add(key)
            if flags & BOUND:
                groups.setdefault((queue, group_id), set()).add(key)
    counted = {key: tries[key] for key in here} | _of_groups(groups.values(), tries)
    return write_json_lines(run.tries, ({"msg_key": key, "tries": counted[key]} for key in sorted(counted)))


def _of_groups(groups: Iterable[Iterable[str]], tries: Mapping[str, Mapping[str, int]]) -> Tries:
    """The tries of the messages of MQ groups, of those that have had any. Parameters: `groups` the msg_keys of each."""
    found: Tries = {}
    for keys in groups:
        most: dict[str, int] = {}
        for key in keys:
            for rule, number in tries.get(key, {}).items():
                most[rule] = max(most.get(rule, 0), number)
        if most:
            found.update(dict.fromkeys(keys, most))
    return found
