"""RUN/preflight.json, and what a plan's rows say of it: what is put where, and which messages are there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from mqops.actions import SENDS, Action
from mqops.decide import backout_setting as backout
from mqops.decide.arrow import read_plan
from mqops.decide.core.preflight import Demand, Preflight
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.file import LedgerFile
from mqwire.constants import MQDLH_LENGTH_1


class PutRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that say what a row puts where."""

    action: Action
    dest_q: str
    dest_q_mgr: str
    body_length: int
    dlh_reason: int | None
    msg_key: str
    header: bool
    alternate_user: str
    msg_id: bytes


class BodyRow(NamedTuple):
    """The columns that say which message a row puts, to the last byte of its body."""

    action: Action
    msg_id: bytes
    body_sha256: bytes


Putting = TypeVar("Putting", PutRow, BodyRow)


PREFLIGHT = RunFile("preflight.json", Preflight)
"""The pre-flight of a run, where one was made."""


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
    for row in _put_rows(run, PutRow):
        stripped = (row.action is Action.RETRY or not row.header) and (row.dlh_reason or row.msg_key not in headless)
        size = row.body_length - MQDLH_LENGTH_1 if stripped else row.body_length
        if row.action is Action.DEADLETTER:
            size = row.body_length + MQDLH_LENGTH_1
        one = sums.setdefault((row.dest_q, row.dest_q_mgr), _Sum())
        one.put_back = row.action.puts_back
        one.messages += 1
        one.bytes += size
        one.longest = max(one.longest, size)
        one.users.add(row.alternate_user)
        if any(row.msg_id):
            ids[row.msg_id.hex()] += 1
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
    if backout.read_setting(run) is None:
        return set()
    batches = read_parquet(run.snapshot, ["msg_key", "dlh_error"])
    return {row["msg_key"] for batch in batches for row in batch.to_pylist() if row["dlh_error"] is not None}


def alike(run: RunFolder, ids: Collection[str]) -> int:
    """How many rows that put have the MsgId and, to the last byte, the body of another. Raises `LakeError`.

    Parameters: `ids` MsgIds (hex) that are there more than once.
    """
    seen: Counter[tuple[str, bytes]] = Counter()
    for row in _put_rows(run, BodyRow):
        if (msg_id := row.msg_id.hex()) in ids:
            seen[msg_id, row.body_sha256] += 1
    return sum(number for number in seen.values() if number > 1)


def put_before(ledger: LedgerFile, ids: Collection[str]) -> set[str]:
    """Those of these MsgIds (hex) that earlier runs put on a queue, but for what an undo took back from there.

    Raises:
        LakeError: the ledger cannot be read.
        LedgerBroken: a line is not readable.
    """
    found: set[str] = set()
    for marker in ledger.of_messages(ids, MarkerKind.ACTED):
        for row in marker.rows:
            msg_id, action = row.msg_id, row.action
            if action in SENDS and msg_id in ids:
                found.add(msg_id)
            elif action in {Action.RETURN, Action.WITHDRAW}:
                found.discard(msg_id)
    return found


def _put_rows(run: RunFolder, kind: type[Putting]) -> Iterator[Putting]:
    """The rows that put a message."""
    return (row for row in read_plan(run.plan, kind) if row.action.acts and not row.action.discards)
