"""The endless loop of T12b: a queue triggers, its run leaves everything as it was, and the queue triggers again.

What a run does is not known for a DAG of somebody else. So the queue is looked at when a run is about to start: if its
first messages and its depth are what they were when the last run started, that run has not changed the queue. One
message would not tell: a program may leave the first one and process those that come behind it. An empty queue is no
loop. When the trigger monitor connects anew, the queue manager makes trigger messages for that alone (T13c): the count
begins anew, too. Nothing here asks a queue manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mqops.counted import counted
from mqops.model import AsJson
from mqops.type_adapter import adapter_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a queue looks like.

    Parameters: `messages` a digest of its first messages, "" where it is empty; `depth` in messages; `backouts` of the
    first message (BackoutCount).
    """

    messages: str
    depth: int
    backouts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged(AsJson):
    """The runs in a row that were started while a queue looked the same.

    Parameters: `messages` and `depth` as of `Fingerprint`; `runs` how many; `connection` of the trigger monitor.
    """

    messages: str = ""
    depth: int = 0
    runs: int = 0
    connection: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Unchanged:
        """What `to_json` made. Raises `ValueError`."""
        return adapter_of(cls).validate_python(value)

    def before_start(self, now: Fingerprint, *, connection: str = "") -> Unchanged:
        """The same for the queue as it looks now, before the next run starts.

        Parameters: `connection` of the trigger monitor now, "" if it is not known.
        """
        same = connection in {"", self.connection}
        if same and (now.messages, now.depth) == (self.messages, self.depth):
            return self
        return Unchanged(messages=now.messages, depth=now.depth, connection=connection or self.connection)

    def started(self) -> Unchanged:
        """A run was started, or several at once."""
        return replace(self, runs=self.runs + 1)


def loop(queue: str, seen: Unchanged, now: Fingerprint, *, most: int) -> str:
    """Why no more runs start, or nothing. Parameters: `seen` from `before_start`; `most` runs in a row."""
    if not now.messages or seen.runs < most:
        return ""
    backed_out = f", its BackoutCount is {now.backouts:,}" if now.backouts else ""
    return (
        f"a closed loop (T12b): {counted(seen.runs, 'run')} in a row left the queue {queue} as it was. Its first "
        f"message is still there{backed_out}. No run starts until the queue changes: move or mend that message"
    )
