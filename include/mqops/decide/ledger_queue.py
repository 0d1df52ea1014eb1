"""Pre-flight of the ledger and its queue: no message is moved without them, so their state is reported before the
approval."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.command import command
from mqops.decide.core.preflight import Finding
from mqops.errors import LedgerBroken, MQError
from mqops.lake.stop import stop_in
from mqops.ledger.before_act import refuse_broken
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import NAME, open_ledger_queue
from mqops.ledger.stop_message import shown, stops_on
from mqops.mq.inquire import queue_state
from mqops.mq.session import Session

LEAST_ROOM = 3
"""Messages that the shortest run puts on it: a lane token, and a marker that it was begun, one of its unit of work."""


def ledger_findings(session: Session, file: LedgerFile) -> Iterator[Finding]:
    """Why a run could not record what it does. Nothing is put.

    Raises:
        MQError: the connection is lost.
        LakeError: the ledger cannot be read.
    """
    try:
        refuse_broken(session, file)
    except LedgerBroken as error:
        yield Finding(severity="problem", destination="the ledger", what=str(error))
    try:
        session.close(open_ledger_queue(session))
    except MQError as error:
        yield _problem(f"MQOPEN fails: {_reason(error)}: no run can begin", error.advice)
        return
    try:
        queue = queue_state(session, NAME)
    except MQError as error:
        what = f"it cannot be inquired: {_reason(error)}"
        yield Finding(severity="unknown", destination=NAME, what=what, remedy=error.advice)
        return
    for stop in [] if stop_in(file.folder.parent) else shown(stops_on(session, file.keys)):  # else it is told already
        resume = f"`{command('mqops', 'resume', '-m', session.name)}` takes it back"
        yield _problem(f"all acting is stopped, for every lake, {stop}: no run can begin", resume)
    for allowed, attribute in ((queue.put_allowed, "PUT"), (queue.get_allowed, "GET")):
        if not allowed:
            yield _problem(f"{attribute}(DISABLED): no run can begin", f"ALTER QLOCAL({NAME}) {attribute}(ENABLED)")
    if queue.max_depth - queue.depth < LEAST_ROOM:
        yield _problem(
            f"it is full (CURDEPTH {queue.depth:,}, MAXDEPTH {queue.max_depth:,}): no run can begin",
            "Let `mqops ledger drain` record what is on it, or raise MAXDEPTH",
        )


def _reason(error: MQError) -> str:
    """The reason code. Raises the error where the connection is lost."""
    error.raise_if_lost()
    return f"{error.symbol} ({error.reason})"


def _problem(what: str, remedy: str) -> Finding:
    return Finding(severity="problem", destination=NAME, what=what, remedy=remedy)
