"""Inquired pre-flight: would the queues that a plan puts to take its messages, as they are now? Pure.

1. If MQOPEN for puts is refused, the reason is a problem. A model queue is a problem, too: each MQOPEN would create a
   dynamic queue.
2. If a definition cannot be inquired, the finding is unknown. Such a plan is not approved by itself.
3. PUT(DISABLED) of any definition on the way is a problem.
4. All messages that the plan puts on one local queue, under any name, need room: MAXDEPTH - CURDEPTH. This is not
   checked for a queue that the plan takes messages from. Putting there is a problem itself, because the next run finds
   the messages again; an undo is expected to do it.
5. The longest message must not be longer than MAXMSGL, less MQ_MSG_HEADER_LENGTH on a transmission queue.
6. If no program has the queue open for input, that is a warning, unless the queue is storage (`mqops.storage`).
7. A transmission queue needs a running channel: see `CHANNEL_STATES`. Messages that are put on a transmission
   queue under its own name have no transmission header: a problem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from mqops.counted import counted
from mqops.decide.core.protected import is_protected
from mqops.dynamic import folded_name
from mqops.finding import Finding as BaseFinding
from mqops.finding import sentence
from mqops.model import AsJson, Destination
from mqops.mqsc import mqsc_name, raised_max_depth
from mqops.printable import printable
from mqwire.constants import MQ_MSG_HEADER_LENGTH, MQRC_UNKNOWN_OBJECT_NAME
from mqwire.names import reason_name

Severity: TypeAlias = Literal["problem", "unknown", "warning"]
SEVERITIES: tuple[Severity, ...] = ("problem", "unknown", "warning")
"""Worst first. Only a warning leaves a plan to the policy of the estate."""

COMES_BACK = "messages come back to the queue they are taken from"
ANOTHER_QUEUE = "Name another queue (FWDQ) in a rule for them"
"""What is wrong with a rule that moves to the queue that the plan takes from, and what to do."""

NO_DESTINATION = "the destination does not exist"

MOST_SHOWN = 30
"""Findings that are shown; RUN/preflight.json has all."""

CHANNEL_STATES: Mapping[str, Severity | None] = {
    "RUNNING": None,
    **dict.fromkeys(("INACTIVE", "BINDING", "STARTING", "INITIALIZING", "REQUESTING", "SWITCHING"), "warning"),
    **dict.fromkeys(("STOPPING", "RETRYING", "STOPPED", "PAUSED", "DISCONNECTED"), "problem"),
}
"""State of a channel (MQCHS_*) → severity. An inactive channel may be started by a trigger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a plan puts to one name.

    Parameters: `queue` and `queue_manager` (blank: the one that is connected) as they will be opened; `bytes` of all
    bodies and of the `longest`, without an MQDLH that is taken off; `users` whose authority opens it, "" for our own
    and a blank for the blank user of PUTAUT(CTX) (`mqops.actions.OF_NOBODY`); `put_back` whether an undo does.
    """

    queue: str
    queue_manager: str = ""
    messages: int
    bytes: int
    longest: int
    users: tuple[str, ...] = ("",)
    put_back: bool = False

    @property
    def name(self) -> str:
        """`QUEUE@QMGR`, without `@` where the queue manager is blank."""
        return str(Destination(self.queue or "(blank)", self.queue_manager))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A local queue as it is. `depth`, `max_depth` in messages, `max_msg_length` in bytes, `open_input` handles."""

    name: str
    depth: int
    max_depth: int
    max_msg_length: int
    put_allowed: bool = True
    open_input: int = 0
    transmission: bool = False
    storage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel that serves a transmission queue, and its state: MQCHS_* without the prefix."""

    name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquired:
    """What inquiry says of a name that a plan puts to.

    Parameters: `refused` (what, what to do) of each refusal to open it for puts; `untried` users whose opening was not
    tried; `unknown` why it cannot be inquired; `model` whether it is a model queue; `inhibited` the definitions in
    front of `queue` that have PUT(DISABLED); `queue` the local queue that the messages come to lie on; `remote` where
    they go on to from there; `channels` that serve it, where it is a transmission queue; `channels_unknown` why these
    are not known.
    """

    refused: tuple[tuple[str, str], ...] = ()
    untried: int = 0
    unknown: str = ""
    model: bool = False
    inhibited: tuple[str, ...] = ()
    queue: LocalQueue | None = None
    remote: str = ""
    channels: tuple[Channel, ...] = ()
    channels_unknown: str = ""

    @property
    def leads_to(self) -> str:
        """The queue that messages come to lie on, and where they go on to; "" where it is not known."""
        if self.queue is None:
            return ""
        return f"{self.queue.name} for {self.remote}" if self.remote else self.queue.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(BaseFinding):
    """A result of the pre-flight. Parameters: `destination` where something is wrong."""

    severity: Severity
    destination: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"

    @property
    def text(self) -> str:
        """Without its severity."""
        return printable(f"{self.destination}: {sentence(self.what, self.remedy)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A destination of a plan: what is put there, and what inquiry said of it."""

    demand: Demand
    there: Inquired


