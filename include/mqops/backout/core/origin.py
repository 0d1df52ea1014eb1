"""Where a message on a backout queue came from (P08). Which queues cannot have one: `mqops.backout.core.misconfigured`.

1. The first row of the estate's table that counts on the backout queue and holds for the message
   (`mqops.backout.core.origin_table`).
2. One queue names the backout queue as its BOQNAME: that one, whatever the message says of itself; only a consumer of
   it can have requeued the message.
3. Several name it: the one that the message's MQRFH2 gives as JMS destination (`jms/Dst`), aliases resolved. If it is
   none of them, or there is no MQRFH2, the origin is ambiguous.
4. None names it (it was given by name): the JMS destination, if it is a local queue.
5. On the queue manager's dead-letter queue an MQDLH, where there is one, beats all this: it says where the message was
   to go. On any other queue the putter can have written it, so it chooses no queue. The origin of such a message is
   ambiguous: RETRY would take off a header that belongs to it.

An ambiguous origin is blank. It takes a rule that names a queue to move such a message; all others leave it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from mqops.backout.core.misconfigured import MISCONFIGURED, Misconfigured, backout_queue_of, misconfigured
from mqops.backout.core.origin_table import SECTION, OriginRow, first_that_holds
from mqops.counted import counted
from mqops.model import QueueDefinition
from mqops.observe.core.columns import SnapshotRow
from mqops.queue_names import not_seen

JMS_QUEUE = r"^queue://([^/?]*)/([^?]*)"
"""`queue://[queue manager]/queue[?properties]`, as JMS writes a destination. The same for Python and Spark."""

MOST_SHOWN = 50
"""Misconfigured queues that a run tells one by one."""


class By(Enum):
    """What decided where a message came from: rules 1, 2, 3 or 4, and 5; or nothing did."""

    TABLE = "table"
    BOQNAME = "BOQNAME"
    JMS = "jms/Dst"
    DEAD_LETTER = "MQDLH"
    NOTHING = ""


class Origin(NamedTuple):
    """Where a message came from. Parameters: `queue` blank where that is ambiguous; `row` of the table, from 0."""

    queue: str
    by: By
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What decides about backed-out messages, apart from the messages themselves; stored as RUN/backout.json.

    Parameters: `named_by` backout queue → queues that name it; `aliases` alias → its target; `local` local queues that
    count for rule 4; `replay_cap` how often a message is put back before it goes to the queue `quarantine`;
    `dead_letter_queue` the queue manager's DEADQ, blank where it has none (rule 5); `unseen` queues that the
    connection's user may not inquire: each may be a backout queue, or name one; `notes` sentences about names that
    are aliases, and about messages that loop; `backoff` seconds that a message waits after its first replay, its
    second, and so on (`mqops.decide.core.backoff`); `origins` the estate's table, aliases resolved; `counting` backout
    queue → numbers of its rows that count there.
    """

    queue_manager: str
    replay_cap: int
    quarantine: str
    named_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    local: tuple[str, ...] = ()
    misconfigured: tuple[Misconfigured, ...] = ()
    dead_letter_queue: str = ""
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    backoff: tuple[int, ...] = ()
    origins: tuple[OriginRow, ...] = ()
    counting: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def ambiguous(self, queue: str) -> str:
        """What it means that the origin of a message on a backout queue is ambiguous, and what moves such a message."""
        named = self.named_by.get(queue, ())
        could = "no queue names it as BOQNAME"
        if len(named) == 1:
            could = f"{named[0]} names it as BOQNAME, but what has an MQDLH need not be from there"
        elif named:
            could = f"it can be {' or '.join(named)}, which name it as BOQNAME"
        what = f"Nothing says from which queue a message came to {queue}: {could}"
        by = "A rule that names a queue (FWDQ) moves it, or mq_recover, where a person names the destination"
        return f"{what}. {by}. A row of {SECTION} in the estate decides it for all that are like it"

    def remarks(self) -> tuple[str, ...]:
        """What a run's summary says of the definitions."""
        shown = [f"{MISCONFIGURED}{one}" for one in self.misconfigured[:MOST_SHOWN]]
        more = len(self.misconfigured) - len(shown)
        left_off = [f"{MISCONFIGURED}{counted(more, 'more queue')}"] if more else []
        hidden = filter(None, [not_seen(self.unseen)])
        return (*hidden, *self.notes, *shown, *left_off)


