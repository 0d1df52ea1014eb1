"""The mover's port of a copy: messages are browsed, and what was browsed is put. Nothing is taken from a queue."""

from __future__ import annotations

from mqops.act.core.lanes import Row
from mqops.act.core.port import Taken
from mqops.act.mover_port import has_transmission_header, without_dlh
from mqops.act.set_context_port import SetContextPort
from mqwire import constants as c

BROWSE_ONLY = c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING
"""How the queue of a copy's original is opened: a program may have it for itself, and no authority to get is needed."""


class CopyPort(SetContextPort):
    """`SetContextPort` whose messages stay where they are. The copy has the original's identifiers and context."""

    source_options = BROWSE_ONLY
    work = "a copy"

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """The message as it is on its queue; None if it is not there. `careful` has no meaning where nothing is got."""
        same_ids = self._with_ids_of(row, row.queue, self._sources[row.queue])
        return next((got for got in same_ids if got.key == row.msg_key), None)

    def put(self, row: Row, taken: Taken) -> int:
        """See `Port`."""
        md, body = without_dlh(taken) if row.strips_header else (taken.md, taken.body)
        if has_transmission_header(md, body):
            return c.MQRC_FORMAT_ERROR
        return super().put(row, Taken(md=md, body=body, key=taken.key))
