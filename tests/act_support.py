"""A plan acted on while others do something: an application that sends messages back, a person who stops the run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymqi
from ledger_opened import prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.act.mover_port import MoverPort
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import Pacing
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.lake.run import RunFolder
from mqops.model import RunSummary
from mqops.rules import parse

EXTENDED = "* MQOPS EXTENSIONS\n"


def planned(
    manager: Manager, lake: Path, text: str = "ACTION(RETRY)", *, queue: str = "", **pacing: Any
) -> tuple[RunFolder, PlanSummary]:
    """Plan a pass over a queue, the dead-letter queue where none is named."""
    parsed = parse(text)
    assert parsed.table, parsed.errors
    how = Pacing(**pacing)
    what = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parsed.table, text=text, queue=queue, pacing=how
    )
    return plan_run(DEAD_LETTERS, what)


def after_commits(what: Callable[[int], None]) -> Callable[..., MoverPort]:
    """A maker of ports that call `what(number of the commit)` behind each commit, in a thread of its own."""
    commits = 0

    class Port(MoverPort):
        def commit(self) -> None:
            nonlocal commits
            super().commit()
            commits += 1
            thread = threading.Thread(target=what, args=(commits,))
            thread.start()
            thread.join()

    return Port


def taken(manager: Manager, queue: str) -> list[tuple[pymqi.MD, bytes]]:
    """Get all messages of a queue."""
    found = []
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_SHARED)
        while True:
            md, gmo = pymqi.MD(Version=CMQC.MQMD_VERSION_2), pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)
            try:
                body = handle.get(None, md, gmo)
            except pymqi.MQMIError as error:
                if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                    raise
                break
            found.append((md, body))
        handle.close()
    return found


def send_back(manager: Manager, queue: str, to: str = DLQ, *, new_ids: bool = False) -> int:
    """As an application that cannot process its messages: they go to `to` with an MQDLH; how many."""
    messages = taken(manager, queue)
    for md, body in messages:
        ids = {} if new_ids else {"MsgId": md.MsgId, "CorrelId": md.CorrelId}
        manager.put(to, [dead_letter(queue, body, reason=2362, **ids)])
    return len(messages)


def proved(manager: Manager, run: RunFolder) -> dict[str, int]:
    """The counts of a run that balances."""
    return counts(prove(manager.connection, run))


def counts(summary: RunSummary) -> dict[str, int]:
    """What there is of its counts."""
    assert summary.balanced
    names = ("planned", "moved", "discarded", "left", "gone", "failed", "returned", "arrived")
    return {name: number for name in names if (number := getattr(summary, name))}
