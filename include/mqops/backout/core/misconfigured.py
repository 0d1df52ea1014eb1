"""Queues with BOTHRESH other than zero whose poisonous messages BOQNAME cannot take (P09, P11), and what mends that.

A program that handles poison puts such a message on the dead-letter queue then (P09), or gets it again and again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mqops.command import command
from mqops.counted import counted
from mqops.finding import sentence
from mqops.misnamed import misnamed
from mqops.model import QueueDefinition
from mqops.mqsc import mqsc_name
from mqwire.constants import MQ_Q_NAME_LENGTH

MISCONFIGURED, TO_MEND = "misconfigured: ", "To mend it: "
"""What a remark about such a queue begins with, and what stands before its MQSC."""
_MOST_DEPTH = 999_999_999
"""The largest MAXDEPTH (IBM MQ, DEFINE QLOCAL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misconfigured:
    """A queue with BOTHRESH other than zero and no BOQNAME that could take its messages (P11). Parameters: `mend` MQSC
    that mends it, "" where a person has to choose."""

    queue: str
    threshold: int
    backout_queue: str
    why: str
    mend: str = ""

    @property
    def what(self) -> str:
        """The setting, and why it is wrong."""
        return f"{self.queue}: BOTHRESH({self.threshold}) BOQNAME({self.backout_queue or ' '}): {self.why}"

    @property
    def remedy(self) -> str:
        """What mends it, "" where a person has to choose."""
        return f"{TO_MEND}{self.mend}" if self.mend else ""

    def __str__(self) -> str:
        return sentence(self.what, self.remedy)


class _Wrong(NamedTuple):
    """Why a BOQNAME cannot take a queue's messages, and the MQSC that mends it."""

    why: str
    mend: str


def backout_queue_of(one: QueueDefinition, known: Mapping[str, QueueDefinition]) -> str:
    """The BOQNAME of a queue, an alias resolved; "" for none."""
    target = known.get(one.backout_queue)
    return target.base if target and target.kind == "alias" and target.base else one.backout_queue


def misconfigured(
    known: Mapping[str, QueueDefinition], dead_letter_queue: str = "", hidden: Collection[str] = ()
) -> Iterable[Misconfigured]:
    """P11, in the order of the queues' names.

    Parameters: `known` name → definition, of all queues that can be seen; `dead_letter_queue` the queue manager's
    DEADQ, "" for none; `hidden` names of queues that are there and cannot be seen: of a BOQNAME that is one of them
    nothing is said.
    """
    dead_letters = {dead_letter_queue, known[dead_letter_queue].base if dead_letter_queue in known else ""} - {""}
    for name in sorted(known):
        one = known[name]
        if one.threshold and one.backout_queue not in hidden and (wrong := _wrong(one, known, dead_letters)):
            yield of_queue(one, *wrong)


def of_queue(one: QueueDefinition, why: str, mend: str) -> Misconfigured:
    """What is wrong with the setting of a queue."""
    return Misconfigured(queue=one.name, threshold=one.threshold, backout_queue=one.backout_queue, why=why, mend=mend)


def _wrong(one: QueueDefinition, known: Mapping[str, QueueDefinition], dead_letters: Collection[str]) -> _Wrong | None:
    own = mqsc_name(f"{one.name}.BOQ"[:MQ_Q_NAME_LENGTH])
    renamed = f"DEFINE QLOCAL({own}) DEFPSIST(YES){_length(one)}, and {_named_anew(one, own)}"
    target = known.get(backout_queue_of(one, known))
    if target is None:
        return _nothing_there(one, known, renamed)
    by = f" by its alias {one.backout_queue}" if one.backout_queue != target.name else ""
    whys = (
        (target.name == one.name, f"the queue names itself{by}"),
        (target.kind == "alias", f"an alias of the alias {target.name}, and the queue manager follows one only"),
        (target.kind == "model", "a model queue is no place for messages"),
        (target.kind == "remote", "a remote queue: its messages leave this queue manager, and no workflow sees them"),
        (target.transmission, "a transmission queue: its channel ends at a message without an MQXQH"),
        (target.name in dead_letters, "the dead-letter queue: a program puts there without an MQDLH, and no rule fits"),
    )
    if why := next((text for holds, text in whys if holds), ""):
        return _Wrong(why, renamed)
    if loop := _loop(one, known):
        return _Wrong(f"messages go round: {' → '.join(loop)}", renamed)
    return _closed(one, known, target) or _no_room(one, target)


def _loop(one: QueueDefinition, known: Mapping[str, QueueDefinition]) -> list[str]:
    """The queues that each name the next one as BOQNAME, from this queue to itself; none where they end."""
    path = [one.name]
    here: QueueDefinition | None = one
    while here and here.threshold:
        name = backout_queue_of(here, known)
        if name == one.name:
            return [*path, name]
        if not name or name in path:
            break
        path.append(name)
        here = known.get(name)
    return []


def _closed(one: QueueDefinition, known: Mapping[str, QueueDefinition], target: QueueDefinition) -> _Wrong | None:
    closed = [each for each in (known[one.backout_queue], target) if not each.put_allowed]
    if not closed:
        return None
    kind = "QALIAS" if closed[0].kind == "alias" else "QLOCAL"
    mend = f"ALTER {kind}({mqsc_name(closed[0].name)}) PUT(ENABLED)"
    return _Wrong("it does not accept messages (PUT(DISABLED))", mend)


def _no_room(one: QueueDefinition, target: QueueDefinition) -> _Wrong | None:
    """Its number of messages and their length."""
    alter = f"ALTER QLOCAL({mqsc_name(target.name)})"
    if target.max_depth and target.depth >= target.max_depth:
        more = min(2 * target.max_depth, _MOST_DEPTH)
        why = f"{target.name} is full ({counted(target.depth, 'message')} of {target.max_depth:,})"
        empty = command("mqops", "backout", "run", target.name)
        return _Wrong(f"{why}: empty it with `{empty}`, or make it larger", f"{alter} MAXDEPTH({more})")
    if target.max_length and one.max_length > target.max_length:
        short, long = counted(target.max_length, "byte"), counted(one.max_length, "byte")
        why = f"{target.name} takes messages of {short} (MAXMSGL), and {one.name} of {long}"
        return _Wrong(why, f"{alter} MAXMSGL({one.max_length})")
    return None


def _length(one: QueueDefinition) -> str:
    """The MAXMSGL that a backout queue of its own needs, where it is not the one that a new queue has."""
    return f" MAXMSGL({one.max_length})" if one.max_length > DEFAULT_LENGTH else ""


DEFAULT_LENGTH = 4 * 2**20
"""Bytes of MAXMSGL in SYSTEM.DEFAULT.LOCAL.QUEUE (IBM MQ, DEFINE QLOCAL)."""


def _named_anew(one: QueueDefinition, name: str) -> str:
    kind = "QMODEL" if one.kind == "model" else "QLOCAL"
    return f"ALTER {kind}({mqsc_name(one.name)}) BOQNAME({name})"


def _nothing_there(one: QueueDefinition, known: Mapping[str, QueueDefinition], renamed: str) -> _Wrong:
    """Parameters: `renamed` MQSC that gives the queue a backout queue of its own."""
    name = one.backout_queue
    if not name:
        return _Wrong("no backout queue: poisonous messages go to the dead-letter queue", renamed)
    if name in known:
        return _Wrong(f"it is an alias of {known[name].base}, which is not there as a queue", renamed)
    wrong = misnamed(name, None, (each.name for each in known.values() if each.kind == "local"))
    if wrong and wrong.instead:
        why = f"there is no such queue, {wrong.instead} is there"
        return _Wrong(why, _named_anew(one, mqsc_name(wrong.instead)))
    return _Wrong("there is no such queue", f"DEFINE QLOCAL({mqsc_name(name)}) DEFPSIST(YES){_length(one)}")
