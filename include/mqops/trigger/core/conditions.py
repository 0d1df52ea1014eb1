"""Whether the next message on a queue would make a trigger message, condition by condition.

The conditions are those of IBM MQ, "Conditions for a trigger event", with the numbers of SPEC (T01 to T14). The message
is thought to be of sufficient priority (T02) and to be committed (T10a). A condition

- `holds`,
- `fails`: then `changes` has the commands that mend it, or none where no command does (a program has to close the
  queue), or
- is `unknown`: an inquiry does not show it. `found` says what would.

The commands make exactly one trigger message for messages that wait: never one of T13 beside that of T13c, which comes
when a trigger monitor opens the initiation queue, and none beside one that may have been made already.

T11 to T13 are further events that make a trigger message. They never fail: they say when such an event comes.
"""

from __future__ import annotations

from collections.abc import Callable

from mqops.command import command
from mqops.counted import counted
from mqops.mqsc import mqsc_name
from mqops.trigger.core.changes import (
    GET_ENABLED,
    NO_PROGRAM,
    NOTRIGGER,
    PUT_ENABLED,
    TRIGGER,
    TYPE_FIRST,
    Change,
    Setting,
    alter,
    applicid,
    initq,
    maxmsgl,
    process,
    trigmpri,
)
from mqops.trigger.core.explanation import FAILS, HOLDS, UNKNOWN, WORK, Condition, Explanation
from mqops.trigger.core.other_events import TYPES, changing, closing, counts_some_only, duration, interval, needed
from mqops.trigger.core.triggered_queue import (
    MQTM_BYTES,
    DeadLetterQueue,
    Disposition,
    InitiationQueue,
    Reader,
    TriggeredQueue,
)
from mqwire import constants as c
from mqwire.names import lookup

CHANNEL_INITIATOR = "SYSTEM.CHANNEL.INITQ"
"""The initiation queue that the channel initiator serves."""
_SHOWN_ONLY = frozenset({"T02", "T10a", "T04a", "T04b", "T11", "T12", "T13"})
"""Conditions whose `unknown` does not keep the next message of sufficient priority from triggering."""
_INHIBITED = "somebody has inhibited it, perhaps on purpose"
_SWITCHED_OFF = "somebody has switched triggering off, perhaps on purpose"
_AT_WORK = "The program that has the queue open should switch triggering on itself"
_STARTS_NOW = "it starts the program now"
_MADE_ALREADY = (
    "One may have been made already for what is there: look whether the trigger monitor has started the program. Only "
    "if it has not"
)
_MONITOR_FIRST = "start the trigger monitor first (T08), then look again; what mends it then"
_TWO = "Before that this command (T13) and the monitor (T13c) would make a trigger message each for what is there"
_CHOSEN = "mqops has chosen this initiation queue: the trigger monitor that serves it will start the program"
_DISPOSITIONS: dict[Disposition, tuple[Setting, ...]] = {
    "": (),
    "COPY": (Setting("QSGDISP(COPY)", c.MQIA_QSG_DISP, c.MQQSGD_COPY),),
    "SHARED": (Setting("QSGDISP(SHARED)", c.MQIA_QSG_DISP, c.MQQSGD_SHARED),),
}


def explain(queue: TriggeredQueue) -> Explanation:
    """Judge each condition in the order of IBM's page."""
    conditions = tuple(condition(queue) for condition in _CONDITIONS)
    failing = sorted((one for one in conditions if one.state == FAILS), key=lambda one: one.id in WORK)
    undelivered = [one.id for one in failing] == ["T07"] and _takes_none(queue)
    first = failing[0] if failing else None
    open_ones = [one for one in conditions if one.state == UNKNOWN and one.id not in _SHOWN_ONLY]
    if undelivered:
        verdict = "The next message of sufficient priority makes a trigger message that starts nothing: "
        verdict += f"{failing[0].found}."
    elif first is not None:
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
        waiting=queue.depth >= needed(queue) and queue.open_input == 0,
        at_work=queue.open_input > 0,
        depth_type=queue.type == c.MQTT_DEPTH,
        verdict=verdict,
        conditions=conditions,
        alias=queue.alias,
    )


def _alter(queue: TriggeredQueue, *settings: Setting, makes_event: bool = False, warning: str = "") -> Change:
    where = _DISPOSITIONS[queue.disposition]
    return alter(queue.name, *where, *settings, makes_event=makes_event, warning=warning)


