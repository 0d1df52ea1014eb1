"""Why a message is in quarantine, from the lines of the ledger: when it was put back, where to, by what. Pure.

The bytes of the message do not say it (docs/command_line.md tells why); `mqops message show --json` says it to any
program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqops.actions import GATE, Action, is_gate
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.core.replays import CAPPED
from mqops.look.history import EventOfRule
from mqops.workflow import Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """One time that backout reprocessing put the message back: when, on which queue, by which rule of which run."""

    at: str
    queue: str
    rule_line: int | None
    table_source: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A message in quarantine. Parameters: `at` which time `run` put it on `queue`; `put_back` before, oldest first:
    each time it came to a backout queue again; `check` of the gate that it fails, as `SUITE:CHECK`, "" for none."""

    queue_manager: str
    at: str
    queue: str
    run: str
    put_back: tuple[PutBack, ...]
    check: str = ""


def quarantined(events: Iterable[EventOfRule]) -> Quarantined | None:
    """Why a message is in quarantine; None where the last thing that a run did with it was something else.

    Parameters: `events` of the ledger about one message, oldest first. What was put back is counted as the replay cap
    counts: same MsgId, same body (`mqops.ledger.core.replays`).
    """
    acted = [one for one in events if one.outcome == MarkerKind.ACTED and one.action != Action.COPY]
    last = acted[-1] if acted else None
    if last is None or not (last.rule == CAPPED or (is_gate(last.rule) and Action(last.action).puts)):
        return None
    replays = [
        PutBack(at=one.at, queue=one.dest_q, rule_line=one.rule_line, table_source=one.table_source, run=one.run)
        for one in acted
        if one.workflow == Workflow.BACKOUT_REPROCESS
        and Action(one.action).puts
        and one.rule != CAPPED
        and not is_gate(one.rule)
        and one.body == last.body
    ]
    return Quarantined(
        queue_manager=last.queue_manager,
        at=last.at,
        queue=last.dest_q,
        run=last.run,
        put_back=tuple(replays),
        check=last.rule.removeprefix(GATE) if is_gate(last.rule) else "",
    )
