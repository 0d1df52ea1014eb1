"""Markers on the ledger queue whose plans this lake does not have: whose they are, whether somebody is at work with the
queue, and the note of who took some off, and why: LAKE/<queue manager>/ledger/taken_off.jsonl, private.

Nothing of ours proposes to take them off: their lake could then neither prove nor resume nor undo their run. A person
who knows that the lake is gone, or that they are forged, gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mqops.clock import utc_now
from mqops.counted import counted
from mqops.errors import InProgress, MQError, SettingsError
from mqops.formats import json_line
from mqops.lake.files import append_lines
from mqops.ledger.core.received import put_by, who_put
from mqops.ledger.queue import NAME
from mqops.mq.inquire import queue_attribute
from mqops.mq.session import Session
from mqwire import constants as c

TAKEN_OFF = "taken_off.jsonl"
MOST_NAMED = 3
"""Users that are named."""
LOST = "Without them that run cannot be proved, resumed or undone in its own lake"
"""What taking markers off costs."""


@dataclass(slots=True)
class Whose:
    """The markers of a run that this lake does not have.

    Attributes: `markers` how many; `verified` whether keys of this lake signed all of them; `users` who put them, by
    the context that the queue manager set; `last` date and time of the newest, UTC.
    """

    markers: int = 0
    verified: bool = True
    users: set[str] = field(default_factory=set)
    last: str = ""

    def add(self, md: bytes, *, verified: bool) -> None:
        """One more marker. Parameters: `md` its MQMD."""
        said = put_by(md)
        self.markers += 1
        self.verified &= verified
        if len(self.users) <= MOST_NAMED:
            self.users.add(who_put(md))
        self.last = max(self.last, f"{said['date']} {said['time']}")

    def __str__(self) -> str:
        named = sorted(self.users)
        users = ", ".join(named[:MOST_NAMED]) + (" and others" if len(named) > MOST_NAMED else "")
        day, _, time = self.last.partition(" ")
        at = f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:{time[4:6]} UTC"
        key = "" if self.verified else ", signed with a key that this lake does not have"
        return f"{counted(self.markers, 'marker')}, put by {users}, the last at {at}{key}"


def programs_at_work(session: Session) -> int | None:
    """How many handles programs have on the ledger queue for input, those of this session included; None where it may
    not be inquired."""
    try:
        return int(queue_attribute(session, NAME, c.MQIA_OPEN_INPUT_COUNT))
    except MQError:
        return None


def at_work(session: Session) -> str:
    """Whether somebody is at work with the ledger queue, in words. The session has it not open."""
    number = programs_at_work(session)
    if number is None:
        return f"Whether somebody is at work with {NAME} is not known"
    if number:
        return f"Somebody is at work with {NAME} now: {counted(number, 'handle')} for input"
    return f"Nobody has {NAME} open now"


def refuse_without_reason(runs: Iterable[str], why: str) -> None:
    """Refuse to take markers off where nobody said why. Raises `SettingsError`."""
    if any(runs) and not why.strip():
        raise SettingsError(f"To take markers of another lake off {NAME}, say why: {LOST}")


def refuse_at_work(session: Session) -> None:
    """Refuse to take markers off while their run may be alive. Raises `InProgress`."""
    if programs_at_work(session):
        raise InProgress(
            f"{at_work(session)}, perhaps the run whose markers they are. Nothing was taken off. Wait until it has "
            f"ended: DISPLAY QSTATUS({NAME}) TYPE(HANDLE) tells who it is"
        )


def note_taken_off(lake_folder: Path, runs: Iterable[str], *, by: str, why: str) -> None:
    """Note who takes the markers of which runs off, and why, before it is done. Raises `LakeError`."""
    record = {"at": utc_now(), "by": by, "runs": sorted(runs), "why": why}
    append_lines(lake_folder / "ledger" / TAKEN_OFF, json_line(TAKEN_OFF, record))