def _mended_by_event(number: str, found: str, queue: TriggeredQueue, setting: Setting, warning: str = "") -> Condition:
    """A condition that fails, and that a command mends which is a trigger event (T13). The command has to wait while it
    and a trigger monitor that starts (T13c) would make a trigger message each: then only the words name it."""
    event = _alter(queue, setting, makes_event=True, warning=warning)
    if queue.depth < needed(queue) or queue.open_input or queue.served_when_mended:
        return Condition(number, FAILS, found, (event,))
    warned = f" (warning: {warning})" if warning else ""
    return Condition(number, FAILS, f"{found}; {_MONITOR_FIRST}: {event.mqsc}{warned}. {_TWO}")


def _put_is_possible(queue: TriggeredQueue) -> Condition:
    if not queue.put_allowed:
        mend = _alter(queue, PUT_ENABLED, warning=_INHIBITED)
        return Condition("T01", FAILS, "PUT(DISABLED): no message arrives", (mend,))
    if queue.depth >= queue.max_depth:
        most = counted(queue.max_depth, "message")
        return Condition("T01", FAILS, f"the queue is full ({most}): no message arrives")
    return Condition("T01", HOLDS, "messages can be put on the queue")


def _priority(queue: TriggeredQueue) -> Condition:
    if queue.priority == 0:
        return Condition("T02", HOLDS, "TRIGMPRI(0): a message of any priority counts")
    if queue.fifo:
        return Condition("T02", HOLDS, "MSGDLVSQ(FIFO): each message counts with the queue's DEFPRTY (T14)")
    found = f"TRIGMPRI({queue.priority}): a message counts with this priority or a higher one"
    if queue.default_priority < queue.priority:
        found += (
            f"; one that takes its priority from the queue has DEFPRTY({queue.default_priority}) and does not count"
        )
    return Condition("T02", UNKNOWN, found)


def _number_before(queue: TriggeredQueue) -> Condition:
    """T03, with T11 where the messages are there already."""
    if queue.type == c.MQTT_EVERY:
        return Condition("T03", HOLDS, "TRIGTYPE(EVERY): the number of messages does not count")
    if queue.type == c.MQTT_NONE:
        return Condition("T03", UNKNOWN, "TRIGTYPE(NONE): no number of messages triggers")
    if queue.shared and queue.uncommitted and queue.depth:
        return Condition(
            "T03",
            UNKNOWN,
            "a shared queue: only committed messages count (T03b), and units of work with messages of the queue are "
            "not ended: look again when they are",
        )
    if counts_some_only(queue):
        return Condition(
            "T03",
            UNKNOWN,
            f"of {counted(queue.depth, 'message')} on the queue only those count that have priority {queue.priority} "
            "or a higher one: browse the queue",
        )
    return _first(queue) if queue.type == c.MQTT_FIRST else _depth(queue)


def _there(queue: TriggeredQueue) -> str:
    also = ", uncommitted ones included (T03a)" if queue.uncommitted else ""
    return f"{counted(queue.depth, 'message')} {'is' if queue.depth == 1 else 'are'} there already{also}"


def _first(queue: TriggeredQueue) -> Condition:
    if queue.depth == 0:
        return Condition("T03", HOLDS, "TRIGTYPE(FIRST), and the queue is empty")
    there = f"TRIGTYPE(FIRST), and {_there(queue)}"
    if queue.interval == 0:
        return Condition("T03", HOLDS, f"{there}, but TRIGINT(0) triggers again (T11)")
    there += (
        "; the next trigger message is made when the queue's program closes it, or with a message "
        f"after {duration(queue.interval)} since the last trigger message (TRIGINT, T11)"
    )
    again = _again(queue)
    if not again and _can_have_triggered(queue) and not queue.open_input:
        there += f". {_MADE_ALREADY}, NOTRIGGER and then TRIGGER makes one more (T13)"
    return Condition("T03", FAILS, there, again)


def _again(queue: TriggeredQueue) -> tuple[Change, ...]:
    """T13: switching triggering off and on makes a trigger message for the messages that are there.

    No command where one may have been made already, because all else holds; nor where another event makes one: TRIGGER
    (T09) or another command, the program that closes the queue (T12), the trigger monitor that opens the initiation
    queue (T13c).
    """
    if not queue.control or queue.open_input or not queue.served_when_mended or _can_have_triggered(queue):
        return ()
    others = (*_get_allowed(queue).changes, *_initiation_queue(queue).changes, *_delivery(queue).changes)
    if any(one.makes_event for one in others):
        return ()
    off, on = _alter(queue, NOTRIGGER), _alter(queue, TRIGGER, makes_event=True, warning=_STARTS_NOW)
    return off, on


