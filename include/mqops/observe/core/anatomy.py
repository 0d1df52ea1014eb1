"""The anatomy of a dead-letter queue: its messages by reason, origin, application and age; growth since the last run.

1. The reason and the origin (queue and queue manager) are the MQDLH's; without one the reason is `no MQDLH`.
2. The application is the one that put the message first (MQMD.PutApplName).
3. The age is the time since the MQDLH was written (PutDate, PutTime); without a valid timestamp in it, since the
   message was put, and how many messages have their age by that is said. It is unknown if neither is valid, as for AGE.
4. Growth is that of all ages together: messages do not grow by getting older.
5. Origins that are dynamic queues are one for each prefix: `AMQ.*`. Then the largest `MOST_GROUPS` groups (reason,
   origin, application) have names, the rest is added up as `(others)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, NotRequired

from typing_extensions import TypedDict

from mqops.counted import counted
from mqops.dynamic import folded_name
from mqops.model import Destination, QueueBrief
from mqops.observe.core.openmetrics import Gauge, text_of
from mqops.printable import printable

AGES: Mapping[str, timedelta] = {
    "<1h": timedelta(hours=1),
    "<1d": timedelta(days=1),
    "<7d": timedelta(days=7),
    "<30d": timedelta(days=30),
}
"""Name of an age → the least that is older."""
OLDER, UNKNOWN = ">=30d", "unknown"
NO_DLH = "no MQDLH"
MOST_GROUPS = 1000
TOP_GROUPS = 5
"""Groups that a run's summary names."""


class Group(NamedTuple):
    """What messages have in common besides their age. `reason` is a symbol such as MQRC_Q_FULL."""

    reason: str
    origin_q: str
    origin_q_mgr: str
    application: str


class Cell(NamedTuple):
    """Messages of one group and age, and the bytes of their bodies."""

    group: Group
    age: str
    messages: int
    bytes: int


OTHERS = Group(*["(others)"] * 4)


class Since(NamedTuple):
    """The record that growth is measured from: its run (blank: it made none) and time; both blank if there is none."""

    run: str = ""
    observed_at: str = ""


NO_RECORD = Since()


class OriginJson(TypedDict):
    """A group in JSON."""

    reason: str
    origin_q: str
    origin_q_mgr: str
    application: str


class GroupJson(OriginJson):
    """A group, with the growth of its messages."""

    messages: int


class CellJson(GroupJson):
    """A cell in JSON."""

    age: str
    bytes: int


class QueueJson(TypedDict):
    """A queue in JSON (`QueueAnatomy`)."""

    queue_manager: str
    queue: str
    run: str
    observed_at: str
    messages: NotRequired[int]
    oldest: str
    cells: list[CellJson]
    since: dict[str, str]
    growth: list[GroupJson]
    aged_by_md: NotRequired[int]


class AnatomyJson(TypedDict):
    """RUN/anatomy.json."""

    queues: list[QueueJson]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAnatomy:
    """A queue as it was observed.

    Parameters: `run` blank for a look without one; `oldest` put date and time (16 digits, GMT), blank if not known;
    `cells` largest first; `since` the last record before it;
    `growth` group → messages more (or fewer, below zero) than in that record; `aged_by_md` messages with an MQDLH whose
    age is that of the MQMD (rule 3).
    """

    queue_manager: str
    queue: str
    observed_at: str
    run: str = ""
    oldest: str = ""
    cells: tuple[Cell, ...] = ()
    since: Since = NO_RECORD
    growth: Mapping[Group, int] = field(default_factory=dict)
    aged_by_md: int = 0

    @property
    def messages(self) -> int:
        """All messages."""
        return sum(cell.messages for cell in self.cells)

    def groups(self) -> Counter[Group]:
        """Group → messages of all ages."""
        found: Counter[Group] = Counter()
        for cell in self.cells:
            found[cell.group] += cell.messages
        return found

    def to_json(self) -> QueueJson:
        """A JSON object."""
        return {
            "queue_manager": self.queue_manager,
            "queue": self.queue,
            "run": self.run,
            "observed_at": self.observed_at,
            "messages": self.messages,
            "oldest": self.oldest,
            "cells": [
                {**_of_group(c.group), "age": c.age, "messages": c.messages, "bytes": c.bytes} for c in self.cells
            ],
            "since": self.since._asdict(),
            "growth": [{**_of_group(group), "messages": number} for group, number in self.growth.items()],
            "aged_by_md": self.aged_by_md,
        }

    @classmethod
    def from_json(cls, value: QueueJson) -> QueueAnatomy:
        """What `to_json` made."""
        return cls(
            queue_manager=value["queue_manager"],
            queue=value["queue"],
            run=value["run"],
            observed_at=value["observed_at"],
            oldest=value["oldest"],
            cells=tuple(Cell(_group(c), c["age"], c["messages"], c["bytes"]) for c in value["cells"]),
            since=Since(value["since"]["run"], value["since"]["observed_at"]),
            growth={_group(grown): grown["messages"] for grown in value["growth"]},
            aged_by_md=value.get("aged_by_md", 0),
        )