def setting(
    definitions: Iterable[QueueDefinition],
    *,
    queue_manager: str,
    queues: Iterable[str],
    replay_cap: int,
    quarantine: str,
    dead_letter_queue: str,
    unseen: tuple[str, ...] = (),
    notes: Iterable[str] = (),
    backoff: tuple[int, ...] = (),
    origins: tuple[OriginRow, ...] = (),
) -> Setting:
    """The setting for backout queues.

    Parameters: `definitions` of all queues of the queue manager; `queues` the backout queues that are worked on; the
    others as in `Setting`.
    """
    known = {one.name: one for one in definitions}
    worked_on = tuple(queues)
    named_by = {
        queue: [one.name for one in known.values() if backout_queue_of(one, known) == queue] for queue in worked_on
    }
    aliases = {one.name: one.base for one in known.values() if one.kind == "alias" and one.base}
    rows = tuple(_resolved(row, aliases) for row in origins)
    return Setting(
        queue_manager=queue_manager,
        replay_cap=replay_cap,
        quarantine=quarantine,
        named_by={queue: tuple(sorted(set(names) - {queue})) for queue, names in named_by.items()},
        aliases=aliases,
        local=tuple(sorted(one.name for one in known.values() if one.kind == "local")),
        misconfigured=tuple(misconfigured(known, dead_letter_queue, unseen)),
        dead_letter_queue=dead_letter_queue,
        unseen=unseen,
        notes=(*notes, *_by_alias(known, worked_on), *_idle(rows, known, unseen)),
        backoff=backoff,
        origins=rows,
        counting={queue: tuple(_counting(rows, queue, known)) for queue in worked_on} if rows else {},
    )


def _resolved(row: OriginRow, aliases: Mapping[str, str]) -> OriginRow:
    backout_queue = aliases.get(row.backout_queue, row.backout_queue)
    return replace(row, queue=aliases.get(row.queue, row.queue), backout_queue=backout_queue)


def _counting(rows: Iterable[OriginRow], queue: str, known: Mapping[str, QueueDefinition]) -> Iterable[int]:
    """The numbers of the rows that count on a backout queue (rule 1 of `mqops.backout.core.origin_table`)."""
    for number, row in enumerate(rows):
        target = known.get(row.queue)
        if target is None or target.kind != "local" or target.transmission or target.name == queue:
            continue
        if (row.backout_queue or backout_queue_of(target, known)) == queue:
            yield number


def _idle(rows: Iterable[OriginRow], known: Mapping[str, QueueDefinition], unseen: Collection[str]) -> Iterable[str]:
    """A sentence for each row that counts on no backout queue."""
    for number, row in enumerate(rows):
        if why := _why_idle(row, known, unseen):
            yield f"{SECTION}.{number} decides nothing: {why}"


def _why_idle(row: OriginRow, known: Mapping[str, QueueDefinition], unseen: Collection[str]) -> str:
    target = known.get(row.queue)
    if hidden := next((name for name in (row.queue, row.backout_queue) if name in unseen), ""):
        return f"the connection's user may not inquire {hidden} (+dsp, +inq)"
    if target is None or target.kind != "local" or target.transmission:
        return f"{row.queue} is no local queue for messages of programs: correct the name"
    at = row.backout_queue or backout_queue_of(target, known)
    if not at or (at == row.queue and not row.backout_queue):
        return f"{row.queue} names no other queue as BOQNAME: give the row a backout_queue, or correct its queue"
    if at == row.queue:
        return f"{at} is its queue and its backout_queue: correct one of them"
    return "" if at in known else f"there is no queue {at}: correct the name, or define it"


def backout_queues(definitions: Iterable[QueueDefinition]) -> tuple[str, ...]:
    """The local queues that another queue names as BOQNAME, itself or by an alias, sorted. A transmission queue is
    none: its messages are its channel's."""
    known = {one.name: one for one in definitions}
    named = {target for one in known.values() if (target := backout_queue_of(one, known)) != one.name}
    found = (known[name] for name in named if name in known)
    return tuple(sorted(one.name for one in found if one.kind == "local" and not one.transmission))


def _by_alias(known: Mapping[str, QueueDefinition], queues: Iterable[str]) -> Iterable[str]:
    """A sentence for each of these queues that another names as BOQNAME by an alias."""
    wanted = set(queues)
    for one in sorted(known.values(), key=lambda each: each.name):
        target = backout_queue_of(one, known)
        if target != one.backout_queue and target in wanted:
            yield f"{one.name}: BOQNAME({one.backout_queue}) is an alias of {target}, which is looked at"


def origin_of(message: SnapshotRow, where: Setting) -> Origin:
    """Where a message came from (rules 1-5). Parameters: `message` column of the snapshot → value."""
    queue = message["queue"]
    if message["dlh_error"] is None:
        is_dead_letter = queue == where.dead_letter_queue
        return Origin(message["dlh_dest_q"] or "", By.DEAD_LETTER) if is_dead_letter else Origin("", By.NOTHING)
    row = first_that_holds(where.origins, where.counting.get(queue, ()), message)
    if row is not None:
        return Origin(where.origins[row].queue, By.TABLE, row)
    candidates = where.named_by.get(queue, ())
    if len(candidates) == 1:
        return Origin(candidates[0], By.BOQNAME)
    said = jms_target(message["jms_destination"], where)
    return Origin(said, By.JMS) if said != queue and said in (candidates or where.local) else Origin("", By.NOTHING)


def jms_target(destination: str | None, where: Setting) -> str:
    """The queue that a JMS destination leads to, blank if it is none of this queue manager."""
    said = jms_queue(destination, where.queue_manager)
    return where.aliases.get(said, said)


def jms_queue(destination: str | None, queue_manager: str) -> str:
    """The queue a JMS destination names, blank if it is on another queue manager or no queue."""
    found = re.match(JMS_QUEUE, destination or "")
    return found[2] if found and found[1] in {"", queue_manager} else ""