def shown(findings: Sequence[Finding]) -> list[str]:
    """The worst of them, a line each, and how many more there are. What is said of many dynamic queues of a prefix is
    one line."""
    queues: dict[Finding, set[str]] = {}
    for one in findings:
        name, at, queue_manager = one.destination.partition("@")
        folded = replace(one, destination=f"{folded_name(name)}{at}{queue_manager}")
        queues.setdefault(folded, set()).add(one.destination)
    lines = []
    for one, names in queues.items():
        (only, *others) = names
        of_many = replace(one, destination=f"{one.destination} ({counted(len(names), 'dynamic queue')})")
        lines.append(str(of_many if others else replace(one, destination=only)))
    more = len(lines) - MOST_SHOWN
    return lines[:MOST_SHOWN] + ([counted(more, "more finding")] if more > 0 else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight(AsJson):
    """The results of the pre-flight of a plan; stored as RUN/preflight.json.

    Parameters: `plan` digest; `checked_at` UTC, ISO 8601; `destinations` that the plan puts to; `findings` worst first;
    `remarks` on messages of the plan that are there twice or were put by earlier runs; `looked` the destinations that
    were looked at, most messages first; `taken_from` the local queues that the plan takes messages from.
    """

    plan: str
    checked_at: str
    destinations: int = 0
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    looked: tuple[Looked, ...] = ()
    taken_from: tuple[str, ...] = ()

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings that need a person: problems, and what could not be checked."""
        return tuple(one for one in self.findings if one.severity != "warning")


def judge(looked: Sequence[Looked], taken_from: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings, worst first.

    Parameters: `looked` each demand with its destination; `taken_from` the local queues that the plan takes messages
    from.
    """
    found = [finding for one in looked for finding in _of_one(one.demand, one.there)]
    found += _of_coming_back(looked, taken_from)
    found += _of_room(looked, taken_from)
    return worst_first(found)


def takes_none(one: Looked) -> str:
    """Why a destination takes no message at all, in words; "" where it takes some, or that is not known (rules 1, 3 and
    7, and aliases of protected queues)."""
    demand, there = one.demand, one.there
    if there.model:
        return "the destination is a model queue"
    if there.refused and len(there.refused) == len(demand.users):
        what = there.refused[0][0]
        return NO_DESTINATION if reason_name(MQRC_UNKNOWN_OBJECT_NAME) in what else what
    if there.inhibited or (there.queue is not None and not there.queue.put_allowed):
        return f"{there.inhibited[0] if there.inhibited else 'the destination'} has PUT(DISABLED)"
    if _hides_protected(demand, there):
        return "the destination is an alias of a protected queue"
    if there.queue is not None and there.queue.transmission and not there.remote:
        return "the destination is a transmission queue"
    return ""


def room_of(queue: LocalQueue) -> int:
    """Messages that it has room for."""
    return max(0, queue.max_depth - queue.depth)


def by_local_queue(
    looked: Iterable[Looked], taken_from: Collection[str] = ()
) -> Collection[tuple[LocalQueue, list[Demand]]]:
    """Each local queue that needs room (rule 4), with what is put there. Parameters: as of `judge`."""
    queues: dict[str, tuple[LocalQueue, list[Demand]]] = {}
    for one in looked:
        queue = one.there.queue
        if queue is not None and queue.name not in taken_from:
            queues.setdefault(queue.name, (queue, []))[1].append(one.demand)
    return queues.values()


def same_said(findings: Iterable[Finding]) -> dict[tuple[str, str, str], list[str]]:
    """Severity, what and remedy → the destinations of which this is said, in the order of the findings."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in findings:
        found.setdefault((one.severity, one.what, one.remedy), []).append(one.destination)
    return found


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same by severity, else in the order they have."""
    return tuple(sorted(findings, key=lambda one: SEVERITIES.index(one.severity)))


def _of_one(demand: Demand, there: Inquired) -> Iterator[Finding]:
    """Rules 1-3 and 5-7 for one destination."""

    def finding(severity: Severity, what: str, remedy: str = "") -> Finding:
        return Finding(severity=severity, destination=demand.name, what=what, remedy=remedy)

    if there.model:
        yield finding("problem", "it is a model queue", "Name a queue that can hold messages")
    for what, remedy in there.refused:
        yield finding("problem", what, remedy)
    if there.untried:
        yield finding("unknown", f"not known: whether {counted(there.untried, 'more user')} may put")
    if there.unknown and not there.refused:
        yield finding("unknown", f"it cannot be inquired: {there.unknown}")
    for definition in there.inhibited:
        yield finding("problem", f"{definition} has PUT(DISABLED)", f"ALTER {definition} PUT(ENABLED)")
    if there.queue is not None:
        for severity, what, remedy in _of_queue(demand, there, there.queue):
            yield finding(severity, what, remedy)


def _of_queue(demand: Demand, there: Inquired, queue: LocalQueue) -> Iterator[tuple[Severity, str, str]]:
    where = _where(demand, queue)
    if _hides_protected(demand, there):
        yield (
            "problem",
            f"it is an alias of {queue.name}, a protected queue: these messages will be left",
            "Name the queue itself (FWDQ) in a rule, if they are really to go there",
        )
    if not queue.put_allowed:
        yield "problem", f"{where}PUT(DISABLED)", f"ALTER QLOCAL({mqsc_name(queue.name)}) PUT(ENABLED)"
    header = MQ_MSG_HEADER_LENGTH if there.remote else 0
    if demand.longest + header > queue.max_msg_length:
        longest = counted(demand.longest, "byte")
        reserved = f" ({header} of them for the transmission header)" if header else ""
        yield (
            "problem",
            f"{where}the longest message has {longest}, MAXMSGL is {queue.max_msg_length:,}{reserved}",
            f"Raise MAXMSGL to {demand.longest + header}; what is too long stays where it is",
        )
    if there.remote:
        yield from _of_channels(there, queue)
    elif queue.transmission:
        yield (
            "problem",
            "it is a transmission queue: only the queue manager puts there, so these messages will be left",
            "Name the remote queue, or the queue and its queue manager, in a rule for them",
        )
    elif not queue.open_input and not queue.storage:
        yield "warning", f"{where}no program has it open for input", "Check that the application runs"


def _of_channels(there: Inquired, queue: LocalQueue) -> Iterator[tuple[Severity, str, str]]:
    """Rule 7. Of several channels the one in the best state counts."""
    if there.channels_unknown:
        yield "warning", f"the channel behind {queue.name} is not known: {there.channels_unknown}", ""
        return
    if not there.channels:
        if not queue.open_input:
            yield (
                "problem",
                f"no channel has XMITQ({queue.name}), and no program has it open for input: "
                f"the messages for {there.remote} will stay there",
                f"Define a channel with XMITQ({mqsc_name(queue.name)}) to its queue manager",
            )
        return
    order = [None, *reversed(SEVERITIES)]
    best = min(there.channels, key=lambda one: order.index(CHANNEL_STATES.get(one.state, "warning")))
    severity = CHANNEL_STATES.get(best.state, "warning")
    if severity:
        what = f"channel {best.name} behind {queue.name} is {best.state}: the messages wait there for it"
        yield severity, what, f"START CHANNEL({mqsc_name(best.name)}), or see why it does not run"


def _of_coming_back(looked: Iterable[Looked], taken_from: Collection[str]) -> Iterator[Finding]:
    """Rule 4, of what comes back."""
    for one in looked:
        demand, there = one.demand, one.there
        if there.queue is not None and there.queue.name in taken_from and not demand.put_back:
            yield Finding(
                severity="problem",
                destination=demand.name,
                what=f"{_where(demand, there.queue)}{COMES_BACK}",
                remedy=ANOTHER_QUEUE,
            )


def _of_room(looked: Iterable[Looked], taken_from: Collection[str]) -> Iterator[Finding]:
    """Rule 4."""
    for queue, demands in by_local_queue(looked, taken_from):
        needed = sum(demand.messages for demand in demands)
        room = room_of(queue)
        if needed > room:
            yield Finding(
                severity="problem",
                destination=", ".join(demand.name for demand in demands[:3]) + (", ..." if len(demands) > 3 else ""),
                what=f"{_where(demands[0], queue)}room for {room:,} of {counted(needed, 'message')} "
                f"(CURDEPTH {queue.depth:,}, MAXDEPTH {queue.max_depth:,})",
                remedy=f"Raise MAXDEPTH: {raised_max_depth(queue.name, queue.max_depth, queue.depth + needed)}, "
                "or let it be emptied; what finds no room stays",
            )


def _hides_protected(demand: Demand, there: Inquired) -> bool:
    """Whether it is an alias, with a name that is not protected, of a protected queue here."""
    if there.queue is None or there.remote:
        return False
    return is_protected(there.queue.name) and not is_protected(demand.queue)


def _where(demand: Demand, queue: LocalQueue) -> str:
    """The name of the queue in front of what is said of it, where it is another than the destination's."""
    return "" if queue.name == demand.queue else f"{queue.name}: "
