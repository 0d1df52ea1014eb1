"""All checks of a queue manager, one after the other: `mqops doctor`."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from datetime import datetime
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

NOT_REACHED = (
    "platform",
    "channel",
    "authorities",
    "ledger queue",
    "ledger access",
    "dead-letter queue",
    "dead letters",
    "protection errors",
    "poison",
    "MAXMSGL",
)
"""What is not known without a connection, besides the clock and what the estate names."""


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
            checks += _live(session, connection, lake, file, name, own=own, now=now)
    except MqopsError as error:
        checks = [one for one in checks if one.name != "connection"]
        checks.insert(0, fails("connection", str(error), _advice(error)))
        reached = {check.name for check in checks}
        missed = [*NOT_REACHED, "clock", *(["estate"] if file and name in file.estate.queue_managers else [])]
        checks += [unknown(one, "the queue manager was not reached") for one in missed if one not in reached]
    return name, [*checks, *_here(lake, file, name)]


def _live(
    session: Session,
    connection: MqConnection,
    lake: Path,
    file: EstateFile | None,
    name: str,
    *,
    own: frozenset[str],
    now: Callable[[], datetime],
) -> Iterator[Check]:
    """The checks of the queue manager. Raises `MQError` where the connection is lost."""
    user = _user(connection)

    def guarded(what: str, look: Callable[[], Check]) -> Check:
        try:
            return look()
        except MqopsError as error:
            if isinstance(error, MQError) and error.reason in LOST_CONNECTION:
                raise
            return unknown(what, str(error), _advice(error))

    yield guarded("platform", lambda: live.platform(session))
    yield guarded("channel", lambda: live.channel(session, connection))
    yield guarded(
        "authorities",
        lambda: live.authority(session, live.needed_authorities(session, file, name), user),
    )
    yield from _ledger(session, lake, name)
    yield guarded("ledger access", lambda: live.others_may_put(session, folder_of(lake, name), {user, *own}))
    yield guarded("dead-letter queue", lambda: live.dead_letters(session))
    yield guarded("dead letters", lambda: live.letters(session))
    yield guarded("protection errors", lambda: live.protection_errors(session, name))
    yield guarded("poison", lambda: live.poison(session, name))
    yield guarded("MAXMSGL", lambda: live.message_lengths(session))
    yield guarded("clock", lambda: live.clock(session, now))
    if file and name in file.estate.queue_managers:
        if patterns := patterns_of(file, name):
            yield guarded("queues", lambda: live.queues_seen(session, patterns, name))
        yield guarded("estate", lambda: live.named_in_estate(session, connection, file, name))


def _ledger(session: Session, lake: Path, name: str) -> tuple[Check, ...]:
    """The ledger queue and the ledger. Raises `MQError`."""
    try:
        return live.ledger_queue(session, folder_of(lake, name))
    except MQError:
        raise
    except MqopsError as error:
        return (
            unknown("ledger queue", "not looked at before the ledger can be read"),
            fails("ledger", str(error), error.default_message()),
        )


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
