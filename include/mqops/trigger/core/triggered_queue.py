"""What inquiry finds of a queue that triggers. Nothing here asks a queue manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mqwire import constants as c
from mqwire.structures import MQTM

LONGEST = 104_857_600
"""Bytes, the most that MAXMSGL can be."""
MQTM_BYTES = MQTM.LAYOUT.size
"""Bytes of a trigger message."""
Disposition = Literal["", "COPY", "SHARED"]
"""QSGDISP on z/OS, as far as an ALTER has to name it: "" for a queue of the queue manager's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A program that has a queue open for input.

    Parameters: `application` its tag; `user` its user identifier; `channel` of a client, else blank.
    """

    application: str
    user: str
    channel: str = ""

    def __str__(self) -> str:
        by = f"user {self.user or 'unknown'}"
        return f"{self.application or 'unknown program'} ({by}{f', channel {self.channel}' if self.channel else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterQueue:
    """What becomes of a trigger message that its initiation queue does not take (IBM MQ, "When triggering does not
    work"): the queue manager puts it on its dead-letter queue, behind an MQDLH, else it discards it.

    Parameters: `name` DEADQ, "" if the queue manager names none; `refuses` why that queue does not take it, "" where it
    does; `known` False where the connection's user may not inquire it: `refuses` says so then.
    """

    name: str = ""
    refuses: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiationQueue:
    """The queue that INITQ names, if there is such a queue.

    Parameters: `local` whether it is a local queue; `refused` why nothing is known of it (no authority to inquire it),
    else ""; all other fields describe a local queue, and have their defaults otherwise. `depth` and `max_depth` in
    messages; `max_length` MAXMSGL in bytes; `open_input` the number of handles for input; `readers` the open handles
    that the command server reports; `last_put` LPUTDATE and LPUTTIME, "" if the queue manager gives none.
    """

    local: bool
    refused: str = ""
    transmission: bool = False
    put_allowed: bool = True
    get_allowed: bool = True
    depth: int = 0
    max_depth: int = 0
    max_length: int = LONGEST
    open_input: int = 0
    readers: tuple[Reader, ...] = ()
    last_put: str = ""
    disposition: Disposition = ""

    @property
    def takes_none(self) -> int:
        """The reason, MQRC_*, why a put of a trigger message fails although the queue can be put to; 0 for none."""
        if self.max_length < MQTM_BYTES:
            return c.MQRC_MSG_TOO_BIG_FOR_Q
        return c.MQRC_Q_FULL if self.depth >= self.max_depth else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggeredQueue:
    """A local queue and what its triggering depends on.

    Parameters: `zos` whether the queue manager is on z/OS; `interval` TRIGINT in milliseconds; `type` MQTT_*;
    `trigger_depth` and `depth` and `max_depth` in messages; `priority` TRIGMPRI; `fifo` MSGDLVSQ(FIFO);
    `default_priority` DEFPRTY; `open_input` the number of handles for input; `uncommitted` whether units of work have
    messages of it, None if the queue manager does not tell; `last_put` as in `InitiationQueue`; `process_defined`
    whether there is a process of the name that `process` has, or of the queue's own name if that is blank, None where
    this may not be inquired; `process_in_data` the process that TRIGDATA names while PROCESS is blank, "" for none;
    `initiation` None if there is no queue of the name `initiation_name`; `usable_initiation` the name of an initiation
    queue that INITQ can name instead, "" where none is looked for (of a name that is not there, the one in another
    case); `usable_served` whether a program has that one open for input; `dead_letters` of a queue whose trigger
    messages the initiation queue does not take, else None; `alias` that was asked about, "" for the queue itself.
    """

    name: str
    queue_manager: str
    zos: bool
    interval: int
    control: bool
    type: int
    trigger_depth: int
    priority: int
    fifo: bool
    default_priority: int
    transmission: bool
    disposition: Disposition
    put_allowed: bool
    get_allowed: bool
    depth: int
    max_depth: int
    open_input: int
    readers: tuple[Reader, ...]
    uncommitted: bool | None
    last_put: str
    process: str
    process_defined: bool | None
    initiation_name: str
    initiation: InitiationQueue | None
    usable_initiation: str = ""
    usable_served: bool = False
    process_in_data: str = ""
    dead_letters: DeadLetterQueue | None = None
    alias: str = ""

    @property
    def served_when_mended(self) -> bool:
        """Whether a trigger monitor has the initiation queue open once the commands for INITQ were run."""
        found = self.initiation
        if found is not None and found.local and not found.transmission:
            return found.open_input > 0
        return self.usable_served

    @property
    def shared(self) -> bool:
        """Whether it is a shared queue of a queue-sharing group."""
        return self.disposition == "SHARED"
