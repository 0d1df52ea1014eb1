"""Queues and units of work in memory, behind the mover's port, with deaths and broken connections at chosen calls.

An independent statement of what a queue manager promises: a unit of work is all or nothing, its messages are hidden
from others until it ends, and the death of its owner backs it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mqops.act.core.lanes import Row, Target
from mqops.act.core.port import CannotTake, Taken
from mqops.errors import OutcomeUnknown, TransientMQError
from mqops.ledger.core.marker import LaneToken, Marker
from mqwire import constants as c


class Death(BaseException):
    """The process is killed: nothing of it runs any more."""


@dataclass
class Message:
    msg_id: bytes
    correl_id: bytes
    key: str
    body: bytes = b""
    size: int = 1


@dataclass
class TargetQueue:
    """A destination: how many messages it takes, and how long they may be; how many puts it refused as it was full."""

    room: int = 10**9
    longest: int = 10**9
    missing: bool = False
    messages: list[Message] = field(default_factory=list)
    consumed: list[Message] = field(default_factory=list)
    refused: int = 0

    def drain(self) -> None:
        """An application takes what is there."""
        self.consumed += self.messages
        self.messages.clear()


@dataclass
class QueueManager:
    sources: dict[str, list[Message]]
    targets: dict[str, TargetQueue]
    ledger: list[Message] = field(default_factory=list)
    discarded: Counter[str] = field(default_factory=Counter)
    reports: list[Message] = field(default_factory=list)
    shut: set[str] = field(default_factory=set)


@dataclass
class Trouble:
    """What happens at which call, counted over all processes: "death", "unmade" or "made" (a commit), "broken"; a full
    queue is "drained"; a queue that is taken from is "shut" or opened again."""

    at: dict[int, str]
    calls: Iterator[int]

    def next(self) -> str:
        return self.at.pop(next(self.calls), "")


class MemoryPort:
    """One process's connection. `end` is what the queue manager does when it notices that the process is gone."""

    def __init__(self, manager: QueueManager, trouble: Trouble, limit: int = 10**9) -> None:
        self.manager = manager
        self.trouble = trouble
        self.limit = limit
        self.got: list[tuple[list[Message], int, Message]] = []
        self.puts: list[tuple[list[Message], Message]] = []
        self.opened: set[Target] = set()
        self.cursor: tuple[list[Message], int, Message] | None = None

    # the calls

    def _call(self) -> str:
        trouble = self.trouble.next()
        if trouble == "death":
            raise Death
        if trouble == "broken":
            self.end()
            raise TransientMQError(2, c.MQRC_CONNECTION_BROKEN, verb="MQGET")
        if trouble == "drained":
            self.manager.targets["FULL"].drain()
        if trouble == "shut":
            self.manager.shut ^= {"OTHER"}
        return trouble

    def _room_in_unit(self) -> None:
        if len(self.got) + len(self.puts) >= self.limit:
            raise TransientMQError(2, c.MQRC_SYNCPOINT_LIMIT_REACHED, verb="MQPUT")

    def _take(self, queue: list[Message], index: int) -> Message:
        self._room_in_unit()
        message = queue.pop(index)
        self.got.append((queue, index, message))
        return message

    def take_lane_token(self, correl_id: bytes, *, wait_ms: int, fits: Callable[[LaneToken], bool]) -> LaneToken | None:
        self._call()
        ledger = self.manager.ledger
        for index, message in enumerate(ledger):
            if message.correl_id == correl_id and fits(lane_token := LaneToken.unpack(message.body)):
                self._take(ledger, index)
                return lane_token
        return None

    def put_lane_token(self, correl_id: bytes, body: bytes) -> None:
        self._put(self.manager.ledger, Message(b"", correl_id, "ticket", body))

    def put_marker(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        self._put(self.manager.ledger, Message(msg_id, correl_id, "marker", body))

    def marker(self, msg_id: bytes) -> Marker | None:
        self._call()
        return next((Marker.unpack(one.body) for one in self.manager.ledger if one.msg_id == msg_id), None)

    def _put(self, queue: list[Message], message: Message) -> None:
        self._call()
        self._room_in_unit()
        self.puts.append((queue, message))

    def open_target(self, target: Target) -> int:
        self._call()
        if self.manager.targets[target.queue].missing:
            return c.MQRC_UNKNOWN_OBJECT_NAME
        self.opened.add(target)
        return 0

    def refuses(self, _target: Target) -> str:
        return ""

    def depth(self, target: Target) -> int | None:
        self._call()
        return len(self.manager.targets[target.queue].messages)

    def forget_target(self, target: Target) -> None:
        self.opened.discard(target)

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        self._call()
        if row.queue in self.manager.shut:
            raise CannotTake(c.MQRC_GET_INHIBITED)
        queue = self.manager.sources[row.queue]
        for index, message in enumerate(queue):
            fits = (message.msg_id, message.correl_id) == (row.msg_id, row.correl_id)
            if fits and (not careful or message.key == row.msg_key):
                self._take(queue, index)
                return Taken(md=b"", body=message.body, key=message.key)
        return None

    def put(self, row: Row, taken: Taken) -> int:
        assert row.target in self.opened
        _queue, _index, message = self.got[-1]
        target = self.manager.targets[row.dest_q]
        waiting = sum(queue is target.messages for queue, _message in self.puts)
        if message.size > target.longest:
            return c.MQRC_MSG_TOO_BIG_FOR_Q
        if len(target.messages) + waiting >= target.room:
            target.refused += 1
            return c.MQRC_Q_FULL
        self._put(target.messages, message)
        return 0

    def report_discarded(self, row: Row, taken: Taken) -> int:
        _queue, _index, message = self.got[-1]
        self._put(self.manager.reports, Message(b"", message.msg_id, message.key, b""))
        return 0

    def commit(self) -> None:
        trouble = self._call()
        if trouble == "unmade":
            self.end()
            raise OutcomeUnknown(2, c.MQRC_CONNECTION_BROKEN, verb="MQCMIT")
        for queue, message in self.puts:
            queue.append(message)
        moved = {id(message) for _queue, message in self.puts}
        for queue, _index, message in self.got:
            if queue is not self.manager.ledger and id(message) not in moved:
                self.manager.discarded[message.key] += 1
        self.got, self.puts = [], []
        if trouble == "made":
            raise OutcomeUnknown(2, c.MQRC_CONNECTION_BROKEN, verb="MQCMIT")

    def backout(self) -> None:
        self._call()
        self.end()

    def end(self) -> None:
        """Undo the unit of work."""
        for queue, index, message in reversed(self.got):
            queue.insert(index, message)
        self.got, self.puts = [], []
