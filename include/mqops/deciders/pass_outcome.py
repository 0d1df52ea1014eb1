"""What a pass of the dead-letter queue handler left behind, by its plan and its ledger."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.act.canary import CAME_BACK, UNREAD
from mqops.act.canary import FAILED as CANARY_FAILED
from mqops.act.core.mover import BEHIND_FAILED
from mqops.act.core.unit_attempt import GROUP_TOO_LARGE
from mqops.act.rate_limiter import is_for_room
from mqops.actions import Action
from mqops.decide.arrow import read_plan
from mqops.decide.in_process import Past, read_messages
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.file import LedgerFile
from mqops.ledger.opened import OpenLedger
from mqops.observe import tries
from mqops.observe.arrivals import Sight
from mqops.rules import Table

_BYTES = re.compile(r": b['\"].*", re.DOTALL)
"""The part of such an error that shows what stands in the message, which no log may have."""
MOST_EXPLAINED = 100
"""Messages without a valid MQDLH of which it is kept what is wrong."""


class Put(NamedTuple):
    """What put a message, and where."""

    line: int | None
    queue: str
    queue_manager: str


class Failure(NamedTuple):
    """A try that failed, and with which reason code."""

    line: int | None
    queue: str
    queue_manager: str
    reason: int


class PassRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that say what a pass meant to do with a message."""

    row: int
    msg_key: str
    msg_id: bytes
    correl_id: bytes
    put_date: str
    put_time: str
    action: Action
    rule_line: int | None
    dest_q: str
    dest_q_mgr: str
    header: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a pass left behind.

    Attributes: `there` the messages that stay on the queue; `in_error` those of them without a valid MQDLH, in the
    queue's order; `why` MsgId (hex) of the first of them → what is wrong with its MQDLH; `failures` how many tries
    failed and how; `to_retry` how many of these messages have a rule left, `failed` which they are (msg_key) and
    `not_due` the messages that were left since their next try was not due; `untried` messages that were left and may go
    the next time; `without_room` those that were left because their destination had no room; `put_back` the messages
    (msg_key) that are there again as they were, and what put them.
    """

    there: Counter[Sight] = field(default_factory=Counter)
    in_error: tuple[Sight, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[Failure, int] = field(default_factory=dict)
    to_retry: Mapping[Failure, int] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    not_due: frozenset[str] = frozenset()
    untried: int = 0
    without_room: int = 0
    put_back: Mapping[str, Put] = field(default_factory=dict)

    def ids_in_error(self) -> list[str]:
        """The MsgIds, in hex, of the messages without a valid MQDLH."""
        return [sight.msg_id.hex() for sight in self.in_error]


def outcome_of(run: RunFolder, ledger: OpenLedger, table: Table, returns: Callable[[str, str], bool]) -> Outcome:
    """What a pass left behind, by its plan and its ledger.

    Parameters: `returns` whether a destination (queue, queue manager) is the queue itself. Raises `MqopsError`.
    """
    sums = ledger.sums()
    there: Counter[Sight] = Counter()
    in_error: list[Sight] = []
    failures: Counter[Failure] = Counter()
    failed: dict[str, Failure] = {}
    not_due: set[str] = set()
    put_back: dict[str, Put] = {}
    for row in read_plan(run.plan, PassRow):
        sight = Sight(row.msg_id, row.correl_id, row.put_date, row.put_time)
        if row.row in sums.acted:
            if row.action is Action.FWD and row.header and returns(row.dest_q, row.dest_q_mgr):
                there[sight] += 1
                put_back[row.msg_key] = Put(row.rule_line, row.dest_q, row.dest_q_mgr)
            continue
        if row.row in sums.absent:
            continue  # where a unit of work of somebody else hides it and is backed out, it comes as a new one
        there[sight] += 1
        if row.action is Action.ERROR:
            in_error.append(sight)
        if row.action is Action.LATER:
            not_due.add(row.msg_key)
        if row.row in sums.failed:
            failure = Failure(row.rule_line, row.dest_q, row.dest_q_mgr, sums.failed[row.row])
            failed[row.msg_key] = failure
            failures[failure] += 1
    untried, without_room = _to_come(sums)
    to_retry = _to_be_tried(run, ledger.file, table, failed)
    return Outcome(
        there=there,
        in_error=tuple(in_error),
        why=_wrong_with(run, [sight.msg_id for sight in in_error[:MOST_EXPLAINED]]),
        failures=failures,
        to_retry=Counter(failed[key] for key in to_retry),
        failed=frozenset(to_retry),
        not_due=frozenset(not_due),
        untried=untried,
        without_room=without_room,
        put_back=put_back,
    )


def _wrong_with(run: RunFolder, msg_ids: Collection[bytes]) -> dict[str, str]:
    """MsgId (hex) → why a message has no valid MQDLH, by the run's snapshot. Raises `LakeError`."""
    found: dict[str, str] = {}
    if not msg_ids:
        return found
    wanted = pa.array(list(msg_ids), pa.binary())
    for batch in read_parquet(run.snapshot, ["msg_id", "dlh_error"]):
        chosen = batch.filter(pc.is_in(batch.column("msg_id").cast(pa.binary()), wanted))
        wrong = ((row["msg_id"].hex(), row["dlh_error"]) for row in chosen.to_pylist() if row["dlh_error"])
        found |= {msg_id: _BYTES.sub(" is not valid", error) for msg_id, error in wrong}
    return found


def _to_be_tried(run: RunFolder, file: LedgerFile, table: Table, failed: Collection[str]) -> list[str]:
    """The messages, of those whose try failed, that have a rule left. All of them by their msg_key."""
    if not failed:
        return []
    ids = {
        one["msg_id"].hex()
        for batch in read_parquet(run.snapshot, ["msg_key", "msg_id"])
        for one in batch.to_pylist()
        if one["msg_key"] in failed
    }
    past = Past(tries=tries.current(file, ids))
    return [
        message["msg_key"]
        for batch in read_messages(run.snapshot, table.questions)
        for message in batch.to_pylist()
        if message["msg_key"] in failed and past.row(0, message, table).row.action.acts
    ]


def _to_come(sums: Account) -> tuple[int, int]:
    """How many messages were left and may go in the next pass, and how many when their destination has room.

    What stands behind a failed message goes on when that one has used up a try. Where none failed it stands behind what
    was left itself, and another pass would find it the same.
    """
    behind = set() if sums.failed else {BEHIND_FAILED, CANARY_FAILED}
    stays = {CAME_BACK, UNREAD, GROUP_TOO_LARGE, *behind}
    untried = without_room = 0
    for why in sums.left.values():
        if is_for_room(why) or (why == CANARY_FAILED and why in behind):
            without_room += 1
        elif why not in stays:
            untried += 1
    return untried, without_room
