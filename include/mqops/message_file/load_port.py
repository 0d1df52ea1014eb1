"""The mover's port of a load: messages of a file put with all their context. Nothing is taken from a queue."""

from __future__ import annotations

from mqops.act.core.lanes import Row
from mqops.act.core.port import Taken
from mqops.undo.undo_port import UndoPort


class LoadPort(UndoPort):
    """`UndoPort` that puts every message from its copy, as it is (rule 6 of `mqops.message_file`)."""

    work = "a load"

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """The message of the file; it is always there. `careful` has no meaning where nothing is got."""
        original = self._whole(row)
        return Taken(md=original.md, body=original.body, key=row.msg_key)
