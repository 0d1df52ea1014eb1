"""The record of batches, kept as messages on SYSTEM.CHANNEL.SYNCQ at both ends: it makes delivery exactly once.

One batch, step by step; the process may die at any of them:

1. The sender gets messages under syncpoint.
2. The sender puts its IN-DOUBT record, on its own: batch id, number, the tokens of the messages that it sends. What it
   dead-letters or discards itself is not among them: when the sender dies in doubt that is undone, and the message
   back on the transmission queue is the only one there is.
3. The receiver puts the messages and replaces its COMMITTED record (batch id, number), all in one unit of work, and
   commits it.
4. The sender, in the unit of work of step 1, removes the IN-DOUBT record, replaces its COMMITTED record, and commits.

A sender that finds an IN-DOUBT record at its start asks the receiver's record: is the batch id there, then step 3
was done, and step 4 is done again with the tokens; is it not, then nothing was delivered, and the record is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mqlite.channels.port import Port
from mqwire import constants as c
from mqwire.structures import MQMD

SYNC_QUEUE = "SYSTEM.CHANNEL.SYNCQ"
SEND, IN_DOUBT, RECEIVE = "send", "in-doubt", "receive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """number: sequence number of the last message of the batch.

    tokens: message tokens (hexadecimal) of what was sent, if in doubt.
    """

    batch: str = ""
    number: int = 0
    tokens: tuple[str, ...] = ()


def new_batch() -> str:
    """The identifier of a batch (a logical unit of work, 8 bytes in hexadecimal)."""
    return os.urandom(8).hex().upper()


class Journal:
    """The records of one channel at one end, under that end's unit of work unless it is said otherwise.

    partner: the queue manager at the other end, for a receiver that has several senders.
    """

    def __init__(self, port: Port, channel: str, partner: str = "") -> None:
        self._port = port
        self._channel = channel
        self._partner = partner

    def read(self, role: str) -> Record | None:
        """The record of a role; None if there is none.

        Parameters: `role` SEND, IN_DOUBT or RECEIVE. Raises `Refused` if the queue manager does.
        """
        body = self._port.browse(SYNC_QUEUE, self._key(role))
        if body is None:
            return None
        values = json.loads(body)
        return Record(batch=values["batch"], number=values["number"], tokens=tuple(values["tokens"]))

    def replace(self, role: str, record: Record) -> None:
        """Put the record in the place of the old one, in the unit of work."""
        self.remove(role)
        self._port.put(SYNC_QUEUE, "", self._descriptor(role), self._body(role, record))

    def write_through(self, role: str, record: Record) -> None:
        """Put a record at once, outside the unit of work."""
        self._port.put(SYNC_QUEUE, "", self._descriptor(role), self._body(role, record), syncpoint=False)

    def remove(self, role: str) -> None:
        """Take the record away in the unit of work, if there is one."""
        while self._port.get(SYNC_QUEUE, correl_id=self._key(role)) is not None:
            pass

    def _key(self, role: str) -> bytes:
        return hashlib.sha256(f"{role}/{self._channel}/{self._partner}".encode()).digest()[:24]

    def _descriptor(self, role: str) -> MQMD:
        return MQMD(correl_id=self._key(role), persistence=c.MQPER_PERSISTENT, put_appl_type=c.MQAT_QMGR)

    def _body(self, role: str, record: Record) -> bytes:
        who = {"channel": self._channel, "partner": self._partner, "role": role}
        return json.dumps(who | asdict(record)).encode()


def receivers(port: Port, channel: str) -> list[Journal]:
    """The records of a channel at its receiving end, one a sender that has sent something."""
    found = (json.loads(body) for body in port.browse_all(SYNC_QUEUE))
    partners = {each["partner"] for each in found if (each["channel"], each["role"]) == (channel, RECEIVE)}
    return [Journal(port, channel, partner) for partner in sorted(partners)]


def resolve(sender: Port, ours: Journal, theirs: Record | None, transmission_queue: str) -> int:
    """Settle a batch in doubt, if there is one. Returns how many messages turned out to be delivered already.

    theirs: the receiver's record. The sender's unit of work must be empty, and is ended here.
    """
    doubt = ours.read(IN_DOUBT)
    if doubt is None:
        return 0
    if theirs is None or theirs.batch != doubt.batch:
        ours.remove(IN_DOUBT)
        sender.commit()
        return 0
    settle(sender, ours, doubt, transmission_queue)
    return len(doubt.tokens)


def settle(sender: Port, ours: Journal, doubt: Record, transmission_queue: str) -> None:
    """The batch was delivered: remove its messages and note it as committed, in one unit of work."""
    for token in doubt.tokens:
        sender.get(transmission_queue, token=bytes.fromhex(token))
    note_delivered(ours, doubt)
    sender.commit()


def note_delivered(ours: Journal, doubt: Record) -> None:
    """The record part of step 4, in the unit of work that holds the messages."""
    ours.remove(IN_DOUBT)
    ours.replace(SEND, Record(batch=doubt.batch, number=doubt.number))


def numbers(records: Sequence[Record | None]) -> int:
    """The highest sequence number that the records know."""
    return max((record.number for record in records if record is not None), default=0)
