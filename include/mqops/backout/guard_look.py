"""Watches input queues for messages that loop, and gives those messages whole. Nothing is locked or changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from mqops.backout.core.guard import Looping, Sighted, Way, is_last
from mqops.backout.poison import MOST_SEEN, readers_by_queue
from mqops.errors import LOST_CONNECTION, MQError
from mqops.model import QueueDefinition
from mqops.mq.browse import GET_OPTIONS, OPEN_OPTIONS
from mqops.mq.inquire import cannot_be_put_to, depth, queues_above_zero
from mqops.mq.session import MATCH_BOTH, RawMessage, Session
from mqops.observe.core.columns import BOUND
from mqops.observe.core.put_time import put_instant
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

HEAD = 50
"""Messages of a queue that are looked at again and again: one that was backed out is before those that came later."""
PAUSE = 0.02
"""Seconds between two looks at a queue: a program that loops has its message most of the time."""
WAIT_MS = 1000
"""Milliseconds to wait for a message that a unit of work hides."""
PATIENCE = 5.0
"""Seconds to wait for the messages of a queue, all together."""
_LOOK = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_BROWSE_NEXT
_read = MQMD_LAYOUT.reader(
    "msg_id", "correl_id", "backout_count", "put_date", "put_time", "group_id", "msg_flags", "msg_seq_number", "offset"
)


_Place: TypeAlias = tuple[int, int, bytes, bytes]
"""Of a message in a group: its number, its offset, MsgId and CorrelId."""


class _Seen(NamedTuple):
    """A descriptor, and when it was seen (seconds of a monotonic clock)."""

    backouts: int
    at: float
    md: tuple[bytes, bytes, int, bytes, bytes, bytes, int, int, int]


@dataclass(slots=True)
class _Watch:
    """What is seen of a queue.

    Attributes: `first` and `last` MsgId and CorrelId → the first and the last look at a message that was backed out;
    `here` those that the last look saw; `looks` how many there were.
    """

    queue: QueueDefinition
    first: dict[bytes, _Seen] = field(default_factory=dict)
    last: dict[bytes, _Seen] = field(default_factory=dict)
    here: set[bytes] = field(default_factory=set)
    looks: int = 0

    def look(self, session: Session) -> None:
        """Look once at its first messages; again at a few only, until one has been backed out. Raises `MQError`."""
        most = MOST_SEEN if self.first or not self.looks else HEAD
        self.looks += 1
        self.here.clear()
        handle, seen = session.open(self.queue.name, OPEN_OPTIONS), 0
        try:
            while seen < most and (got := session.get(handle, _LOOK, room=0, name=self.queue.name)):
                seen += 1
                md = _read(got.md)
                if md[2]:
                    sighted = _Seen(md[2], time.monotonic(), md)
                    self.first.setdefault(md[0] + md[1], sighted)
                    self.last[md[0] + md[1]] = sighted
                    self.here.add(md[0] + md[1])
        finally:
            session.close(handle)

    def sighted(self, half: float) -> Iterator[tuple[bytes, Sighted]]:
        """Its messages at or over BOTHRESH. One that is not seen from `half` on, and whose count did not rise, was
        taken by its program meanwhile."""
        for key, last in self.last.items():
            first = self.first[key]
            rose, between = last.backouts - first.backouts, last.at - first.at
            if last.backouts >= self.queue.threshold and (rose > 0 or last.at >= half):
                msg_id, correl_id, count, put_date, put_time, group_id, flags, _number, _offset = last.md
                yield (
                    key,
                    Sighted(
                        msg_id=msg_id.hex(),
                        correl_id=correl_id.hex(),
                        group_id=group_id.hex() if flags & BOUND else "",
                        count=count,
                        rose=max(rose, 0),
                        per_minute=round(60 * rose / between) if rose > 0 and between > 0 else 0,
                        put_at=put_instant(_text(put_date), _text(put_time)),
                    ),
                )


def _text(raw: bytes | str) -> str:
    return (raw if isinstance(raw, str) else raw.decode("latin-1")).strip(" \0")


class Watched(NamedTuple):
    """Parameters: `found` queues with messages that loop; `not_seen` those that cannot be browsed."""

    found: tuple[Looping, ...]
    not_seen: tuple[str, ...]


def watched(
    session: Session,
    definitions: Iterable[QueueDefinition],
    way_of: Callable[[QueueDefinition], Way],
    *,
    seconds: float,
) -> Watched:
    """Look at input queues again and again for a while.

    Parameters: `definitions` of the queues; `way_of` tells where messages of one go; `seconds` of the watch, for the
    queues where something was backed out, or has uncommitted messages.

    Raises:
        MQError: the connection is lost.
    """
    busy = _busy(session)
    wanted = (one for one in definitions if one.threshold and (one.depth or busy is None or one.name in busy))
    watches, not_seen = list[_Watch](), list[str]()
    begun = time.monotonic()
    for one in sorted(wanted, key=lambda each: each.name):
        watch = _Watch(one)
        if not _looked(session, watch):
            not_seen.append(one.name)
        elif watch.first or busy is None or one.name in busy:
            watches.append(watch)
    looked = time.monotonic()
    half, over = looked + seconds / 2, False
    while watches and not over:
        time.sleep(PAUSE)
        over = time.monotonic() >= looked + seconds
        for watch in watches:
            _looked(session, watch)
    lasted = round(time.monotonic() - begun, 1)
    loops = (_looping(session, watch, way_of, half=half, seconds=lasted) for watch in watches)
    found = [each for each in loops if each]
    readers = readers_by_queue(session, found[0].queue if len(found) == 1 else "*") if found else {}
    read = (replace(each, readers=None if readers is None else readers.get(each.queue, ())) for each in found)
    return Watched(tuple(read), tuple(not_seen))


def _busy(session: Session) -> frozenset[str] | None:
    """The local queues that programs have open for input, or that have uncommitted messages: a message that loops can
    be out of sight. None where the command server does not tell. Raises `MQError` for a lost connection."""
    uncommitted = queues_above_zero(session, c.MQIACF_UNCOMMITTED_MSGS)
    opened = queues_above_zero(session, c.MQIA_OPEN_INPUT_COUNT)
    return None if uncommitted is None or opened is None else uncommitted | opened


def _looked(session: Session, watch: _Watch) -> bool:
    try:
        watch.look(session)
    except MQError as error:
        error.raise_if_lost()
        return False
    return True


def _looping(
    session: Session, watch: _Watch, way_of: Callable[[QueueDefinition], Way], *, half: float, seconds: float
) -> Looping | None:
    messages = dict(watch.sighted(half))
    if not messages:
        return None
    name = watch.queue.name
    visible = len(watch.here & messages.keys())
    return Looping(
        queue=name,
        threshold=watch.queue.threshold,
        messages=tuple(messages.values()),
        behind=max(0, _depth(session, name) - visible),
        seconds=seconds,
        readers=None,
        way=way_of(watch.queue),
    )


def _depth(session: Session, queue: str) -> int:
    try:
        return depth(session, queue)
    except MQError as error:
        error.raise_if_lost()
        return 0  # it has ended


def opened_for_puts(session: Session, definitions: Iterable[QueueDefinition]) -> Mapping[str, int]:
    """BOQNAME of these queues → the reason code of an MQOPEN for puts, 0 where that is allowed. Raises `MQError` for a
    lost connection."""
    found: dict[str, int] = {}
    for name in {one.backout_queue for one in definitions} - {""}:
        error = cannot_be_put_to(session, name)
        if error and error.reason in LOST_CONNECTION:
            raise error
        found[name] = error.reason if error else 0
    return found


def whole_messages(session: Session, looping: Looping) -> Iterator[RawMessage]:
    """The messages of a queue that loop, whole, and those of their MQ groups. One that a unit of work hides is waited
    for a while.

    Raises:
        MQError: the queue cannot be browsed.
    """
    end = time.monotonic() + PATIENCE
    handle = session.open(looping.queue, OPEN_OPTIONS)
    try:
        singles = dict.fromkeys(
            bytes.fromhex(one.msg_id + one.correl_id) for one in looping.messages if not one.group_id
        )
        for ids in singles:
            yield from _with_ids(session, handle, looping, ids, end)
        for group_id in dict.fromkeys(one.group_id for one in looping.messages if one.group_id):
            yield from _group(session, handle, looping, bytes.fromhex(group_id), end)
    finally:
        session.close(handle)


def _with_ids(session: Session, handle: int, looping: Looping, ids: bytes, end: float) -> Iterator[RawMessage]:
    options, wait = GET_OPTIONS | c.MQGMO_BROWSE_FIRST, _left(end)
    while got := session.get(handle, options, match=MATCH_BOTH, ids=ids, wait_ms=wait, name=looping.queue):
        options, wait = GET_OPTIONS | c.MQGMO_BROWSE_NEXT, 0
        md = _read(got.md)
        if md[2] >= looping.threshold and not md[6] & BOUND:
            yield got


def _group(session: Session, handle: int, looping: Looping, group_id: bytes, end: float) -> Sequence[RawMessage]:
    """The messages of a group, in the order of the group; looked for until all are seen, or time is up."""
    found: dict[_Place, RawMessage] = {}
    while True:
        options, wait = GET_OPTIONS | c.MQGMO_BROWSE_FIRST, _left(end)
        match = c.MQMO_MATCH_GROUP_ID
        while got := session.get(handle, options, match=match, group_id=group_id, wait_ms=wait, name=looping.queue):
            options, wait = GET_OPTIONS | c.MQGMO_BROWSE_NEXT, 0
            md = _read(got.md)
            if md[6] & BOUND:
                found[md[7], md[8], md[0], md[1]] = got
        if _is_whole(found) or time.monotonic() >= end:
            return [found[place] for place in sorted(found)]
        time.sleep(PAUSE)


def _is_whole(found: Mapping[_Place, RawMessage]) -> bool:
    """Whether a group has its last message and all before it."""
    numbers = {place[0] for place in found}
    last = any(is_last(_read(got.md)[6]) for got in found.values())
    return last and numbers == set(range(1, max(numbers) + 1))


def _left(end: float) -> int:
    """Milliseconds that a browse may wait."""
    return max(0, min(WAIT_MS, int(1000 * (end - time.monotonic()))))
