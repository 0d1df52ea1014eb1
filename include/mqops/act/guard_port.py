"""The mover's port of the poison guard: it waits for messages that a program has, and can put them behind an MQDLH."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from mqops.act.behind_header import behind_header
from mqops.act.core.lanes import Row
from mqops.act.core.port import Taken
from mqops.act.mover_port import GET_OPTIONS, PUT_OPTIONS, MoverPort, taken_as
from mqops.act.report_sender import send_exception_report
from mqops.actions import Action
from mqops.ledger.core.seal import Seal
from mqops.mq.session import MATCH_BOTH, Session

WAIT_MS = 2000
"""Milliseconds to wait for a message: the program that loops has it in a unit of work most of the time."""
PATIENCE = 20.0
"""Seconds to wait in a visit, all messages together."""


class GuardPort(MoverPort):
    """`MoverPort` for rules 2 and 3 of `mqops.backout.core.guard`.

    Parameters: `queue_manager` and `seen_at` of the run's snapshot, for the MQDLH.
    """

    def __init__(
        self, session: Session, queues: Sequence[str], seal: Seal, *, queue_manager: str, seen_at: datetime
    ) -> None:
        super().__init__(session, queues, seal)
        self._queue_manager = queue_manager
        self._seen_at = seen_at
        self._patience = PATIENCE

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """See `Port`. A message that is not there now is waited for: MQGET with wait gets it when it is backed out."""
        taken = super().take(row, careful=careful)
        if taken is not None or self._patience <= 0 or row.queue not in self._sources:
            return taken
        begun = time.monotonic()
        if not careful:
            taken = self._wait_for(row)
        else:
            while taken is None and time.monotonic() - begun < WAIT_MS / 1000:
                time.sleep(0.01)
                taken = super().take(row, careful=True)
        self._patience -= time.monotonic() - begun
        return taken

    def _wait_for(self, row: Row) -> Taken | None:
        got = self._session.get(
            self._sources[row.queue],
            GET_OPTIONS,
            match=MATCH_BOTH,
            ids=row.msg_id + row.correl_id,
            wait_ms=WAIT_MS,
            length=row.body_length,
            name=row.queue,
        )
        return taken_as(got) if got else None

    def put(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        if row.action != Action.DEADLETTER:
            return super().put(row, taken)
        reason, source = int(row.rule_key), self._sources[row.queue]
        md, body = behind_header(
            taken.md,
            taken.body,
            reason=reason,
            queue=row.queue,
            queue_manager=self._queue_manager,
            at=self._seen_at,
        )
        refused = self._session.put(self._targets[row.target], md, body, PUT_OPTIONS, context=source)
        return refused or send_exception_report(self._session, source, taken, reason)

    def report_discarded(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        return send_exception_report(self._session, self._sources[row.queue], taken, int(row.rule_key))
