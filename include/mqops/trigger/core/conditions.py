"""Whether the next message on a queue would make a trigger message, condition by condition.

The conditions are those of IBM MQ, "Conditions for a trigger event", with the numbers of SPEC (T01 to T14). The message
is thought to be of sufficient priority (T02) and to be committed (T10a). A condition

- `holds`,
- `fails`: then `fix` has the MQSC that mends it, or None where no command does (a program has to close the queue), or
- is `unknown`: inquiry cannot tell it. `found` says what would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mqops.counted import counted
from mqops.trigger.core.found import InitiationQueue, Reader, TriggeredQueue
from mqwire import constants as c

State = Literal["holds", "fails", "unknown"]
HOLDS: State = "holds"
FAILS: State = "fails"
UNKNOWN: State = "unknown"

TYPES = {c.MQTT_NONE: "NONE", c.MQTT_FIRST: "FIRST", c.MQTT_EVERY: "EVERY", c.MQTT_DEPTH: "DEPTH"}
_TOLD_ONLY = frozenset({"T02", "T10a", "T04a", "T04b"})
"""Conditions whose `unknown` does not keep the next message of sufficient priority from triggering."""
_WORK = frozenset({"T03", "T04"})
"""Conditions that fail while triggering works: a trigger message was made already, and a program gets the messages."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: SPEC `id`, its state, what was found, and the MQSC that mends it (None: no command does)."""

    id: str
    state: State
    found: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Whether the next message of sufficient priority would make a trigger message, and why.

    Attributes: `would_trigger` False also where it is not known; `stuck` whether messages wait for a program that does
    not come; `verdict` one sentence.
    """

    queue: str
    queue_manager: str
    would_trigger: bool
    stuck: bool
    verdict: str
    conditions: tuple[Condition, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {name: value for name, value in asdict(self).items() if name != "stuck"}

    @property
    def broken(self) -> bool:
        """Whether something has to be mended before the queue's program is started again."""
        return self.stuck or any(one.state == FAILS and one.id not in _WORK for one in self.conditions)

    def fixes(self) -> tuple[str, ...]:
        """The MQSC commands that mend what fails, in the order in which they are to be run."""
        ordered = sorted(self.conditions, key=lambda one: one.id in _WORK)
        return tuple(line for one in ordered if one.fix for line in one.fix.split("\n"))


def explain(queue: TriggeredQueue) -> Explanation:
    """Judge each condition in the order of IBM's page."""
    conditions = tuple(condition(queue) for condition in _CONDITIONS)
    failing = sorted((one for one in conditions if one.state == FAILS), key=lambda one: one.id in _WORK)
    first = failing[0] if failing else None
    open_ones = [one for one in conditions if one.state == UNKNOWN and one.id not in _TOLD_ONLY]
    if first is not None:
        others = counted(len(failing) - 1, "other condition fails", "other conditions fail")
        more = f"; {others}, too" if len(failing) > 1 else ""
        verdict = f"The next message makes no trigger message: {first.found}{more}."
    elif open_ones:
        verdict = f"It is not known whether the next message makes a trigger message: {open_ones[0].found}."
    else:
        verdict = "The next message of sufficient priority makes a trigger message."
    return Explanation(
        queue=queue.name,
        queue_manager=queue.queue_manager,
        would_trigger=first is None and not open_ones,
        stuck=queue.type == c.MQTT_FIRST and queue.depth > 0 and queue.open_input == 0 and bool(failing),
        verdict=verdict,
        conditions=conditions,
    )


def mqsc_name(name: str) -> str:
    """A name as MQSC takes it: in quotes where MQSC would change or misread it."""
    return name if re.fullmatch(r"[A-Z0-9._%/]+", name) else "'" + name.replace("'", "''") + "'"


def _alter(queue: str, attributes: str) -> str:
    return f"ALTER QLOCAL({mqsc_name(queue)}) {attributes}"


def _put_is_possible(queue: TriggeredQueue) -> Condition:
    if not queue.put_allowed:
        return Condition("T01", FAILS, "PUT(DISABLED): no message arrives", _alter(queue.name, "PUT(ENABLED)"))
    if queue.depth >= queue.max_depth:
        most = counted(queue.max_depth, "message")
        return Condition("T01", FAILS, f"the queue is full ({most}): no message arrives")
    return Condition("T01", HOLDS, "messages can be put on the queue")


def _priority(queue: TriggeredQueue) -> Condition:
    if queue.priority == 0:
        return Condition("T02", HOLDS, "TRIGMPRI(0): a message of any priority counts")
    if queue.fifo:
        return Condition("T02", HOLDS, "MSGDLVSQ(FIFO): each message counts with the queue's DEFPRTY (T14)")
    return Condition("T02", UNKNOWN, f"TRIGMPRI({queue.priority}): a message counts with this priority or a higher one")


