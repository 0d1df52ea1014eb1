"""Where each message of a backout run came from, and what decided that (`mqops backout run --explain`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mqops.as_json import JsonObject
from mqops.backout.core.explained import why
from mqops.backout.core.origin import Origin, Setting, origin_of
from mqops.backout.core.origin_table import questions_of
from mqops.decide.in_process import read_messages
from mqops.lake.run import RunFolder


class Explained(NamedTuple):
    """A message, its origin, and why it is that one."""

    queue: str
    msg_id: str
    origin: Origin
    why: str

    def to_json(self) -> JsonObject:
        """For `--json`; `row` of the table, null where no row decided."""
        said: JsonObject = {"origin": self.origin.queue, "by": self.origin.by.value, "row": self.origin.row}
        return {"queue": self.queue, "msg_id": self.msg_id, **said, "why": self.why}


def explained(run: RunFolder, where: Setting) -> Iterator[Explained]:
    """Each message of the run's snapshot, in its order. Raises `LakeError`."""
    for batch in read_messages(run.snapshot, questions_of(where.origins)):
        for message in batch.to_pylist():
            found = origin_of(message, where)
            yield Explained(message["queue"], message["msg_id"].hex(), found, why(message, found, where))
