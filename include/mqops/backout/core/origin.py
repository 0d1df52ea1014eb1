"""Where a message on a backout queue came from (P08). Which queues cannot have one: `mqops.backout.core.misconfigured`.

1. One queue names the backout queue as its BOQNAME: that one, whatever the message says of itself; only a consumer of
   it can have requeued the message.
2. Several name it: the one that the message's MQRFH2 gives as JMS destination (`jms/Dst`), aliases resolved. If it is
   none of them, or there is no MQRFH2, the origin is ambiguous.
3. None names it (it was given by name): the JMS destination, if it is a local queue.
4. On the queue manager's dead-letter queue an MQDLH, where there is one, beats all this: it says where the message was
   to go. On any other queue the putter can have written it, so it chooses no queue. The origin of such a message is
   ambiguous: RETRY would take off a header that belongs to it.

An ambiguous origin is blank. It takes a rule that names a queue to move such a message; all others leave it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mqops.backout.core.misconfigured import Misconfigured, backout_queue_of, misconfigured
from mqops.counted import counted
from mqops.model import QueueDefinition
from mqops.queue_names import not_seen

JMS_QUEUE = r"^queue://([^/?]*)/([^?]*)"
"""`queue://[queue manager]/queue[?properties]`, as JMS writes a destination. The same for Python and Spark."""

MOST_SHOWN = 50
"""Misconfigured queues that a run tells one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What decides about backed-out messages, apart from the messages themselves; stored as RUN/backout.json.

    Parameters: `named_by` backout queue → queues that name it; `aliases` alias → its target; `local` local queues that
    count for rule 3; `replay_cap` how often a message is put back before it goes to the queue `quarantine`;
    `dead_letter_queue` the queue manager's DEADQ, blank where it has none (rule 4); `unseen` queues that the
    connection's user may not inquire: each may be a backout queue, or name one; `notes` sentences about names that
    are aliases, and about messages that loop; `backoff` seconds that a message waits after its first replay, its
    second, and so on (`mqops.decide.core.backoff`).
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

    def ambiguous(self, queue: str) -> str:
        """What it means that the origin of a message on a backout queue is ambiguous, and what moves such a message."""
        named = self.named_by.get(queue, ())
        could = "no queue names it as BOQNAME"
        if len(named) == 1:
            could = f"{named[0]} names it as BOQNAME, but what has an MQDLH need not be from there"
        elif named:
            could = f"it can be {' or '.join(named)}, which name it as BOQNAME"
        what = f"Nothing says from which queue a message came to {queue}: {could}"
        return f"{what}. A rule that names a queue (FWDQ) moves it, or mq_recover, where a person names the destination"

    def remarks(self) -> tuple[str, ...]:
        """What a run's summary says of the definitions."""
        shown = [f"misconfigured: {one}" for one in self.misconfigured[:MOST_SHOWN]]
        more = len(self.misconfigured) - len(shown)
        left_off = [f"misconfigured: {counted(more, 'more queue')}"] if more else []
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
    return Setting(
        queue_manager=queue_manager,
        replay_cap=replay_cap,
        quarantine=quarantine,
        named_by={queue: tuple(sorted(set(names) - {queue})) for queue, names in named_by.items()},
        aliases={one.name: one.base for one in known.values() if one.kind == "alias" and one.base},
        local=tuple(sorted(one.name for one in known.values() if one.kind == "local")),
        misconfigured=tuple(misconfigured(known, dead_letter_queue, unseen)),
        dead_letter_queue=dead_letter_queue,
        unseen=unseen,
        notes=(*notes, *_by_alias(known, worked_on)),
        backoff=backoff,
    )


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


def origin_of(queue: str, jms_destination: str | None, where: Setting) -> str:
    """The queue that a message without MQDLH came from; blank if that is ambiguous (rules 1-3).

    Parameters: `queue` it is on; `jms_destination` from its MQRFH2, None where it has none.
    """
    candidates = where.named_by.get(queue, ())
    if len(candidates) == 1:
        return candidates[0]
    said = jms_queue(jms_destination, where.queue_manager)
    said = where.aliases.get(said, said)
    return said if said != queue and said in (candidates or where.local) else ""


def jms_queue(destination: str | None, queue_manager: str) -> str:
    """The queue a JMS destination names, blank if it is on another queue manager or no queue."""
    found = re.match(JMS_QUEUE, destination or "")
    return found[2] if found and found[1] in {"", queue_manager} else ""
