"""What a queue manager says of its queues by inquiry, and what it said the last time.

1. The queue manager is asked by PCF (its queues, their status, their handles). Nothing is put, got or browsed. Where
   the estate has `reset_statistics`, puts and gets are counted besides (`mqops.observe.statistics`).
2. Where it does not answer, the figures of the last time stand in their place, with their time: LAKE/<queue manager>/
   last_seen.json, written at most once a minute, and with it what a queue's depth was over the day
   (`mqops.look.depths`). The files may be deleted.
3. A queue is listed if it has messages or something is wrong with it; the others are counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mqops.act.sources import PROTECTION_ERRORS
from mqops.backout.audit import wrong_settings
from mqops.backout.core.misconfigured import Misconfigured
from mqops.clock import utc_now
from mqops.counted import counted, length_of_time
from mqops.errors import LakeError, MqopsError, SettingsError
from mqops.lake.files import make_folder, write_json
from mqops.lake.run import folder_of
from mqops.lake.run_file import Checked
from mqops.ledger.queue import NAME as LEDGER
from mqops.look.depths import note_depths
from mqops.mq.channels import INACTIVE, serving, states
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import (
    DEFINITION,
    LAST_PUT,
    command,
    dead_letter_queue,
    definitions_in,
    inquire_queues,
    last_put,
    monitored_figure,
)
from mqops.mq.named_queue import mended_deadq, wrong_name
from mqops.mq.session import Session
from mqops.observe.statistics import count_puts_and_gets
from mqops.observe.unseen import units_in_words
from mqops.queue_names import OF_ANSWERS, is_named
from mqops.storage import named_in_estate
from mqwire import constants as c

LAST_SEEN = "last_seen.json"
KEEP_EVERY = timedelta(minutes=1)
NEARLY_FULL = 0.9
LATE = "it was asked "
"""How the reason begins why there is no answer, where one can still come."""
NOT_YET = "others are asked before it"
"""The reason why there is no answer of one whose turn has not come."""
BLANK = "DEADQ is blank"
MOST_NAMED = 5
"""Programs that are named at a queue; the others are counted."""
NOT_AT_WORK = frozenset({"STOPPED", "RETRYING", "PAUSED"})
"""States of a channel (MQCHS_*) in which a person looks at it, also where no message waits for it."""
MOST_OTHERS = 200
"""Queues without messages that are named."""
_NOT_OF_APPLICATIONS = ("SYSTEM.", LEDGER, *OF_ANSWERS)
"""How names begin that are not listed; the last is that of the queue to which this inquiry is answered."""
_ASKED = (*DEFINITION, c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT, c.MQIA_INHIBIT_GET)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """A local queue.

    Parameters: `depth` and `max_depth` in messages; `oldest` age of the oldest message in seconds, None where the
    queue manager does not monitor it; `uncommitted` messages of open units of work, None where it does not say;
    `readers` and `writers` handles; `open_by` the programs that have it open, with their users and what they do;
    `threshold` BOTHRESH; `is_backout` whether another queue names it as BOQNAME; `storage` whether messages lie there
    until a person looks at them, so that no reader is missed (`mqops.storage`); `transmission` whether it is a
    transmission queue; `last_put` as the queue manager tells it, blank where it does not; `unit` whose unit of work its
    uncommitted messages are of, in words, blank where there are none.
    """

    name: str
    depth: int
    max_depth: int
    readers: int = 0
    writers: int = 0
    put_allowed: bool = True
    get_allowed: bool = True
    oldest: int | None = None
    uncommitted: int | None = None
    open_by: tuple[str, ...] = ()
    threshold: int = 0
    is_backout: bool = False
    storage: bool = False
    transmission: bool = False
    last_put: str = ""
    unit: str = ""

    @property
    def nearly_full(self) -> bool:
        """Whether it has 90 % of the messages that it may have."""
        return self.max_depth > 0 and self.depth >= NEARLY_FULL * self.max_depth

    @property
    def messages_and_age(self) -> str:
        """Its messages, and the age of the oldest where the queue manager monitors the queue."""
        age = f", the oldest {length_of_time(self.oldest)} old" if self.oldest is not None else ""
        return f"{counted(self.depth, 'message')}{age}"

    @property
    def with_depth(self) -> str:
        """Its name, with its depth in MQ's word."""
        return f"{self.name} (CURDEPTH {self.depth:,})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFigures:
    """A channel that is not at work. Parameters: `state` MQCHS_* in words; `serves` the transmission queue that has
    messages for it, blank for none."""

    name: str
    state: str
    serves: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A queue manager's queues.

    Parameters: `seen_at` when the queue manager was asked for these figures, ISO 8601 UTC, blank where it gave none;
    `unreachable` why it does not answer now, blank where it does; `dead_letter_queue` blank for none; `queues` that
    are listed of, `others` how many there are besides, and `other_names` the first `MOST_OTHERS` of them; `channels`
    that are stopped or do not get through, or that do not run although messages wait for them; `unserved` transmission
    queues with messages that no channel names; `no_dead_letter_queue` what is wrong with the DEADQ, blank where it
    names a local queue that is there, or that cannot be known; `deadq_mend` the MQSC that mends it; `misconfigured`
    the queues with BOTHRESH whose messages BOQNAME cannot take. Where DEADQ names an alias, `dead_letter_queue` is its
    base queue.
    """

    seen_at: str = ""
    unreachable: str = ""
    dead_letter_queue: str = ""
    queues: tuple[QueueFigures, ...] = ()
    others: int = 0
    other_names: tuple[str, ...] = ()
    channels: tuple[ChannelFigures, ...] = ()
    unserved: tuple[str, ...] = ()
    no_dead_letter_queue: str = ""
    deadq_mend: str = ""
    misconfigured: tuple[Misconfigured, ...] = ()

    @property
    def awaited(self) -> bool:
        """Whether an answer is late, and nothing says that none will come."""
        return awaits(self.unreachable)

    @property
    def storage(self) -> list[QueueFigures]:
        """The queues where messages lie until a person looks, but for the dead-letter queue and backout queues, which
        workflows empty."""
        own = self.dead_letter_queue
        return [one for one in self.queues if one.storage and not one.is_backout and one.name != own]

    def depth_of(self, queue: str) -> int | None:
        """Messages on a queue; None where that is not known. A queue of applications that is not listed has none, as
        `PROTECTION_ERRORS`."""
        listed = next((one.depth for one in self.queues if one.name == queue), None)
        known = bool(self.seen_at) and (queue == PROTECTION_ERRORS or not queue.startswith(_NOT_OF_APPLICATIONS))
        return 0 if listed is None and known else listed


def awaits(silence: str) -> bool:
    """Whether the reason why there is no answer is that it is late, or that the question is in a queue."""
    return silence.startswith((LATE, NOT_YET))


def figures(connection: MqConnection, lake: Path, name: str) -> Figures:
    """The figures of a queue manager of now, or its last ones with the reason why it does not answer now."""
    try:
        with connect(connection) as session:
            found = _answers(session, named_in_estate(name))
            count_puts_and_gets(session, lake, name)
    except MqopsError as error:
        return last_figures(lake, name, str(error))
    _keep(lake, name, found)
    return found


def last_figures(lake: Path, name: str, unreachable: str) -> Figures:
    """The last figures of a queue manager. Parameters: `unreachable` why it does not answer now."""
    try:
        return replace(_kept(folder_of(lake, name)), unreachable=unreachable)
    except (MqopsError, OSError):
        return Figures(unreachable=unreachable)


def _answers(session: Session, storage: Iterable[str]) -> Figures:
    """Parameters: `storage` the queues that the estate names so. Raises `MQError`."""
    asked_at = utc_now()  # what happens from now on may be in them or not
    dead, no_dead, mend = "", "", "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE) names one"
    try:
        dead = dead_letter_queue(session)
        if wrong := wrong_name(session, dead):
            no_dead, mend = f"DEADQ names {dead}, {wrong.why}", mended_deadq(dead, wrong)
            dead = wrong.instead if wrong.instead and wrong.there else dead
    except SettingsError:
        no_dead = BLANK
    except MqopsError:
        pass  # who may not ask does not know
    all_kinds = inquire_queues(session, "*", _ASKED, kind=c.MQQT_ALL)
    rows = [row for row in all_kinds if row[c.MQIA_Q_TYPE] == c.MQQT_LOCAL]
    named = {row.get(c.MQCA_BACKOUT_REQ_Q_NAME, "") for row in rows}
    found: list[QueueFigures] = []
    others: list[str] = []
    for row in rows:
        name, depth = row[c.MQCA_Q_NAME], row[c.MQIA_CURRENT_Q_DEPTH]
        own = not name.startswith(_NOT_OF_APPLICATIONS) or name == dead or (name == PROTECTION_ERRORS and depth)
        closed = own and (row[c.MQIA_INHIBIT_PUT] or row[c.MQIA_INHIBIT_GET])
        if not own or not (depth or closed or name == dead):
            others += [name] if own else []
            continue
        queue = QueueFigures(
            name=name,
            depth=depth,
            max_depth=row[c.MQIA_MAX_Q_DEPTH],
            readers=row[c.MQIA_OPEN_INPUT_COUNT],
            writers=row[c.MQIA_OPEN_OUTPUT_COUNT],
            put_allowed=row[c.MQIA_INHIBIT_PUT] == c.MQQA_PUT_ALLOWED,
            get_allowed=row[c.MQIA_INHIBIT_GET] == c.MQQA_GET_ALLOWED,
            threshold=row.get(c.MQIA_BACKOUT_THRESHOLD, 0),
            is_backout=name in named,
            transmission=row.get(c.MQIA_USAGE) == c.MQUS_TRANSMISSION,
            storage=name == dead or name in named or bool(row[c.MQIA_INHIBIT_GET]) or is_named(name, storage),
        )
        found.append(queue)
    channels, unserved = _channels(session, [one.name for one in found if one.transmission and one.depth])
    found.sort(key=lambda one: (one.name != dead, -one.depth, one.name))
    return Figures(
        seen_at=asked_at,
        dead_letter_queue=dead,
        queues=tuple(_with_status(session, found)),
        no_dead_letter_queue=no_dead,
        deadq_mend=mend if no_dead else "",
        others=len(others),
        other_names=tuple(sorted(others)[:MOST_OTHERS]),
        channels=channels,
        unserved=unserved,
        misconfigured=wrong_settings(session, definitions_in(all_kinds)),
    )


def _channels(session: Session, waiting: list[str]) -> tuple[tuple[ChannelFigures, ...], tuple[str, ...]]:
    """Channels that are not at work, and transmission queues that none names. Who may not ask sees none.

    Parameters: `waiting` transmission queues with messages.
    """
    try:
        now = states(session)
        named = serving(session) if waiting else {}
    except MqopsError:
        return (), ()
    of = {channel: queue for queue in waiting for channel in named.get(queue, ())}
    wrong = {name: state for name, state in now.items() if state in NOT_AT_WORK}
    wrong |= {name: now.get(name, INACTIVE) for name in of if now.get(name) != "RUNNING"}
    channels = (ChannelFigures(name=name, state=wrong[name], serves=of.get(name, "")) for name in sorted(wrong))
    return tuple(channels), tuple(queue for queue in waiting if not named.get(queue))


def _with_status(session: Session, queues: list[QueueFigures]) -> Iterable[QueueFigures]:
    """The queues with oldest message, uncommitted ones and programs. Who may not ask for the status sees the rest.
    Only queues with messages are asked for their status: of another one it says nothing that is shown."""
    status: dict[str, dict[int, Any]] = {}
    if any(one.depth for one in queues):
        rows = _status(session, *_OF_QUEUE, above_zero=c.MQIA_CURRENT_Q_DEPTH)
        status = {row[c.MQCA_Q_NAME]: row for row in rows}
    open_units = [one for one in queues if monitored_figure(status.get(one.name, {}).get(c.MQIACF_UNCOMMITTED_MSGS))]
    units = units_in_words(session, {one.name: one.depth for one in open_units}) if open_units else {}
    users: dict[str, list[str]] = {}
    if any(one.readers or one.writers for one in queues):
        for row in _status(session, *_OF_HANDLE, kind=c.MQIACF_Q_HANDLE):
            users.setdefault(row[c.MQCA_Q_NAME], []).append(_program(row))
    for one in queues:
        row = status.get(one.name, {})
        yield replace(
            one,
            oldest=monitored_figure(row.get(c.MQIACF_OLDEST_MSG_AGE)),
            uncommitted=monitored_figure(row.get(c.MQIACF_UNCOMMITTED_MSGS)),
            open_by=_named(users.get(one.name, ())),
            last_put=last_put(row),
            unit=units.get(one.name, ""),
        )


_OF_QUEUE = (c.MQIA_CURRENT_Q_DEPTH, c.MQIACF_OLDEST_MSG_AGE, c.MQIACF_UNCOMMITTED_MSGS, *LAST_PUT)
_OF_HANDLE = (
    *(c.MQCACF_APPL_TAG, c.MQCACF_USER_IDENTIFIER),
    *(c.MQIACF_OPEN_INPUT_TYPE, c.MQIACF_OPEN_OUTPUT, c.MQIACF_OPEN_BROWSE),
)


def _status(session: Session, *selectors: int, kind: int = 0, above_zero: int = 0) -> list[dict[int, Any]]:
    """Rows of MQCMD_INQUIRE_Q_STATUS for all queues; none for who may not ask. Parameters: `selectors` of what is
    wanted besides the name; `above_zero` as of `command`."""
    asked: dict[int, Any] = {c.MQCA_Q_NAME: b"*"}
    asked |= {c.MQIACF_Q_STATUS_TYPE: kind} if kind else {}
    asked |= {c.MQIACF_Q_STATUS_ATTRS: [c.MQCA_Q_NAME, *selectors]}
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked, above_zero=above_zero)
    except MqopsError:
        return []
    return [row for row in rows if c.MQCA_Q_NAME in row]


def _program(row: dict[int, Any]) -> str:
    does = {"reads": c.MQIACF_OPEN_INPUT_TYPE, "writes": c.MQIACF_OPEN_OUTPUT, "browses": c.MQIACF_OPEN_BROWSE}
    said = [word for word, selector in does.items() if row.get(selector)]
    user = row.get(c.MQCACF_USER_IDENTIFIER, "")
    name = row.get(c.MQCACF_APPL_TAG, "") or "a program without a name"
    return f"{name}{f' of {user}' if user else ''} {', '.join(said) or 'looks'}"


def _named(programs: Iterable[str]) -> tuple[str, ...]:
    """The programs, each once, with the number of its handles where it has several; most handles first."""
    counts = Counter(programs).most_common()
    shown = [f"{name} ({number} handles)" if number > 1 else name for name, number in counts[:MOST_NAMED]]
    return (*shown, *([f"{len(counts) - MOST_NAMED:,} more"] if len(counts) > MOST_NAMED else []))


_LAST_SEEN = Checked(Figures)


def _kept(folder: Path) -> Figures:
    """The figures of the last time; empty where there are none that can be read."""
    try:
        found = _LAST_SEEN.read(folder / LAST_SEEN)
        return replace(found, unreachable="", no_dead_letter_queue="", deadq_mend="")  # of now, or not at all
    except LakeError:
        return Figures()


def _keep(lake: Path, name: str, found: Figures) -> None:
    """Write the figures for the next time, where they are a minute old. Who may only read the lake does without."""
    try:
        folder = folder_of(lake, name)
        before = _kept(folder).seen_at
        if before and datetime.fromisoformat(found.seen_at) - datetime.fromisoformat(before) < KEEP_EVERY:
            return
        if os.access(lake, os.W_OK):
            make_folder(folder)
            write_json(folder / LAST_SEEN, asdict(found))
            note_depths(folder, found.seen_at, {one.name: one.depth for one in found.queues})
    except (MqopsError, OSError, ValueError):
        return  # the figures of now are shown all the same
