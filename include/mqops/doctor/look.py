"""All checks of a queue manager, one after the other: `mqops doctor`."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from mqops.clock import utc
from mqops.doctor import queue_manager as live
from mqops.doctor import this_machine
from mqops.doctor.check import Check, fails, holds, unknown
from mqops.doctor.estate_objects import patterns_of
from mqops.doctor.file_system import file_system
from mqops.errors import LOST_CONNECTION, MQError, MqopsError
from mqops.estate import EstateFile
from mqops.lake.run import folder_of
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session


def examine(
    connection: MqConnection,
    lake: Path,
    file: EstateFile | None,
    *,
    own: frozenset[str] = frozenset(),
    now: Callable[[], datetime] = utc,
) -> tuple[str, list[Check]]:
    """The name of the queue manager, and every check. Nothing is put on a queue but inquiries, and nothing is
    written but a folder of its own in the lake, which is removed (`mqops.doctor.file_system`).

    Parameters: `file` the estate, None where there is none; `own` users and groups that mqops works as, besides the
    user of the connection; `now` this machine's time, UTC.

    Raises:
        SettingsError: the queue manager has no name.
    """
    name, checks = connection.queue_manager, []
    try:
        with connect(connection) as session:
            name = queue_manager_name(session)
            where = connection.conn_name or "this machine"
            checks.append(holds("connection", f"{name} on {where}, as user {_user(connection)}"))
            reached = _Reached(
                session=session, connection=connection, lake=lake, file=file, name=name, own=own, now=now
            )
            checks += _live(reached)
    except MqopsError as error:
        checks = [one for one in checks if one.name != "connection"]
        checks.insert(0, fails("connection", str(error), _advice(error)))
        known = {check.name for check in checks}
        missed = [*LIVE, *(["estate"] if file and name in file.estate.queue_managers else [])]
        checks += [unknown(one, "the queue manager was not reached") for one in missed if one not in known]
    return name, [*checks, *_here(lake, file, name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """A queue manager that answers. Parameters: as of `examine`; `name` as it says itself."""

    session: Session
    connection: MqConnection
    lake: Path
    file: EstateFile | None
    name: str
    own: frozenset[str]
    now: Callable[[], datetime]


def _live(on: _Reached) -> Iterator[Check]:
    """The checks of the queue manager. Raises `MQError` where the connection is lost."""
    for name, look in LIVE.items():
        yield from _guarded(name, partial(look, on))
    if on.file and on.name in on.file.estate.queue_managers:
        if patterns := patterns_of(on.file, on.name):
            yield from _guarded("queues", partial(live.queues_seen, on.session, patterns, on.name))
        yield from _guarded("estate", partial(live.named_in_estate, on.session, on.connection, on.file, on.name))


def _guarded(name: str, look: Callable[[], Check | tuple[Check, ...]]) -> tuple[Check, ...]:
    try:
        found = look()
    except MqopsError as error:
        if isinstance(error, MQError) and error.reason in LOST_CONNECTION:
            raise
        return (unknown(name, str(error), _advice(error)),)
    return found if isinstance(found, tuple) else (found,)


def _authorities(on: _Reached) -> Check:
    needed = live.needed_authorities(on.session, on.file, on.name)
    return live.authority(on.session, needed, _user(on.connection))


def _ledger(on: _Reached) -> tuple[Check, ...]:
    """The ledger queue and the ledger. Raises `MQError`."""
    try:
        return live.ledger_queue(on.session, folder_of(on.lake, on.name))
    except MQError:
        raise
    except MqopsError as error:
        return (
            unknown("ledger queue", "not looked at before the ledger can be read"),
            fails("ledger", str(error), error.default_message()),
        )


def _ledger_access(on: _Reached) -> Check:
    own = {_user(on.connection), *on.own}
    return live.others_may_put(on.session, folder_of(on.lake, on.name), own)


LIVE: Mapping[str, Callable[[_Reached], Check | tuple[Check, ...]]] = {
    "platform": lambda on: live.platform(on.session),
    "channel": lambda on: live.channel(on.session, on.connection),
    "authorities": _authorities,
    "ledger queue": _ledger,
    "ledger access": _ledger_access,
    "dead-letter queue": lambda on: live.dead_letters(on.session),
    "dead letters": lambda on: live.letters(on.session),
    "protection errors": lambda on: live.protection_errors(on.session, on.name),
    "poison": lambda on: live.poison(on.session, on.name),
    "MAXMSGL": lambda on: live.message_lengths(on.session),
    "clock": lambda on: live.clock(on.session, on.now),
}
"""What is looked at on a queue manager, in the order of the rows. One more check is a function of `queue_manager.py`, a
line here, and its name in `tests/unit/mqops/test_doctor.py` and docs/command_line.md. Without a connection each is
unknown."""


def _here(lake: Path, file: EstateFile | None, name: str) -> Iterator[Check]:
    yield this_machine.lake(lake)
    yield file_system(lake)
    try:
        folder = folder_of(lake, name)
    except MqopsError as error:
        yield unknown("runs", str(error))
    else:
        yield this_machine.key(folder)
        yield from this_machine.body_keys(folder)
        yield this_machine.unfinished(folder, name)
        yield this_machine.stops(folder, name)
    yield this_machine.spark(file, name, os.environ)
    yield from this_machine.from_outside()
    yield this_machine.versions()


def _user(connection: MqConnection) -> str:
    return connection.user or getpass.getuser()


def _advice(error: MqopsError) -> str:
    return (error.advice if isinstance(error, MQError) else "") or error.default_message()