def _numbers(cell: Cell) -> dict[str, str | int]:
    return {"age": cell.age, "messages": cell.messages, "bytes": cell.bytes}


def _of_group(group: Group) -> OriginJson:
    return {
        "reason": group.reason,
        "origin_q": group.origin_q,
        "origin_q_mgr": group.origin_q_mgr,
        "application": group.application,
    }


def _group(value: OriginJson) -> Group:
    return Group(value["reason"], value["origin_q"], value["origin_q_mgr"], value["application"])


def brief(queue: QueueAnatomy) -> QueueBrief:
    """What a run's summary says of a queue: its messages, growth since the last record (`since` its run, `since_at` its
    time, both blank: none to compare with), and the same of its largest groups."""
    groups, growth = queue.groups(), queue.growth
    largest = sorted(groups, key=lambda group: (-groups[group], group))[:TOP_GROUPS]
    return {
        "queue": queue.queue,
        "messages": queue.messages,
        "growth": sum(growth.values()),
        "since": queue.since.run,
        "since_at": queue.since.observed_at,
        "groups": len(groups),
        "top": [
            {
                "reason": group.reason,
                "origin_q": group.origin_q,
                "origin_q_mgr": group.origin_q_mgr,
                "application": group.application,
                "messages": groups[group],
                "growth": growth.get(group, 0),
            }
            for group in largest
        ],
    }


def anatomy_lines(briefs: Iterable[QueueBrief]) -> Iterator[str]:
    """What `brief` said as lines of text."""
    for queue in briefs:
        since = growth_since(queue["since"], queue.get("since_at", ""))
        growth = f", {queue['growth']:+} {since}" if since else ""
        yield f"{queue['queue']} was made of {counted(queue['messages'], 'message')}{growth}"
        for row in queue["top"]:
            grown_by = f", {row['growth']:+}" if since else ""
            yield f"{row['messages']:8}  {label(_group(row))}{grown_by}"
        if queue["groups"] > len(queue["top"]):
            more = counted(queue["groups"] - len(queue["top"]), "smaller group")
            yield f"{'':10}and {more}: see `mqops dlq anatomy`"


def aged_by_md(messages: int) -> str:
    """The sentence about messages whose age is that of the MQMD; "" for none."""
    if not messages:
        return ""
    have, their = ("has", "its") if messages == 1 else ("have", "their")
    said = f"{counted(messages, 'message')} {have} no valid put date and time in the MQDLH"
    return f"{said}: {their} age is that of the MQMD"


def growth_since(run: str, at: str) -> str:
    """The record that growth is measured from: its run, or its time if the queue was empty and no run was made. Blank
    without a record."""
    return f"since run {run}" if run else f"since it was empty at {at}" if at else ""


def label(group: Group) -> str:
    """Reason, origin and application in a line."""
    origin = str(Destination(group.origin_q, group.origin_q_mgr)) if group.origin_q else "-"
    return printable(f"{group.reason}  {origin}  {group.application or '-'}")


