"""RUN/preflight.json, and what a plan's rows say of it: what is put where, and which messages are there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqops.actions import PUTS, RESTORE, RETURN
from mqops.decide import backout_setting as backout
from mqops.decide.core.preflight import Demand, Preflight
from mqops.lake.files import read_json, write_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqwire.constants import MQDLH_LENGTH_1

_COLUMNS = ("dest_q", "dest_q_mgr", "body_length", "dlh_reason", "msg_key", "header", "alternate_user", "msg_id")


def keep(run: RunFolder, found: Preflight) -> None:
    """Write it. Raises `LakeError`."""
    write_json(_file(run), found.to_json())


def kept(run: RunFolder) -> Preflight | None:
    """The pre-flight of a run, None where none was made. Raises `LakeError`."""
    return Preflight.from_json(read_json(_file(run))) if _file(run).exists() else None


def _file(run: RunFolder) -> Path:
    return run.path / "preflight.json"


@dataclass(slots=True)
class Puts:
    """The rows of a plan that put a message somewhere.

    Attributes: `demands` most messages first; `ids` MsgId (hex) → rows with it, without the MsgId of nothing but zeros.
    """

    demands: tuple[Demand, ...] = ()
    ids: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Sum:
    messages: int = 0
    bytes: int = 0
    longest: int = 0
    users: set[str] = field(default_factory=set)
    put_back: bool = False


def puts_of(run: RunFolder) -> Puts:
    """What a run's plan puts where. Raises `LakeError`."""
    sums: dict[tuple[str, str], _Sum] = {}
    ids: Counter[str] = Counter()
    headless = _headless(run)
    for action, queue, queue_manager, length, reason, key, header, user, msg_id in _put_rows(run, _COLUMNS):
        stripped = (action == "RETRY" or not header) and (reason or key not in headless)
        size = length - MQDLH_LENGTH_1 if stripped else length
        one = sums.setdefault((queue, queue_manager), _Sum())
        one.put_back = action in (RESTORE, RETURN)
        one.messages += 1
        one.bytes += size
        one.longest = max(one.longest, size)
        one.users.add(user)
        if any(msg_id):
            ids[msg_id.hex()] += 1
    demands = [
        Demand(
            queue=queue,
            queue_manager=queue_manager,
            messages=one.messages,
            bytes=one.bytes,
            longest=one.longest,
            users=tuple(sorted(one.users)),
            put_back=one.put_back,
        )
        for (queue, queue_manager), one in sums.items()
    ]
    return Puts(tuple(sorted(demands, key=lambda one: (-one.messages, one.name))), ids)


def _headless(run: RunFolder) -> set[str]:
    """The msg_key of each message of a backout run that has no MQDLH, but stand-ins (`mqops.backout.core.decision`)."""
    if backout.kept(run) is None:
        return set()
    batches = read_parquet(run.snapshot, ["msg_key", "dlh_error"])
    return {row["msg_key"] for batch in batches for row in batch.to_pylist() if row["dlh_error"] is not None}


def alike(run: RunFolder, ids: Collection[str]) -> int:
    """How many rows that put have the MsgId and, to the last byte, the body of another. Raises `LakeError`.

    Parameters: `ids` MsgIds (hex) that are there more than once.
    """
    seen: Counter[tuple[str, bytes]] = Counter()
    for _action, msg_id, digest in _put_rows(run, ("msg_id", "body_sha256")):
        if (name := msg_id.hex()) in ids:
            seen[name, digest] += 1
    return sum(number for number in seen.values() if number > 1)


def put_before(lake_folder: Path, ids: Collection[str]) -> set[str]:
    """Those of these MsgIds (hex) that earlier runs put on a queue, but for what an undo took back from there.

    Parameters: `lake_folder` LAKE/<queue manager>.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """
    found: set[str] = set()
    for marker in LedgerFile(lake_folder, str).markers(kind="acted"):
        for row in marker.rows:
            msg_id, action = row[2], row[3]
            if action in PUTS and msg_id in ids:
                found.add(msg_id)
            elif action == RETURN:
                found.discard(msg_id)
    return found


def _put_rows(run: RunFolder, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """(action, *columns) of the rows that put."""
    for batch in read_parquet(run.plan, ["action", *columns]):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if row[0] in (*PUTS, RESTORE, RETURN):
                yield row
