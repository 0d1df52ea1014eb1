"""Recover: chosen messages of a queue are moved, copied, parked, discarded or tried again.

`mqops recover ACTION`, `mqops message ACTION`, and the DAG mq_recover.

1. A message is chosen by its MsgId, by criteria (`mqops.look.core.criteria`), by both, or because all of the queue are
   asked for. The plan has every message of the queue: those that are not chosen are left (IGNORE).
2. MOVE and PARK put it on a queue that a person names, with or without an MQDLH. Its MQDLH goes along unless it is to
   be stripped (D08). REPLAY puts it where its MQDLH says, without the MQDLH; a message that has none is left (ERROR),
   and so is one whose MQDLH names a queue of mqops or of the queue manager (PROTECTED).
3. COPY browses the message, and puts what was browsed on the other queue in the unit of work of its marker. The copy
   has the same MsgId and all context of the original (MQPMO_SET_ALL_CONTEXT), so the two differ in nothing but their
   queue. That the original is there is looked at when its turn comes: if not, it counts as gone, and no copy is made.
   Canaries are refused: an original that is still on its queue is no message that came back.
4. An MQ group goes whole or not at all (SPLIT).
5. The text of the plan names what was asked for, but for values that are looked for in bodies and properties: these
   are payload (law 9). Of many MsgIds it gives the number; the rows of the plan have each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.core.protected import is_protected
from mqops.deciders.backout import DEFAULT_QUARANTINE
from mqops.deciders.choice import DISCARD, Choice, choose_each, named_queues
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.errors import SettingsError
from mqops.ledger.core.marker import About
from mqops.look.core.criteria import Criteria, described
from mqops.model import Account, Destination
from mqops.observe.core.columns import SnapshotRow
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.ledger.file import LedgerFile
    from mqops.model import ActSummary
    from mqops.mq.connection import Reach
    from mqops.mq.session import Session

_MSG_ID = re.compile("[0-9a-f]{1,48}")
MOST_NAMED = 3
"""MsgIds that the text of a plan names; of more it gives the number."""
_COLUMNS = ("dlh_error", "dlh_dest_q", "dlh_dest_q_mgr")


class Do(StrEnum):
    """What is done with the chosen messages."""

    MOVE = "move"
    COPY = "copy"
    PARK = "park"
    DISCARD = "discard"
    REPLAY = "replay"


NAMES_A_QUEUE = (Do.MOVE, Do.COPY, Do.PARK)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverRequest(RunRequest):
    """What is asked for.

    Parameters: `do` what is done; `queue` that has the messages; `msg_ids` hex, or the beginnings of them, none for
    any; `wanted` what the messages must have; `everything` whether all may be meant where neither chooses; `to` and
    `to_queue_manager` the destination, for PARK `DEFAULT_QUARANTINE` where it is blank; `strip` whether an MQDLH is
    taken off; `account` the kind of `requested_by`.
    """

    do: Do
    queue: str
    msg_ids: tuple[str, ...] = ()
    wanted: Criteria = field(default_factory=Criteria)
    everything: bool = False
    to: str = ""
    to_queue_manager: str = ""
    strip: bool = False
    account: Account = Account.SYSTEM

    @property
    def target(self) -> str:
        """The queue that messages are put on; "" where none is named."""
        return self.to or (DEFAULT_QUARANTINE if self.do is Do.PARK else "")


def select(session: Session, request: RecoverRequest) -> Selection:
    """The queue that has the messages.

    Raises:
        NotRevealed: it is asked for bodies or properties, and the estate names other users.
        SettingsError: nothing may be taken from it, or put on the destination; or what is asked for contradicts itself.
        MQError: the queue manager cannot be inquired.
    """
    from mqops.look.reveal import refuse_question  # noqa: PLC0415 - loads the MQ library
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415

    refuse_unclear(request)
    if request.wanted.asks_for_payload:
        refuse_question(queue_manager_name(session), request.requested_by, request.account)
    if request.target:
        _refuse_target(session, request)
    return replace(named_queues(session, [request.queue]), gated=request.do is not Do.DISCARD)


def refuse_unclear(request: RecoverRequest) -> None:
    """Refuse what contradicts itself, or leaves open what is meant. Raises `SettingsError`, which names the field."""
    do = request.do
    if not (request.msg_ids or request.wanted != Criteria() or request.everything):
        raise SettingsError("No message is chosen: give message ids, a filter, or say that all messages are meant")
    if do in NAMES_A_QUEUE and not request.target:
        raise SettingsError(f"Destination: {do} needs the queue that the messages are put on")
    if do not in NAMES_A_QUEUE and (request.to or request.to_queue_manager):
        where = "puts them where each MQDLH says" if do is Do.REPLAY else "puts no message anywhere"
        raise SettingsError(f"Destination: {do} {where}, so it takes no destination")
    if request.strip and do not in NAMES_A_QUEUE:
        raise SettingsError(f"Header: {do} does not ask what becomes of the MQDLH; only move, copy and park do")
    if request.pacing.canary and do is Do.COPY:
        raise SettingsError("Canary size: a copy has no canaries: its original stays on the queue. Copy a few first")


def _refuse_target(session: Session, request: RecoverRequest) -> None:
    from mqops.act.sources import DEAD_LETTERS  # noqa: PLC0415 - loads the MQ library
    from mqops.ledger.queue import NAME as LEDGER  # noqa: PLC0415
    from mqops.mq.inquire import base_queue, try_resolve_queue  # noqa: PLC0415

    there = try_resolve_queue(session, request.target, request.to_queue_manager)
    if there.direct:
        raise SettingsError(f"Destination: {request.target} is a transmission queue: only the queue manager puts there")
    for name in (there.queue or there.remote, "" if request.to_queue_manager else request.target):
        if name == LEDGER or (name.startswith("SYSTEM.") and not name.startswith(DEAD_LETTERS)):
            raise SettingsError(f"Destination: {name} is a queue of mqops or of the queue manager")
    if there.queue and there.queue == base_queue(session, request.queue):
        raise SettingsError(f"Destination: {request.target} is {request.queue} itself")


def decide(request: RecoverRequest, run: RunFolder) -> PlanSummary:
    """Plan what is done with the chosen messages; all others are left.

    Raises:
        SettingsError: no message is chosen, or a MsgId does not say which is meant.
        MqopsError: as `choose_each`.
    """
    chosen = _chosen(request, run)

    def choose(message: SnapshotRow, _now: datetime) -> Choice:
        return choice_for(request, message)

    return choose_each(
        request,
        run,
        choose,
        workflow=Workflow.RECOVER,
        text=text_of(request),
        columns=_COLUMNS,
        only=chosen.numbers,
        remarks=tuple(chosen.remarks(request)),
    )


def choice_for(request: RecoverRequest, message: SnapshotRow) -> Choice:
    """Rules 2 and 3 for a chosen message. Parameters: `message` column of the snapshot → value."""
    if request.do is Do.DISCARD:
        return DISCARD
    has_header = message["dlh_error"] is None
    if request.do is Do.REPLAY:
        queue, queue_manager = message["dlh_dest_q"] or "", message["dlh_dest_q_mgr"] or ""
        if not has_header:
            return Choice(action=Action.ERROR)
        if is_protected(queue):
            return Choice(action=Action.PROTECTED)
        return Choice(action=Action.RETRY, queue=queue, queue_manager=queue_manager, header=False)
    return Choice(
        action=Action.COPY if request.do is Do.COPY else Action.FWD,
        queue=request.target,
        queue_manager=request.to_queue_manager,
        header=not (request.strip and has_header),
    )


def text_of(request: RecoverRequest) -> str:
    """What is asked for, in words, for the approver (rule 5)."""
    target = str(Destination(request.target, request.to_queue_manager))
    header = ", without an MQDLH" if request.strip else ""
    where = f" to {target}{header}" if target else ""
    few = len(request.msg_ids) <= MOST_NAMED
    named = f"MsgId {' or '.join(request.msg_ids)}" if few else f"{len(request.msg_ids):,} MsgIds"
    ids = named if request.msg_ids else ""
    return f"{request.do}{where}: {', '.join(filter(None, (ids, described(request.wanted)))) or 'all messages'}"


@dataclass(slots=True, kw_only=True)
class _Chosen:
    """The chosen messages of a snapshot. Parameters: `numbers` in its order; how many of them ask for `reports`, and
    have an MQDLH (`headers`) or none; `msg_ids` that they have, where MsgIds were named; `passed_over` those whose text
    or properties cannot be read, by the reason."""

    numbers: set[int] = field(default_factory=set)
    msg_ids: set[bytes] = field(default_factory=set)
    reports: int = 0
    headers: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)

    def remarks(self, request: RecoverRequest) -> Iterable[str]:
        """What an approver may not expect."""
        yield from self.left_unread()
        if 0 < len(self.msg_ids) < len(self.numbers):
            chosen = f"{counted(len(self.numbers), 'message')} for {counted(len(self.msg_ids), 'MsgId')}"
            yield f"{chosen}: messages of the queue have the same MsgId, and all of them are chosen"
        if request.do is Do.COPY:
            yield "each copy has the MsgId of its original, which stays on its queue"
            if self.reports:
                asks = counted(self.reports, "message asks", "messages ask")
                yield f"{asks} for reports: the sender may get a second report, for the copy"
        without = len(self.numbers) - self.headers
        if request.do is Do.REPLAY and without:
            yield f"{counted(without, 'chosen message has', 'chosen messages have')} no MQDLH that can be read: left"
        if request.do in (Do.MOVE, Do.COPY) and self.headers and not request.strip:
            yield f"{counted(self.headers, 'message keeps its', 'messages keep their')} MQDLH"

    def left_unread(self) -> Iterable[str]:
        """What the search passed over: these messages are left."""
        from mqops.look.core.searched import passed_over_lines  # noqa: PLC0415 - loads code pages

        return passed_over_lines(self.passed_over)


def _chosen(request: RecoverRequest, run: RunFolder) -> _Chosen:
    import pyarrow as pa  # noqa: PLC0415 - loads pyarrow

    from mqops.lake.parquet import read_parquet  # noqa: PLC0415
    from mqops.look.search import Search  # noqa: PLC0415

    search, found = Search(request.wanted), _Chosen()
    ids = _msg_ids(request, run)
    columns = sorted({"msg_id", "report", "dlh_error", *search.columns, *search.further})
    before = 0
    for batch in read_parquet(run.snapshot, columns, rows=2000 if "body" in columns else 65_536):
        places = search.fitting(batch)
        rows = batch.select(["msg_id", "report", "dlh_error"]).take(pa.array(places, pa.int64())).to_pylist()
        for place, row in zip(places, rows, strict=True):
            if ids is None or row["msg_id"] in ids:
                found.numbers.add(before + place)
                found.msg_ids |= {row["msg_id"]} if ids is not None else set()
                found.reports += row["report"] != 0
                found.headers += row["dlh_error"] is None
        unread = [one for one in search.passed_over if ids is None or batch.column("msg_id")[one.place].as_py() in ids]
        found.passed_over.update(one.why for one in unread)
        before += batch.num_rows
    if before and not found.numbers:
        told = "".join(f"; {line}" for line in found.left_unread())
        raise SettingsError(f"No message of {request.queue} fits ({text_of(request)}). Nothing was planned{told}")
    return found


def _msg_ids(request: RecoverRequest, run: RunFolder) -> set[bytes] | None:
    """The whole MsgIds that were named; None where none was.

    Raises:
        SettingsError: one is no hex, no message has it, or messages with several MsgIds begin so.
    """
    from mqops.lake.parquet import read_parquet  # noqa: PLC0415 - loads pyarrow
    from mqops.observe.core.unseen import unseen_queues  # noqa: PLC0415
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    if not request.msg_ids:
        return None
    named = [text.strip().lower() for text in request.msg_ids]
    for text in named:
        if not _MSG_ID.fullmatch(text):
            raise SettingsError(f"Message ids: {text!r} is not a MsgId in hex, or the beginning of one")
    there = {one for batch in read_parquet(run.snapshot, ["msg_id"]) for one in batch.column("msg_id").to_pylist()}
    by_text = {one.hex(): one for one in there}
    found = set()
    for text in named:
        fitting = [by_text[one] for one in by_text if one.startswith(text)]
        if not fitting:
            told = "".join(f". {why}" for why in unseen_queues(OBSERVED.read(run)).values())
            raise SettingsError(f"Message ids: {request.queue} has no message whose MsgId begins with {text}{told}")
        if len(fitting) > 1:
            raise SettingsError(
                f"Message ids: {len(fitting):,} MsgIds on {request.queue} begin with {text}: give more digits of it"
            )
        found.update(fitting)
    return found


def act(
    connection: Reach, run: RunFolder, /, *, file: LedgerFile, unit_size: int, approved: str, about: About | None
) -> ActSummary:
    """Act in one process, copies through `mqops.act.copy_port.CopyPort`. Raises as `mqops.act.in_process.act`."""
    from mqops.act.copy_port import CopyPort  # noqa: PLC0415 - loads the MQ library
    from mqops.act.in_process import act  # noqa: PLC0415
    from mqops.act.mover_port import MoverPort  # noqa: PLC0415
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    copies = Action.COPY in PLAN.read(run).actions
    port, needs = (CopyPort, ()) if copies else (MoverPort, None)  # a copy takes from no queue
    return act(connection, run, file=file, unit_size=unit_size, approved=approved, about=about, port=port, needs=needs)


RECOVER = Decider(
    name=Workflow.RECOVER,
    request=RecoverRequest,
    select=select,
    decide=decide,
    act=act,
    command="mqops.cli.recover:recover",
    form=(
        *(
            "queue_manager",
            "action",
            "queue",
            "first_tell",
            "message_ids",
            "where",
            "failed",
            "since",
            "until",
            "all_messages",
        ),
        *("destination", "destination_queue_manager", "header", "run", "dry_run", "unit_of_work", "pacing"),
    ),
    dag="all",
)