def _number_before(queue: TriggeredQueue) -> Condition:
    """T03, with T11 where the messages are there already."""
    if queue.type == c.MQTT_EVERY:
        return Condition("T03", HOLDS, "TRIGTYPE(EVERY): the number of messages does not count")
    if queue.type == c.MQTT_NONE:
        return Condition("T03", UNKNOWN, "TRIGTYPE(NONE): no number of messages triggers")
    if queue.uncommitted:
        return Condition(
            "T03",
            UNKNOWN,
            "units of work with messages of the queue are not ended, so that the number of messages may change: "
            "look again when they are",
        )
    if queue.depth and queue.priority and not queue.fifo:
        return Condition(
            "T03",
            UNKNOWN,
            f"of {counted(queue.depth, 'message')} on the queue only those count that have priority {queue.priority} "
            "or a higher one: browse the queue",
        )
    return _first(queue) if queue.type == c.MQTT_FIRST else _depth(queue)


def _again(queue: TriggeredQueue) -> str:
    """T13: the queue manager makes a trigger message for the messages that are there when triggering is switched on."""
    return f"{_alter(queue.name, 'NOTRIGGER')}\n{_alter(queue.name, 'TRIGGER')}"


def _first(queue: TriggeredQueue) -> Condition:
    if queue.depth == 0:
        return Condition("T03", HOLDS, "TRIGTYPE(FIRST), and the queue is empty")
    there = f"TRIGTYPE(FIRST), and {counted(queue.depth, 'message')} {'is' if queue.depth == 1 else 'are'} there"
    if queue.interval == 0:
        return Condition("T03", HOLDS, f"{there}, but TRIGINT(0) triggers again (T11)")
    return Condition(
        "T03",
        FAILS,
        f"{there} already; the next trigger message is made when the queue's program closes it, or with a message "
        f"after {_duration(queue.interval)} since the last trigger message (TRIGINT, T11)",
        _again(queue) if queue.control else None,
    )


def _depth(queue: TriggeredQueue) -> Condition:
    lacking = queue.trigger_depth - 1 - queue.depth
    depth = f"TRIGTYPE(DEPTH) TRIGDPTH({queue.trigger_depth}), and {counted(queue.depth, 'message')}"
    if lacking > 0:
        return Condition(
            "T03", FAILS, f"{depth} so far: {counted(lacking + 1, 'more message')} to come before it triggers"
        )
    if lacking == 0:
        return Condition("T03", HOLDS, f"{depth} so far: the next one is the last of them")
    return Condition("T03", HOLDS, f"{depth} there: the next one triggers (T11)")


