"""The commands that mend what keeps a queue from triggering: each one value, written as MQSC for people and as PCF for
the command server. Nothing here sends one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mqops.mqsc import mqsc_name, quoted
from mqwire import constants as c

NO_PROGRAM = "program to start"
"""APPLICID of a process that is to be defined while nobody has said what it starts."""
_NOT_OURS = ("SYSTEM.", "MQOPS.")


@dataclass(frozen=True, slots=True)
class Setting:
    """An attribute and its new value: `text` as MQSC has it, `selector` (MQIA_*, MQCA_*) and `value` as PCF has it."""

    text: str
    selector: int
    value: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A command: ALTER QLOCAL, DEFINE QLOCAL or DEFINE PROCESS.

    Parameters: `define` whether the object is made; `process` whether it is a process, else a local queue;
    `makes_event` whether the command is a trigger event itself if messages are there and all else holds (T13 to T13b);
    `warning` what a person has to know before it is run, "" for nothing.
    """

    name: str
    settings: tuple[Setting, ...] = ()
    define: bool = False
    process: bool = False
    makes_event: bool = False
    warning: str = ""

    @property
    def mqsc(self) -> str:
        """The command in one line."""
        verb, kind = "DEFINE" if self.define else "ALTER", "PROCESS" if self.process else "QLOCAL"
        return " ".join([f"{verb} {kind}({mqsc_name(self.name)})", *(one.text for one in self.settings)])

    @property
    def pcf(self) -> tuple[str, dict[int, int | bytes]]:
        """The name of the PCF command, MQCMD_*, and its parameters in the order that the command server wants."""
        values = {one.selector: one.value if isinstance(one.value, int) else _bytes(one.value) for one in self.settings}
        verb = "CREATE" if self.define else "CHANGE"
        if self.process:
            return f"MQCMD_{verb}_PROCESS", {c.MQCA_PROCESS_NAME: _bytes(self.name), **values}
        return f"MQCMD_{verb}_Q", {c.MQCA_Q_NAME: _bytes(self.name), c.MQIA_Q_TYPE: c.MQQT_LOCAL, **values}

    def starting(self, program: str) -> Change:
        """The same with this APPLICID, where nobody has said yet what the process starts."""
        named = tuple(applicid(program) if one.value == NO_PROGRAM else one for one in self.settings)
        return replace(self, settings=named) if program else self

    def refusal(self) -> str:
        """Why no program may run this command, "" where one may."""
        if self.name.startswith(_NOT_OURS):
            return f"{self.name} belongs to {'mqops' if self.name.startswith('MQOPS.') else 'the queue manager'}"
        if any(one.value == NO_PROGRAM for one in self.settings):
            return "nobody has said what the process starts: name it with --applicid"
        return ""


PUT_ENABLED = Setting("PUT(ENABLED)", c.MQIA_INHIBIT_PUT, c.MQQA_PUT_ALLOWED)
GET_ENABLED = Setting("GET(ENABLED)", c.MQIA_INHIBIT_GET, c.MQQA_GET_ALLOWED)
TRIGGER = Setting("TRIGGER", c.MQIA_TRIGGER_CONTROL, c.MQTC_ON)
NOTRIGGER = Setting("NOTRIGGER", c.MQIA_TRIGGER_CONTROL, c.MQTC_OFF)
TYPE_FIRST = Setting("TRIGTYPE(FIRST)", c.MQIA_TRIGGER_TYPE, c.MQTT_FIRST)


def initq(name: str) -> Setting:
    """INITQ(name)."""
    return Setting(f"INITQ({mqsc_name(name)})", c.MQCA_INITIATION_Q_NAME, name)


def process(name: str) -> Setting:
    """PROCESS(name)."""
    return Setting(f"PROCESS({mqsc_name(name)})", c.MQCA_PROCESS_NAME, name)


def applicid(program: str) -> Setting:
    """APPLICID('program')."""
    return Setting(f"APPLICID({quoted(program)})", c.MQCA_APPL_ID, program)


def trigmpri(priority: int) -> Setting:
    """TRIGMPRI(priority)."""
    return Setting(f"TRIGMPRI({priority})", c.MQIA_TRIGGER_MSG_PRIORITY, priority)


def maxmsgl(length: int) -> Setting:
    """MAXMSGL(length)."""
    return Setting(f"MAXMSGL({length})", c.MQIA_MAX_MSG_LENGTH, length)


def alter(queue: str, *settings: Setting, makes_event: bool = False, warning: str = "") -> Change:
    """ALTER QLOCAL(queue) with these attributes."""
    return Change(name=queue, settings=settings, makes_event=makes_event, warning=warning)


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Each command once, those last that make a trigger message: nothing else is missing by then."""
    return tuple(sorted(dict.fromkeys(changes), key=lambda change: change.makes_event))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