def _can_have_triggered(queue: TriggeredQueue) -> bool:
    """Whether nothing but T01, T03 and T04 keeps the queue from triggering now."""
    judged = (_get_allowed(queue), _process(queue), _monitored(queue), _delivery(queue))
    made = _takes_none(queue) or _initiation_queue(queue).state != FAILS
    return queue.control and made and all(one.state != FAILS for one in judged)


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
            tells = f"DISPLAY QSTATUS({mqsc_name(queue.name)}) TYPE(HANDLE) INPUT CMDSCOPE(*) tells"
            return Condition(number, UNKNOWN, f"{what} is not known here: {tells}")
        return Condition(number, HOLDS, "the queue is not shared")

    return condition


def _get_allowed(queue: TriggeredQueue) -> Condition:
    if queue.get_allowed:
        return Condition("T05", HOLDS, "GET(ENABLED)")
    if queue.zos:
        return _mended_by_event("T05", "GET(DISABLED) on z/OS", queue, GET_ENABLED, _INHIBITED)
    return Condition("T05", HOLDS, "GET(DISABLED) counts on z/OS only; the program that is started cannot get, though")


def _process(queue: TriggeredQueue) -> Condition:
    if queue.process and queue.process_defined:
        return Condition("T06", HOLDS, f"process {queue.process} is defined")
    if not queue.process and queue.transmission:
        return Condition("T06", HOLDS, "a transmission queue needs no process")
    if queue.process and queue.process_defined is None:
        return Condition("T06", UNKNOWN, f"whether {queue.process} is defined is not known: {_refused('process')}")
    if queue.process_in_data:
        found = (
            f"PROCESS is blank. TRIGDATA names the process {queue.process_in_data}, but it is no more than data for "
            "the program: PROCESS has to name it"
        )
        return Condition("T06", FAILS, found, (_alter(queue, process(queue.process_in_data)),))
    name = queue.process or queue.name
    define = Change(name=name, settings=(applicid(NO_PROGRAM),), define=True, process=True)
    if queue.process:
        return Condition("T06", FAILS, f"PROCESS names {name}, which is not defined", (define,))
    mend = _alter(queue, process(name))
    return Condition("T06", FAILS, "PROCESS is blank", (mend,) if queue.process_defined else (define, mend))


def _refused(kind: str) -> str:
    return f"the connection's user may not inquire the {kind} (+inq)"


def _initiation_queue(queue: TriggeredQueue) -> Condition:
    name, found = queue.initiation_name, queue.initiation
    if found is not None and found.refused:
        return Condition("T07", UNKNOWN, f"whether {name} takes trigger messages is not known: {found.refused}")
    other = (_alter(queue, initq(queue.usable_initiation), warning=_CHOSEN),) if queue.usable_initiation else ()
    if found is None and name:
        meant = f", {queue.usable_initiation} is: names of queues are case-sensitive" if other else ""
        return Condition("T07", FAILS, f"there is no queue {name}{meant}", other or (Change(name=name, define=True),))
    if found is None or not found.local or found.transmission:
        kind = "has USAGE(XMITQ): it is a transmission queue" if found and found.local else "is no local queue"
        return Condition("T07", FAILS, f"{name} {kind}" if name else "INITQ is blank", other)
    if not (found.put_allowed and found.get_allowed):
        return _inhibited(name, found)
    if found.takes_none:
        return _undelivered(queue, found)
    return Condition("T07", HOLDS, f"{name} takes trigger messages")


def _takes_none(queue: TriggeredQueue) -> bool:
    """Whether the trigger message is made, as T07 holds by IBM's page, and then cannot be put."""
    found = queue.initiation
    usable = found is not None and found.local and not found.transmission and found.put_allowed and found.get_allowed
    return bool(usable and found and not found.refused and found.takes_none)


def _undelivered(queue: TriggeredQueue, found: InitiationQueue) -> Condition:
    """IBM MQ, "When triggering does not work"."""
    name = queue.initiation_name
    if found.takes_none == c.MQRC_MSG_TOO_BIG_FOR_Q:
        why = f"{name} has MAXMSGL({found.max_length}), and a trigger message has {counted(MQTM_BYTES, 'byte')}"
        settings = (*_DISPOSITIONS[found.disposition], maxmsgl(MQTM_BYTES))
        return Condition("T07", FAILS, f"{why}: {_fate(queue, found)}", (alter(name, *settings),))
    why = f"{name} is full (CURDEPTH {found.depth:,}, MAXDEPTH {found.max_depth:,})"
    do = "its trigger monitor has to get what is there, or raise its MAXDEPTH"
    return Condition("T07", FAILS, f"{why}: {_fate(queue, found)}; {do}")


def _fate(queue: TriggeredQueue, found: InitiationQueue) -> str:
    """What becomes of the trigger message that the initiation queue does not take."""
    dead = queue.dead_letters or DeadLetterQueue(known=False, refuses="it was not looked at")
    reason = lookup("MQRC", found.takes_none)
    if not dead.known:
        return (
            f"the trigger message goes to the dead-letter queue ({reason}), or is discarded where that does not take "
            f"it: not known, {dead.refuses}"
        )
    if dead.refuses:
        return f"the trigger message is discarded, because {dead.refuses}; only the error log has it"
    return f"the trigger message goes to the dead-letter queue {dead.name} behind an MQDLH ({reason})"


