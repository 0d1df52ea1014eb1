"""The way out for a run that a version without signatures began: a person looks at what is on the ledger queue, and
answers for it.

1. That version's lane tokens and markers are not signed, so anybody who may put on MQOPS.LEDGER could have made them.
   What can be checked is: their identifiers follow from their content, a marker names rows of the plan, and the units
   of work of a lane follow each other.
2. What is so is taken off the queue and put back signed, with its identifiers, in one unit of work; the rest stays as
   it is. Then the ledger says who answered for it, and why; then RUN/issued.json says that the run is signed. Killed in
   between, the same command goes on: what is signed already is left.
3. The lane tokens say where each lane goes on. One that was forged moves nothing twice and loses nothing: a message is
   taken by its frozen identity: one that is gone is counted as gone, and one that was passed over stays on its queue.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from mqops.counted import counted
from mqops.errors import InProgress, LedgerBroken, SettingsError
from mqops.lake.parquet import read_parquet
from mqops.ledger.before_act import refuse_broken
from mqops.ledger.core.account import account
from mqops.ledger.core.marker import LaneToken, Marker, unpack
from mqops.ledger.core.received import has_own_identifiers, who_put
from mqops.ledger.core.seal import LONGEST, has_signature
from mqops.ledger.drain import drain
from mqops.ledger.elsewhere import programs_at_work
from mqops.ledger.noted import Issued
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import BATCH, NAME, LedgerQueue
from mqops.ledger.signing import make_key
from mqops.model import AsJson
from mqops.mq.session import RawMessage, Session

_NO_ID = bytes(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLane(AsJson):
    """A lane that is not finished. Parameters: `rows` of it, of which `done` were dealt with; `tokens` positions of its
    lane tokens on the queue."""

    lane: int
    rows: int
    done: int
    tokens: tuple[int, ...]

    def __str__(self) -> str:
        where = f"lane token at {', '.join(map(str, self.tokens))}" if self.tokens else "no lane token"
        return f"lane {self.lane}: {self.done:,} of {counted(self.rows, 'row')} done, {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsigned(AsJson):
    """What is on the ledger queue of an unsigned run.

    Parameters: `markers` and `lane_tokens` how many; `strange` messages of its CorrelIds that are neither, or not of
    its plan; `put_by` who put those that count; `open_lanes`; `problems` why it cannot be finished by them.
    """

    run: str
    markers: int
    lane_tokens: int
    strange: int
    put_by: tuple[str, ...]
    open_lanes: tuple[OpenLane, ...]
    problems: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        found = f"{counted(self.markers, 'marker')} and {counted(self.lane_tokens, 'lane token')}"
        by = f", put by {', '.join(self.put_by)}" if self.put_by else ""
        yield f"run {self.run}: {found} on {NAME} without a signature{by}"
        yield from (f"    {lane}" for lane in self.open_lanes)
        if self.strange:
            yield f"    {counted(self.strange, 'message')} more of its CorrelIds, not of its plan: they stay there"
        yield from (f"    {problem}" for problem in self.problems)


def refuse_signed(ledger: OpenLedger) -> Issued:
    """What an unsigned run has noted. Raises `SettingsError`: it is none, or there is nothing left to finish."""
    noted = ledger.issued
    if noted is None:
        raise SettingsError(f"Run {ledger.plan.run} was not begun: there is nothing to take over")
    if noted.signed:
        raise SettingsError(f"Run {ledger.plan.run} is signed. To finish it, enter `mqops resume` with --finish")
    if ledger.is_complete():
        raise SettingsError(f"The ledger has all of run {ledger.plan.run}: there is nothing to take over")
    return noted


def look(session: Session, ledger: OpenLedger) -> Unsigned:
    """What would be taken over; everything is left where it is. Raises `SettingsError` as `refuse_signed`;
    `MqopsError`."""
    noted = refuse_signed(ledger)
    rows = _rows(ledger)
    markers, tokens, strange = list[Marker](), list[LaneToken](), 0
    who = dict[str, None]()
    queue = LedgerQueue(session, ledger.keys)
    try:
        for got in _of_plan(queue, ledger, len(noted.lanes)):
            found = _read(got, rows)
            if found is None:
                strange += 1
                continue
            who.setdefault(who_put(got.md))
            tokens.append(found) if isinstance(found, LaneToken) else markers.append(found)
        signed = [one for one in queue.markers() if (one.run, one.plan) == (ledger.plan.run, ledger.plan.digest)]
        before = list(ledger.file.markers(plan=ledger.plan))
        recorded = {one.unit for one in before}
        once = {one.unit: one for one in chain(signed, markers) if one.unit not in recorded}
        sums = account(chain(before, once.values()))
        at = {lane: sums.done.get(lane, 0) for lane in sums.open_lanes}
        places = {lane: {one.next for one in tokens if one.lane == lane} for lane in at}
        for lane, done in at.items():
            if queue.has_lane_token(ledger.plan, lane, done):  # an earlier command has signed it
                places[lane].add(done)
    finally:
        queue.close()
    lanes = tuple(
        OpenLane(lane=lane, rows=sums.lengths[lane], done=done, tokens=tuple(sorted(places[lane])))
        for lane, done in at.items()
    )
    problems = list(sums.problems)
    if sums.lengths != noted.lanes:
        problems.append("no marker says that its lane tokens were issued")
    problems += [
        f"lane {one.lane} has no lane token at its position, {one.done}: a process may be at work on it"
        for one in lanes
        if one.done not in one.tokens
    ]
    return Unsigned(
        run=ledger.plan.run,
        markers=len(markers),
        lane_tokens=len(tokens),
        strange=strange,
        put_by=tuple(who),
        open_lanes=lanes,
        problems=tuple(problems),
    )


def adopt(session: Session, ledger: OpenLedger, *, who: str, why: str) -> Unsigned:
    """Take an unsigned run over: rule 2; the run's lock is held. Gives what was found.

    Parameters: `who` answers for it (user@host), and `why`: the ledger keeps both.

    Raises:
        SettingsError: there is no reason, the run is signed, or its messages contradict each other. Nothing was
            changed.
        InProgress: a program has the ledger queue open for input: it may be the run.
        MqopsError: enter the command again.
    """
    if not why.strip():
        raise SettingsError(f"To answer for messages of run {ledger.plan.run} that nobody signed, say why (--why)")
    noted = refuse_signed(ledger)
    if programs_at_work(session):
        raise InProgress(
            f"A program has {NAME} open for input, perhaps the run itself: nothing was changed. Wait until it has "
            f"ended: DISPLAY QSTATUS({NAME}) TYPE(HANDLE) tells who it is"
        )
    make_key(ledger.file)
    refuse_broken(session, ledger.file)
    found = look(session, ledger)
    if found.problems:
        raise SettingsError(
            f"Run {ledger.plan.run} cannot be finished by what is on {NAME}; nothing was changed: "
            f"{'; '.join(found.problems)}"
        )
    _sign(session, ledger, len(noted.lanes))
    key = ledger.keys.newest().id
    ledger.noted = Issued(run=noted.run, plan=noted.plan, lanes=noted.lanes, signed=True, key=key)
    drain(session, ledger)
    counts = {"markers": found.markers, "lane_tokens": found.lane_tokens}
    ledger.note_resumed({"finished_by": who, "why": why.strip(), "unsigned": True, **counts})
    ledger.note_issued(noted.lanes, key)
    return found


def _sign(session: Session, ledger: OpenLedger, lanes: int) -> None:
    """Put what counts back signed, a batch in each unit of work. What is new on the queue is signed, so it ends."""
    rows = _rows(ledger)
    queue = LedgerQueue(session, ledger.keys)
    try:
        taken = 0
        for got in _of_plan(queue, ledger, lanes):
            found = _read(got, rows)
            if found is None or queue.take_browsed() is None:
                continue
            if isinstance(found, LaneToken):
                queue.put(_NO_ID, ledger.plan.lane_token_id(found.lane), found.pack())
            else:
                queue.put(bytes.fromhex(found.unit), ledger.plan.markers(), found.pack())
            taken += 1
            if taken % BATCH == 0:
                session.commit()
        session.commit()
    finally:
        queue.close()


def _rows(ledger: OpenLedger) -> dict[int, str]:
    """Number → msg_key of the plan's rows."""
    assert ledger.run is not None, "a run that is taken over has its folder"
    return {
        row: key
        for batch in read_parquet(ledger.run.plan, ["row", "msg_key"])
        for row, key in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    }


def _of_plan(queue: LedgerQueue, ledger: OpenLedger, lanes: int) -> Iterator[RawMessage]:
    """The messages with the CorrelIds of a plan, those without a signature."""
    plan = ledger.plan
    for correl_id in (plan.markers(), *map(plan.lane_token_id, range(lanes))):
        for got in queue.browse_of(correl_id):
            if not has_signature(got.body):
                yield got


def _read(got: RawMessage, rows: dict[int, str]) -> Marker | LaneToken | None:
    """What a message without a signature says, where it can be of the plan (rule 1)."""
    if len(got.body) > LONGEST:
        return None
    found: Marker | LaneToken | None = None
    with suppress(LedgerBroken):
        found = unpack(got.body)
    if found is None:
        with suppress(LedgerBroken, ValueError, RecursionError):
            body = json.loads(got.body)  # its rows may lack what came later
            found = Marker.from_json(body) if isinstance(body, dict) else None
    if found is None or not has_own_identifiers(found, got.md):
        return None
    if isinstance(found, Marker) and any(rows.get(row.row) != row.msg_key for row in found.rows):
        return None
    return found
