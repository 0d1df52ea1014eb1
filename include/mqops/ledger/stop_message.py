"""The kill switch for every lake: a message on the ledger queue that every act looks at before a unit of work.

1. A stop has a CorrelId of its own (`STOP`), and is persistent. Its body is a JSON object: who, when, why.
2. It holds for every run on the queue manager, whichever lake the run is of: each act looks when it begins, and once a
   second while it moves messages.
3. The lake's key signs it where there is one. Another lake's key cannot verify it, and it holds nevertheless: to stop
   is the safe direction. What is shown of it then is who put it, by the context that the queue manager set.
4. `mqops resume` takes off the stops that keys of the lake verify; the others only with a reason.
5. A copy of a stop that this lake has taken back stops nothing here (`mqops.ledger.taken_stops`): no two stops are the
   same. The next sweep sets it aside. Another lake cannot know what it is: there it holds, as any other message does.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mqops.command import command
from mqops.errors import LakeError, MQError, MqopsError, Stopped, mq_error
from mqops.lake.stop import Stop
from mqops.ledger.core.received import put_by, who_put
from mqops.ledger.core.seal import BadSignature, read_message, sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import NAME, browsed, descriptor, has_correl_id
from mqops.ledger.signing import make_key
from mqops.ledger.taken_stops import note_taken, was_taken
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import RawMessage, Session, is_gone
from mqops.printable import printable
from mqops.type_adapter import adapter_of
from mqwire import constants as c

KIND = "stop"
STOP = hashlib.sha256(b"mqops: stop all acting").digest()[:24]
"""The CorrelId of a stop."""
LOOK_AGAIN = 1.0
"""Seconds between two looks of an act that is under way."""
LONGEST, SIGNATURE = 4096, 128
"""Bytes of the longest body that is read, and for its signature."""
SHORT = 100
"""Characters of a reason for which there is always room."""
MOST = 10
"""Stops that are shown. One suffices to stop, and who may put on the ledger queue can put ten thousand."""
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
    return has_correl_id(md, STOP)


def is_copy(got: RawMessage, keys: KeyRing) -> bool:
    """Whether a stop is a copy of one that this lake has taken back."""
    return _is_signed(got.body, keys) and was_taken(keys.lake_folder, got.body)


def put_stop(session: Session, what: Stop, keys: KeyRing) -> None:
    """Stop every run on the queue manager. Parameters: `keys` of which the newest signs. Raises `MQError`."""
    body = _body(what)
    try:
        signed = sign_message(keys, body)
    except MqopsError:
        signed = body  # without a key, or on a disk that is full: a stop needs none
    handle = session.open(NAME, c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING)
    try:
        if reason := session.put(handle, descriptor(STOP), signed, _PUT):
            raise mq_error(c.MQCC_FAILED, reason, verb="MQPUT", object_name=NAME)
    finally:
        session.close(handle)


def _body(what: Stop) -> bytes:
    """The body of a stop, not signed yet; the end of a long reason is left out."""
    said = {"v": 1, "kind": KIND, "id": secrets.token_hex(16), **what.to_json()}
    whole, short = (
        json.dumps(said | {"why": what.why[:length]}, separators=(",", ":")).encode() for length in (LONGEST, SHORT)
    )
    return whole if len(whole) <= LONGEST - SIGNATURE else short


def stops_on(session: Session, keys: KeyRing, most: int = MOST + 1) -> list[StopOnQueue]:
    """The first stops that are in force; none without a ledger queue, or where it gives no message: then no run can act
    anyway. Parameters: `keys` of the lake that asks; `most` of them. Raises `MQError`."""
    with closing(_in_force(session, keys)) as found:
        return list(islice(found, most))


def shown(stops: Sequence[StopOnQueue]) -> list[str]:
    """What is said of the stops that were found."""
    return [*map(str, stops[:MOST]), *(["and by more stops"] if len(stops) > MOST else [])]


def _in_force(session: Session, keys: KeyRing) -> Generator[StopOnQueue, None, None]:
    try:
        handle = session.open(NAME, c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING)
    except MQError as error:
        if is_gone(error):
            return
        raise
    try:
        yield from (_read(got, keys) for got in browsed(session, handle, STOP) if not is_copy(got, keys))
    except MQError as error:
        if error.reason != c.MQRC_GET_INHIBITED:
            raise
    finally:
        session.close(handle)


def take_off(session: Session, keys: KeyRing, *, unverified: bool) -> list[StopOnQueue]:
    """Take the stops off the queue, note it, and give the first of them. Parameters: `unverified` those that no key of
    this lake signed, too. Raises `MQError`."""
    taken: list[StopOnQueue] = []
    if not stops_on(session, keys, 1):
        return taken
    handle = session.open(NAME, c.MQOO_BROWSE | c.MQOO_INPUT_SHARED | c.MQOO_FAIL_IF_QUIESCING)
    try:
        for got in browsed(session, handle, STOP):
            found = _read(got, keys)
            if (found.verified or unverified) and session.get(handle, _TAKE, name=NAME) is not None:
                with suppress(LakeError):  # on a full disk the stop is taken back all the same
                    note_taken(keys.lake_folder, [got.body] if found.verified else [])
                taken += [found] if len(taken) < MOST else []
    finally:
        session.close(handle)
    return taken


def stop_all(connection: MqConnection, lake_folder: Path, what: Stop) -> str:
    """Stop every run on a queue manager, whichever lake it is of. Returns why that is not so, "" where it is.

    Parameters: `lake_folder` LAKE/<queue manager>, whose key signs the stop.
    """
    keys = KeyRing(lake_folder)
    try:
        with connect(connection) as session:
            with closing(_in_force(session, keys)) as found:
                is_there = any(one.verified for one in found)
            if not is_there:
                with suppress(MqopsError):  # on a disk that is full the stop is put without a signature
                    make_key(LedgerFile(lake_folder))  # the first command in a lake may be a stop
                put_stop(session, what, keys)
    except MqopsError as error:
        return str(error)
    return ""


class Resumed(NamedTuple):
    """The first stops for every lake that were taken off, and those that hold still; and why nothing of this is known,
    "" where it is."""

    taken: list[StopOnQueue]
    left: list[StopOnQueue]
    unknown: str = ""


def resume_all(connection: MqConnection, lake_folder: Path, *, unverified: bool = False) -> Resumed:
    """Take the stops for every lake off. Parameters: `unverified` those that no key of this lake signed, too."""
    keys = KeyRing(lake_folder)
    try:
        with connect(connection) as session:
            return Resumed(take_off(session, keys, unverified=unverified), stops_on(session, keys))
    except MqopsError as error:
        return Resumed([], [], str(error))


def _read(got: RawMessage, keys: KeyRing) -> StopOnQueue:
    said = put_by(got.md)
    put = who_put(got.md)
    what = _said(got.body, put, f"{said['date']} {said['time']}")
    return StopOnQueue(what=what, verified=_is_signed(got.body, keys), put=put)


def _is_signed(body: bytes, keys: KeyRing) -> bool:
    """Whether a key of the lake signed a stop. A marker that it signed is none, whatever its CorrelId is."""
    try:
        return adapter_of(dict[str, object]).validate_json(read_message(keys, body)).get("kind") == KIND
    except (BadSignature, MqopsError, ValueError):
        return False


def _said(body: bytes, put: str, at: str) -> Stop:
    """What a stop says; one that cannot be read says who put it."""
    try:
        found = adapter_of(Stop).validate_json(body) if len(body) <= LONGEST else Stop()
    except ValueError:
        return Stop(by=put, at=at)
    return found if found.by else Stop(by=put, at=at)


def refuse_if_stopped_for_all(session: Session, keys: KeyRing, queue_manager: str) -> None:
    """Raise `Stopped` with who stopped it and how to go on, where a stop for every lake is on the queue.

    Raises `MQError`.
    """
    if found := stops_on(session, keys, 1):
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

    def stopped(self, session: Session, keys: KeyRing) -> bool:
        """Whether there is one. Parameters: `keys` of the run's lake. Raises `MQError`."""
        if not self._found and self.now() - self._looked_at >= LOOK_AGAIN:
            self._looked_at = self.now()
            self._found = bool(stops_on(session, keys, 1))
        return self._found