def _duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds >= 86_400:
        return counted(seconds // 86_400, "day")
    return counted(seconds, "second") if seconds else counted(milliseconds, "millisecond")


def _nobody_reads(queue: TriggeredQueue) -> Condition:
    if queue.type == c.MQTT_EVERY:
        return Condition("T04", HOLDS, "TRIGTYPE(EVERY): programs may have the queue open")
    if queue.open_input == 0:
        return Condition("T04", HOLDS, "no program has the queue open for input")
    who = _named(queue.readers)
    return Condition(
        "T04",
        FAILS,
        f"{counted(queue.open_input, 'handle')} of programs that have the queue open for input{who}: they get the "
        "message themselves; when the last one closes the queue and messages are left, a trigger message is made (T12)",
    )


def _named(readers: tuple[Reader, ...]) -> str:
    return f" ({', '.join(map(str, readers))})" if readers else ""


def _shared(number: str, what: str) -> Callable[[TriggeredQueue], Condition]:
    def condition(queue: TriggeredQueue) -> Condition:
        if queue.shared:
            return Condition(number, UNKNOWN, what)
        return Condition(number, HOLDS, "the queue is not shared")

    return condition


def _get_allowed(queue: TriggeredQueue) -> Condition:
    if queue.get_allowed:
        return Condition("T05", HOLDS, "GET(ENABLED)")
    if queue.zos:
        return Condition("T05", FAILS, "GET(DISABLED) on z/OS", _alter(queue.name, "GET(ENABLED)"))
    return Condition("T05", HOLDS, "GET(DISABLED) counts on z/OS only; the program that is started cannot get, though")


def _process(queue: TriggeredQueue) -> Condition:
    if queue.process and queue.process_defined:
        return Condition("T06", HOLDS, f"process {queue.process} is defined")
    if queue.process:
        fix = f"DEFINE PROCESS({mqsc_name(queue.process)}) APPLICID('program to start')"
        return Condition("T06", FAILS, f"PROCESS names {queue.process}, which is not defined", fix)
    if queue.transmission:
        return Condition("T06", HOLDS, "a transmission queue needs no process")
    return Condition("T06", FAILS, "PROCESS is blank", _alter(queue.name, "PROCESS(name of a process)"))


def _initiation_queue(queue: TriggeredQueue) -> Condition:
    name, found = queue.initiation_name, queue.initiation
    if not name:
        return Condition("T07", FAILS, "INITQ is blank", _alter(queue.name, "INITQ(name of an initiation queue)"))
    if found is None:
        return Condition("T07", FAILS, f"there is no queue {name}", f"DEFINE QLOCAL({mqsc_name(name)})")
    if not found.local:
        return Condition("T07", FAILS, f"{name} is no local queue", _alter(queue.name, "INITQ(a local queue)"))
    wrong = tuple(_wrong(found))
    if wrong:
        words = " and ".join(attribute for attribute, _fix in wrong)
        return Condition("T07", FAILS, f"{name} has {words}", _alter(name, " ".join(fix for _attribute, fix in wrong)))
    if found.depth >= found.max_depth:
        return Condition("T07", HOLDS, f"{name} is full: trigger messages go to the dead-letter queue")
    return Condition("T07", HOLDS, f"{name} takes trigger messages")


def _wrong(found: InitiationQueue) -> Iterator[tuple[str, str]]:
    if found.transmission:
        yield "USAGE(XMITQ)", "USAGE(NORMAL)"
    if not found.put_allowed:
        yield "PUT(DISABLED)", "PUT(ENABLED)"
    if not found.get_allowed:
        yield "GET(DISABLED)", "GET(ENABLED)"


def _monitored(queue: TriggeredQueue) -> Condition:
    name, found = queue.initiation_name, queue.initiation
    if found is None or not found.local:
        return Condition("T08", FAILS, "no trigger monitor serves it: there is no initiation queue")
    if found.open_input:
        return Condition("T08", HOLDS, f"{name} is open for input{_named(found.readers)}")
    return Condition(
        "T08",
        FAILS,
        f"no trigger monitor has {name} open for input: start one, "
        f"for example runmqtrm -m {queue.queue_manager} -q {name}",
    )


def _switched_on(queue: TriggeredQueue) -> Condition:
    if queue.control:
        return Condition("T09", HOLDS, "TRIGGER")
    why = "; TRIGTYPE(DEPTH) switches itself off with each trigger message" if queue.type == c.MQTT_DEPTH else ""
    return Condition("T09", FAILS, f"NOTRIGGER{why}", _alter(queue.name, "TRIGGER"))


def _has_type(queue: TriggeredQueue) -> Condition:
    if queue.type == c.MQTT_NONE:
        return Condition("T10", FAILS, "TRIGTYPE(NONE)", _alter(queue.name, "TRIGTYPE(FIRST)"))
    return Condition("T10", HOLDS, f"TRIGTYPE({TYPES[queue.type]})")


def _committed(queue: TriggeredQueue) -> Condition:
    if queue.uncommitted is None:
        return Condition("T10a", UNKNOWN, "the queue manager does not tell whether units of work are open")
    if queue.uncommitted:
        return Condition(
            "T10a", UNKNOWN, "a unit of work is open: its trigger message can be got when the unit of work has ended"
        )
    return Condition("T10a", HOLDS, "no unit of work with messages of the queue is open")


def _delivery(queue: TriggeredQueue) -> Condition:
    if queue.fifo and queue.priority > queue.default_priority:
        return Condition(
            "T14",
            FAILS,
            f"MSGDLVSQ(FIFO) gives each message DEFPRTY({queue.default_priority}), below TRIGMPRI({queue.priority})",
            _alter(queue.name, f"TRIGMPRI({queue.default_priority})"),
        )
    return Condition("T14", HOLDS, "MSGDLVSQ(FIFO)" if queue.fifo else "MSGDLVSQ(PRIORITY)")


_CONDITIONS: tuple[Callable[[TriggeredQueue], Condition], ...] = (
    _put_is_possible,
    _priority,
    _number_before,
    _nobody_reads,
    _shared("T04a", "whether another queue manager of the group has the queue open for input is not known here"),
    _shared("T04b", "whether a queue manager of the group has the queue open for exclusive input is not known here"),
    _get_allowed,
    _process,
    _initiation_queue,
    _monitored,
    _switched_on,
    _has_type,
    _committed,
    _delivery,
)
