"""How the trigger monitor of a queue manager stands: who serves its initiation queues, and its dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mqops.as_json import JsonObject, json_object
from mqops.counted import counted
from mqops.errors import MQError, SettingsError
from mqops.estate_workflows import TriggerMonitor
from mqops.mq.browse import browse
from mqops.mq.inquire import dead_letter_queue, depth
from mqops.mq.session import Session, is_gone
from mqops.trigger.look import is_served
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import split_dlh
from mqwire.names import feedback_name
from mqwire.structures import MQMD

REASONS = frozenset({c.MQFB_APPL_CANNOT_BE_STARTED, c.MQFB_TM_ERROR, c.MQFB_APPL_TYPE_ERROR})
MOST = 100_000
"""Messages of the dead-letter queue that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedQueue:
    """An initiation queue. Parameters: `served` whether a program has it open for input; `waiting` trigger messages."""

    name: str
    served: bool
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What was found.

    Parameters: `dead_letters` trigger messages on the dead-letter queue, by reason (MQFB_*), of its first `MOST`
    messages.
    """

    queues: tuple[ServedQueue, ...]
    dead_letter_queue: str
    dead_letters: dict[str, int]

    @property
    def in_order(self) -> bool:
        """All initiation queues are served, and there is no dead letter."""
        return all(queue.served for queue in self.queues) and not self.dead_letters

    def to_json(self) -> JsonObject:
        """For `--json`."""
        return json_object(self) | {"in_order": self.in_order}

    def lines(self) -> Iterator[str]:
        """For people."""
        for queue in self.queues:
            served = "a trigger monitor serves it" if queue.served else "NOBODY serves it"
            yield f"initiation queue {queue.name}: {served}, {counted(queue.waiting, 'trigger message')}"
        for reason, number in sorted(self.dead_letters.items()):
            letters = counted(number, "trigger message")
            yield f"dead-letter queue {self.dead_letter_queue}: {letters} with {reason}"
        if not self.dead_letters:
            yield "no trigger message is on the dead-letter queue"


def status(session: Session, monitor: TriggerMonitor) -> Status:
    """Look, and change nothing. Raises `MQError`."""
    try:
        letters = dead_letter_queue(session)
    except SettingsError:
        letters = ""
    return Status(
        queues=tuple(
            ServedQueue(name=name, served=is_served(session, name), waiting=_depth(session, name))
            for name in monitor.queues
        ),
        dead_letter_queue=letters,
        dead_letters=_dead_letters(session, letters, frozenset(monitor.queues)) if letters else {},
    )


def _depth(session: Session, queue: str) -> int:
    try:
        return max(0, depth(session, queue))
    except MQError as error:
        if is_gone(error):
            return 0
        raise


def _dead_letters(session: Session, letters: str, queues: frozenset[str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for message in browse(session, letters, limit=MOST):
        md = MQMD.unpack(message.md)
        try:
            split = split_dlh(md.format, md.encoding, md.coded_char_set_id, message.body)
        except WireError:
            continue
        if split is not None and split[0].reason in REASONS and split[0].dest_q_name in queues:
            found[feedback_name(split[0].reason)] += 1
    return dict(found)