def limits(observed_at: str) -> dict[str, str]:
    """Name of an age → the put date and time (16 digits) that a message of it is not before."""
    now = datetime.fromisoformat(observed_at).astimezone(UTC)
    return {name: (now - age).strftime("%Y%m%d%H%M%S00") for name, age in AGES.items()}


def folded(cells: Iterable[Cell], most: int = MOST_GROUPS) -> tuple[Cell, ...]:
    """Rule 5; the largest cell first."""
    given = [cell._replace(group=cell.group._replace(origin_q=folded_name(cell.group.origin_q))) for cell in cells]
    sizes: Counter[Group] = Counter()
    for cell in given:
        sizes[cell.group] += cell.messages
    named = set(sorted(sizes, key=lambda group: (-sizes[group], group))[:most])
    messages: Counter[tuple[Group, str]] = Counter()
    size: Counter[tuple[Group, str]] = Counter()
    for cell in given:
        key = (cell.group if cell.group in named else OTHERS, cell.age)
        messages[key] += cell.messages
        size[key] += cell.bytes
    return tuple(Cell(*key, messages[key], size[key]) for key in sorted(messages, key=lambda k: (-messages[k], k)))


def grown(now: QueueAnatomy, before: QueueAnatomy) -> dict[Group, int]:
    """Growth by group, without those that stayed as they were. Its sum is that of the queue, whatever was folded."""
    new, old = now.groups(), before.groups()
    named = set(new) if OTHERS in new else set(new) | set(old)
    growth = {group: new[group] - old[group] for group in sorted(named - {OTHERS}) if new[group] != old[group]}
    rest = new.total() - old.total() - sum(growth.values())
    return growth | ({OTHERS: rest} if rest else {})


def openmetrics(queues: Iterable[QueueAnatomy]) -> str:
    """The figures of queues as OpenMetrics text."""
    seen = list(queues)
    places = [({"queue_manager": queue.queue_manager, "queue": queue.queue}, queue) for queue in seen]
    cells = [(place | _labels(cell.group) | {"age": cell.age}, cell) for place, queue in places for cell in queue.cells]
    return text_of(
        (
            Gauge(
                name="mqops_dlq_messages",
                help="Messages on a dead-letter queue by reason, origin, application and age.",
                samples=tuple((labels, cell.messages) for labels, cell in cells),
            ),
            Gauge(
                name="mqops_dlq_size_bytes",
                help="Bytes of those messages, their dead-letter headers included.",
                unit="bytes",
                samples=tuple((labels, cell.bytes) for labels, cell in cells),
            ),
            Gauge(
                name="mqops_dlq_growth",
                help="Messages more than in the last recorded run, by reason, origin and application.",
                samples=tuple(
                    (place | _labels(group), number)
                    for place, queue in places
                    for group, number in queue.growth.items()
                ),
            ),
            Gauge(
                name="mqops_dlq_depth",
                help="Messages that were looked at.",
                samples=tuple((place, queue.messages) for place, queue in places),
            ),
            Gauge(
                name="mqops_dlq_oldest_age_seconds",
                help="Time between the oldest message and the look.",
                unit="seconds",
                samples=tuple((place, age) for place, queue in places if (age := _oldest_age(queue)) is not None),
            ),
            Gauge(
                name="mqops_dlq_observed_timestamp_seconds",
                help="When the queue was looked at.",
                unit="seconds",
                samples=tuple((place, _instant(queue.observed_at).timestamp()) for place, queue in places),
            ),
        )
    )


def _labels(group: Group) -> dict[str, str]:
    return {
        "reason": group.reason,
        "origin_queue": group.origin_q,
        "origin_queue_manager": group.origin_q_mgr,
        "application": group.application,
    }


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _oldest_age(queue: QueueAnatomy) -> int | None:
    """Seconds, not below 0; None if no message has a valid put time."""
    try:
        put = datetime.strptime(queue.oldest[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0, int((_instant(queue.observed_at) - put).total_seconds()))
