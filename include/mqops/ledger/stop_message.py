"""The kill switch for every lake: a message on the ledger queue that every act looks at before a unit of work.

1. A stop has a CorrelId of its own (`STOP`), and is persistent. Its body is a JSON object: who, when, why.
2. It holds for every run on the queue manager, whichever lake the run is of: each act looks when it begins, and once a
   second while it moves messages.
3. The lake's key signs it where there is one. Another lake's key cannot verify it, and it holds nevertheless: to stop
   is the safe direction. What is shown of it then is who put it, by the context that the queue manager set.
4. `mqops resume` takes off the stops that keys of the lake verify; the others only with a reason.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mqops.command import command
from mqops.errors import MQError, MqopsError, Stopped, mq_error
from mqops.lake.stop import Stop
from mqops.ledger.core.received import put_by, who_put
from mqops.ledger.core.seal import BadSignature, Seal, read_message, sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import NAME, browsed
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import RawMessage, Session, is_gone
from mqops.printable import printable
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

STOP = hashlib.sha256(b"mqops: stop all acting").digest()[:24]
"""The CorrelId of a stop."""
LOOK_AGAIN = 1.0
"""Seconds between two looks of an act that is under way."""
LONGEST = 4096
"""Bytes of the longest body that is read."""
_correl_id = MQMD_LAYOUT.reader("correl_id")
_MD = MQMD_LAYOUT.pack(
    {
        "version": c.MQMD_VERSION_2,
        "format": c.MQFMT_STRING,
        "coded_char_set_id": 1208,
        "persistence": c.MQPER_PERSISTENT,
        "correl_id": STOP,
    }
)
_PUT = c.MQPMO_NO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING | c.MQPMO_NEW_MSG_ID
_TAKE = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_MSG_UNDER_CURSOR


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOnQueue:
    """A stop on the ledger queue. Parameters: `what` it says; `verified` whether a key of this lake signed it; `put`
    who put it and when, by the queue manager."""

    what: Stop
    verified: bool
    put: str

    def __str__(self) -> str:
        unverified = "" if self.verified else f"; put by {self.put}, not signed by this lake"
        return f"{self.what}{printable(unverified)}"


def is_stop(md: bytes) -> bool:
    """Whether a message of the ledger queue is a stop. Parameters: `md` its MQMD."""
    return bytes(_correl_id(md)[0]) == STOP


def put_stop(session: Session, what: Stop, seal: Seal | None) -> None:
    """Stop every run on the queue manager. Parameters: `seal` None: unsigned. Raises `MQError`."""
    body = json.dumps({"v": 1, "kind": "stop", **what.to_json()}, separators=(",", ":")).encode()[:LONGEST]
    try:
        signed = sign_message(seal, body) if seal else body
    except MqopsError:
        signed = body  # without a key, or on a disk that is full: a stop needs none
    handle = session.open(NAME, c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING)
    try:
        if reason := session.put(handle, _MD[:1] + _MD[1:], signed, _PUT):
            raise mq_error(c.MQCC_FAILED, reason, verb="MQPUT", object_name=NAME)
    finally:
        session.close(handle)


def stops_on(session: Session, seal: Seal | None) -> list[StopOnQueue]:
    """The stops that are in force for every lake; none without a ledger queue, or where it gives no message: then no
    run can act anyway. Raises `MQError`."""
    try:
        handle = session.open(NAME, c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING)
    except MQError as error:
        if is_gone(error):
            return []
        raise
    try:
        return [_read(got, seal) for got in browsed(session, handle, STOP)]
    except MQError as error:
        if error.reason == c.MQRC_GET_INHIBITED:
            return []
        raise
    finally:
        session.close(handle)


def take_off(session: Session, seal: Seal | None, *, unverified: bool) -> list[StopOnQueue]:
    """Take the stops off the queue, and give them. Parameters: `unverified` those that no key of this lake signed,
    too. Raises `MQError`."""
    taken: list[StopOnQueue] = []
    if not stops_on(session, seal):
        return taken
    handle = session.open(NAME, c.MQOO_BROWSE | c.MQOO_INPUT_SHARED | c.MQOO_FAIL_IF_QUIESCING)
    try:
        for got in browsed(session, handle, STOP):
            found = _read(got, seal)
            if (found.verified or unverified) and session.get(handle, _TAKE, name=NAME) is not None:
                taken.append(found)
    finally:
        session.close(handle)
    return taken


def stop_all(connection: MqConnection, lake_folder: Path, what: Stop) -> str:
    """Stop every run on a queue manager, whichever lake it is of. Returns why that is not so, "" where it is.

    Parameters: `lake_folder` LAKE/<queue manager>, whose key signs the stop.
    """
    seal = KeyRing(lake_folder)
    try:
        with connect(connection) as session:
            if not any(one.verified for one in stops_on(session, seal)):
                with suppress(MqopsError):  # on a disk that is full the stop is put without a signature
                    LedgerFile(lake_folder).make_key()  # the first command in a lake may be a stop
                put_stop(session, what, seal)
    except MqopsError as error:
        return str(error)
    return ""


class Resumed(NamedTuple):
    """Stops for every lake that were taken off, and those that hold still; and why nothing of this is known, "" where
    it is."""

    taken: list[StopOnQueue]
    left: list[StopOnQueue]
    unknown: str = ""


def resume_all(connection: MqConnection, lake_folder: Path, *, unverified: bool = False) -> Resumed:
    """Take the stops for every lake off. Parameters: `unverified` those that no key of this lake signed, too."""
    seal = KeyRing(lake_folder)
    try:
        with connect(connection) as session:
            return Resumed(take_off(session, seal, unverified=unverified), stops_on(session, seal))
    except MqopsError as error:
        return Resumed([], [], str(error))


def _read(got: RawMessage, seal: Seal | None) -> StopOnQueue:
    said = put_by(got.md)
    put = who_put(got.md)
    body, verified = got.body, False
    try:
        if seal is not None:
            body, verified = read_message(seal, got.body), True
    except (BadSignature, MqopsError):
        pass
    return StopOnQueue(what=_said(body, put, f"{said['date']} {said['time']}"), verified=verified, put=put)


def _said(body: bytes, put: str, at: str) -> Stop:
    """What a stop says; one that cannot be read says who put it."""
    try:
        value: Any = json.loads(body) if len(body) <= LONGEST else {}
        found = Stop.from_json(value)
    except (ValueError, AttributeError, RecursionError):
        return Stop(by=put, at=at)
    return found if found.by else Stop(by=put, at=at)


def refuse_if_stopped_for_all(session: Session, seal: Seal | None, queue_manager: str) -> None:
    """Raise `Stopped` with who stopped it and how to go on, where a stop for every lake is on the queue.

    Raises `MQError`.
    """
    if found := stops_on(session, seal):
        go_on = command("mqops", "resume", "-m", queue_manager)
        raise Stopped(
            f"All acting on {printable(queue_manager)} was stopped, for every lake, {found[0]}. What was done is in "
            f"the ledger, everything else is where it was. To go on: `{go_on}`"
        )


@dataclass(slots=True)
class StopWatch:
    """Looks for a stop at most once a second. Parameters: `now` seconds of a monotonic clock."""

    now: Callable[[], float] = time.monotonic
    _looked_at: float = field(default=float("-inf"))
    _found: bool = False

    def stopped(self, session: Session) -> bool:
        """Whether there is one. Raises `MQError`."""
        if not self._found and self.now() - self._looked_at >= LOOK_AGAIN:
            self._looked_at = self.now()
            self._found = bool(stops_on(session, None))
        return self._found
