"""A queue manager in a few plain lists: what the embedded one is compared with. Written from IBM's pages, not from it.

1. A queue is a list of messages in order of arrival; delivery takes the highest priority first, or none on FIFO.
2. A message put in a unit of work is seen by nobody till commit. One got in a unit of work is seen by nobody; it comes
   back to its place, its backout count one higher, when the unit ends otherwise.
3. The depth counts uncommitted puts and not uncommitted gets; only puts look at the limit.
4. A browse cursor stands on a message or, gone or not, where that was; the next one is behind that place.
5. All handles cooperate. A mark is a handle's, or that of all of them; it ends with its handle or the last one, when it
   is removed, or when the message is got. No mark ends by itself (MARKINT(NOLIMIT)).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pymqi import CMQC

OK = 0


@dataclass(slots=True, eq=False)
class Message:
    """A message: `putter` and `getter` are the connections whose units of work hold it; `markers` those that marked it
    for themselves, `marked` for all.
    """

    arrival: int
    rank: int
    body: bytes
    msg_id: bytes
    priority: int
    putter: int | None = None
    getter: int | None = None
    backouts: int = 0
    marked: bool = False
    markers: set[int] = field(default_factory=set)

    def is_marked(self, who: int) -> bool:
        return self.marked or who in self.markers

    @property
    def place(self) -> tuple[int, int]:
        return (self.rank, self.arrival)

    @property
    def available(self) -> bool:
        return self.putter is None and self.getter is None


@dataclass(slots=True, eq=False)
class ModelQueue:
    """A local queue."""

    limit: int
    fifo: bool
    messages: list[Message] = field(default_factory=list)
    put_inhibited: bool = False
    get_inhibited: bool = False
    openers: set[int] = field(default_factory=set)

    def depth(self) -> int:
        return sum(message.getter is None for message in self.messages)

    def in_order(self) -> list[Message]:
        return sorted((message for message in self.messages if message.available), key=lambda message: message.place)


Answer = tuple[int, bytes, bytes, int, int]
"""Reason, body, MsgId, priority, backout count."""


def refusal(reason: int) -> Answer:
    return (reason, b"", b"", 0, 0)


class Model:
    """Queues by name, and a browse cursor for each connection and queue."""

    def __init__(self, queues: dict[str, ModelQueue]) -> None:
        self.queues = queues
        self.cursors: dict[tuple[int, str], Message | None] = {}
        self.arrivals = 0

    def opened(self, who: int, name: str) -> ModelQueue:
        """The queue, which the connection has open from now on."""
        self.queues[name].openers.add(who)
        return self.queues[name]

    def put(self, who: int, name: str, body: bytes, msg_id: bytes, priority: int, *, syncpoint: bool) -> Answer:
        queue = self.opened(who, name)
        if queue.put_inhibited:
            return refusal(CMQC.MQRC_PUT_INHIBITED)
        if queue.depth() >= queue.limit:
            return refusal(CMQC.MQRC_Q_FULL)
        self.arrivals += 1
        rank = 0 if queue.fifo else -priority
        message = Message(self.arrivals, rank, body, msg_id, priority, putter=who if syncpoint else None)
        queue.messages.append(message)
        return (OK, b"", msg_id, priority, 0)

    def get(self, who: int, name: str, *, msg_id: bytes = b"", syncpoint: bool) -> Answer:
        queue = self.opened(who, name)
        if queue.get_inhibited:
            return refusal(CMQC.MQRC_GET_INHIBITED)
        found = next((one for one in queue.in_order() if not msg_id or one.msg_id == msg_id), None)
        return self._taken(queue, who, found, syncpoint=syncpoint, missing=CMQC.MQRC_NO_MSG_AVAILABLE)

    def get_under_cursor(self, who: int, name: str, *, syncpoint: bool) -> Answer:
        queue = self.opened(who, name)
        if queue.get_inhibited:
            return refusal(CMQC.MQRC_GET_INHIBITED)
        cursor = self.cursors.get((who, name))
        found = cursor if cursor is not None and cursor in queue.messages and cursor.available else None
        return self._taken(queue, who, found, syncpoint=syncpoint, missing=CMQC.MQRC_NO_MSG_UNDER_CURSOR)

    @staticmethod
    def _taken(queue: ModelQueue, who: int, found: Message | None, *, syncpoint: bool, missing: int) -> Answer:
        if found is None:
            return refusal(missing)
        found.marked = False
        found.markers.clear()
        if syncpoint:
            found.getter = who
        else:
            queue.messages.remove(found)
        return (OK, found.body, found.msg_id, found.priority, found.backouts)

    def look(self, name: str) -> tuple[int, list[bytes]]:
        """The depth, and what a new handle finds unmarked."""
        queue = self.queues[name]
        found = [message.body for message in queue.in_order() if not message.marked]
        return queue.depth(), [] if queue.get_inhibited else found

    def unmarked(self, who: int, name: str) -> list[Message]:
        """What the queue has for one who asks for unmarked messages."""
        return [message for message in self.queues[name].in_order() if not message.is_marked(who)]

    def browse(self, who: int, name: str, options: int, *, first: bool) -> Answer:
        queue = self.opened(who, name)
        if queue.get_inhibited:
            return refusal(CMQC.MQRC_GET_INHIBITED)
        cursor = None if first else self.cursors.get((who, name))
        only_unmarked = bool(options & CMQC.MQGMO_UNMARKED_BROWSE_MSG)
        candidates = self.unmarked(who, name) if only_unmarked else queue.in_order()
        found = next((one for one in candidates if cursor is None or one.place > cursor.place), None)
        if found is None:
            return refusal(CMQC.MQRC_NO_MSG_AVAILABLE)
        if options & CMQC.MQGMO_MARK_BROWSE_CO_OP and found.marked:
            return refusal(CMQC.MQRC_MSG_MARKED_BROWSE_CO_OP)
        if options & (CMQC.MQGMO_MARK_BROWSE_CO_OP | CMQC.MQGMO_UNMARK_BROWSE_CO_OP):
            found.marked = bool(options & CMQC.MQGMO_MARK_BROWSE_CO_OP)
        if options & CMQC.MQGMO_MARK_BROWSE_HANDLE:
            found.markers.add(who)
        if options & CMQC.MQGMO_UNMARK_BROWSE_HANDLE:
            found.markers.discard(who)
        self.cursors[who, name] = found
        return (OK, found.body, found.msg_id, found.priority, found.backouts)

    def commit(self, who: int) -> None:
        for queue in self.queues.values():
            queue.messages = [message for message in queue.messages if message.getter != who]
            for message in queue.messages:
                if message.putter == who:
                    message.putter = None

    def back_out(self, who: int) -> None:
        for queue in self.queues.values():
            queue.messages = [message for message in queue.messages if message.putter != who]
            for message in queue.messages:
                if message.getter == who:
                    message.getter = None
                    message.backouts += 1

    def close(self, who: int) -> None:
        """The connection's handles are closed."""
        for key in [key for key in self.cursors if key[0] == who]:
            del self.cursors[key]
        for queue in self.queues.values():
            queue.openers.discard(who)
            for message in queue.messages:
                message.markers.discard(who)
                message.marked &= bool(queue.openers)
