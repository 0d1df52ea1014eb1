"""The mover's port for messages that are put from a copy: their context is set, because no handle has got them."""

from __future__ import annotations

import logging

from mqops.act.core.lanes import Row, Target
from mqops.act.core.port import Taken
from mqops.act.mover_port import MoverPort
from mqops.errors import MQError
from mqops.mq.session import SET_CONTEXT_OPTIONS
from mqops.mqsc import mqsc_name
from mqops.printable import printable
from mqwire import constants as c

PUT_OPTIONS = c.MQPMO_SYNCPOINT | c.MQPMO_SET_ALL_CONTEXT | c.MQPMO_FAIL_IF_QUIESCING
PLAIN_OPTIONS = c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING

_log = logging.getLogger(__name__)


class SetContextPort(MoverPort):
    """`MoverPort` that puts with MQPMO_SET_ALL_CONTEXT. `work` says in a message who does."""

    target_options = SET_CONTEXT_OPTIONS
    work = "this run"

    def open_target(self, target: Target) -> int:
        """See `Port`. A missing authority is named in the error: other workflows do not need it."""
        reason = super().open_target(target)
        if reason == c.MQRC_NOT_AUTHORIZED:
            _log.warning("%s", printable(self._lack_of_authority(target.queue)))
        return reason

    def _lack_of_authority(self, queue: str) -> str:
        """Which authority is missing to put back on a queue, and the commands that give it."""
        lacks, gives = f"SETALL on {queue} or on the queue manager", "SETALL"
        try:
            self._session.close(self._session.open(queue, PLAIN_OPTIONS))
        except MQError:
            lacks, gives = f"PUT on {queue}", "PUT,SETALL"
        return (
            f"Nothing is put on {queue}: MQRC_NOT_AUTHORIZED (2035). The connection's user lacks {lacks}, because "
            f"{self.work} sets all context: SET AUTHREC PROFILE({mqsc_name(queue)}) OBJTYPE(QUEUE) PRINCIPAL(user) "
            f"AUTHADD({gives}), SET AUTHREC OBJTYPE(QMGR) PRINCIPAL(user) AUTHADD(SETALL)"
        )

    def put(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        return self._session.put(self._targets[row.target], bytes(bytearray(taken.md)), taken.body, PUT_OPTIONS)