def _inhibited(name: str, found: InitiationQueue) -> Condition:
    wrong = {} if found.put_allowed else {"PUT(DISABLED)": PUT_ENABLED}
    wrong |= {} if found.get_allowed else {"GET(DISABLED)": GET_ENABLED}
    settings = (*_DISPOSITIONS[found.disposition], *wrong.values())
    mend = alter(name, *settings, makes_event=not found.put_allowed, warning=_INHIBITED)
    until = "" if found.put_allowed else "; with PUT(ENABLED) again one is made for messages that wait (T13a)"
    return Condition("T07", FAILS, f"{name} has {' and '.join(wrong)}: no trigger message is made{until}", (mend,))


def _monitored(queue: TriggeredQueue) -> Condition:
    name, found = queue.initiation_name, queue.initiation
    if found is not None and found.refused:
        return Condition("T08", UNKNOWN, f"whether a trigger monitor serves {name} is not known: {found.refused}")
    if found is None or not found.local:
        return Condition("T08", FAILS, "no trigger monitor serves it: there is no initiation queue")
    if found.open_input:
        return Condition("T08", HOLDS, f"{name} is open for input{_named(found.readers)}")
    if name == CHANNEL_INITIATOR:
        embedded = command("mqlite", "start", queue.queue_manager)
        start = "START CHINIT" + ("" if queue.zos else f", or {embedded} for an embedded one")
        return Condition("T08", FAILS, f"the channel initiator does not have {name} open for input: {start}")
    start = (
        "CKTI for CICS (CKQC STARTCKTI), CSQQTRMN for IMS"
        if queue.zos
        else f"for example runmqtrm -m {queue.queue_manager} -q {name}; for an embedded queue manager that of mqops "
        f"(docs/triggering.md), as `mqlite start` serves {CHANNEL_INITIATOR} alone"
    )
    return Condition("T08", FAILS, f"no trigger monitor has {name} open for input: start one, {start}")


def _switched_on(queue: TriggeredQueue) -> Condition:
    if queue.control:
        return Condition("T09", HOLDS, "TRIGGER")
    if queue.type == c.MQTT_DEPTH:
        return _switched_off_by_depth(queue)
    return _mended_by_event("T09", "NOTRIGGER", queue, TRIGGER, _warning_of_trigger(queue))


def _switched_off_by_depth(queue: TriggeredQueue) -> Condition:
    """No command where a trigger message may have switched triggering off: it would make a second one (T13), or the
    program makes one each time that it closes the queue (T12). Then only the words name it."""
    found = "NOTRIGGER; TRIGTYPE(DEPTH) switches itself off with each trigger message"
    on = _alter(queue, TRIGGER, makes_event=True)
    if queue.open_input:
        return Condition("T09", FAILS, f"{found}. {_AT_WORK}. Only if it has ended and has not: {on.mqsc}")
    if queue.depth >= needed(queue):
        return Condition("T09", FAILS, f"{found}. {_MADE_ALREADY}, {on.mqsc} makes one more (T13)")
    return Condition("T09", FAILS, found, (on,))


def _warning_of_trigger(queue: TriggeredQueue) -> str:
    starts = queue.depth >= needed(queue) and not queue.open_input
    return "; ".join((_SWITCHED_OFF, *((_STARTS_NOW,) if starts else ())))


def _has_type(queue: TriggeredQueue) -> Condition:
    if queue.type == c.MQTT_NONE:
        return _mended_by_event("T10", "TRIGTYPE(NONE)", queue, TYPE_FIRST)
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
        found = f"MSGDLVSQ(FIFO) gives each message DEFPRTY({queue.default_priority}), below TRIGMPRI({queue.priority})"
        return _mended_by_event("T14", found, queue, trigmpri(queue.default_priority))
    return Condition("T14", HOLDS, "MSGDLVSQ(FIFO)" if queue.fifo else "MSGDLVSQ(PRIORITY)")


_CONDITIONS: tuple[Callable[[TriggeredQueue], Condition], ...] = (
    _put_is_possible,
    _priority,
    _number_before,
    _nobody_reads,
    _shared("T04a", "whether another queue manager of the group has the queue open for input"),
    _shared("T04b", "whether a queue manager of the group has the queue open for exclusive input"),
    _get_allowed,
    _process,
    _initiation_queue,
    _monitored,
    _switched_on,
    _has_type,
    _committed,
    interval,
    closing,
    changing,
    _delivery,
)
