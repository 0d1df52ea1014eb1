"""Channel status that all processes see: commands write what they want of a channel, the service how it is.

It is a file of its own, so that a status update never waits for message traffic. Nothing in it is needed for a message
to be delivered exactly once: that record is on SYSTEM.CHANNEL.SYNCQ (see `mqlite.channels.sync`).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqlite.attributes import Value
from mqlite.storage import channel_sql as sql
from mqlite.storage.database_format import refuse_newer
from mqwire import constants as c

BUSY_SECONDS = 30.0
ACTIVE = frozenset(
    {c.MQCHS_BINDING, c.MQCHS_STARTING, c.MQCHS_RUNNING, c.MQCHS_STOPPING, c.MQCHS_RETRYING, c.MQCHS_INITIALIZING}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStatus:
    """wanted: START, STOP or empty. generation: number of commands so far. state: MQCHS_*. figures: by MQSC keyword."""

    name: str
    channel_type: str
    wanted: str = ""
    generation: int = 0
    state: int = c.MQCHS_INACTIVE
    figures: Mapping[str, Value] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """True from the start of the channel until it has ended."""
        return self.state in ACTIVE


class StatusFile:
    """`channels.db` of one queue manager. One instance per thread."""

    def __init__(self, folder: Path) -> None:
        path = folder / "channels.db"
        is_new = not path.exists()
        if is_new:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        refuse_newer(self._database, path, sql.FORMAT)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(sql.SCHEMA)
        if is_new:
            self._database.execute(sql.SET_FORMAT)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def changes(self) -> int:
        """A number that differs when another connection has written since."""
        return int(self._database.execute(sql.CHANGES).fetchone()[0])

    def read(self, name: str) -> ChannelStatus | None:
        """The status of one channel, None if it was never started or stopped."""
        row = self._database.execute(sql.READ, (name,)).fetchone()
        return _status(row) if row else None

    def read_all(self) -> list[ChannelStatus]:
        """Every channel that was ever started or stopped, by name."""
        return [_status(row) for row in self._database.execute(sql.READ_ALL)]

    def want(self, name: str, channel_type: str, wanted: str) -> None:
        """Say what is wanted of a channel: START or STOP."""
        self._database.execute(sql.ADD, (name, channel_type))
        self._database.execute(sql.WANT, (wanted, name))

    def trigger(self, name: str, channel_type: str) -> bool:
        """START is wanted of a channel unless it is stopped. Returns whether it is not."""
        self._database.execute(sql.ADD, (name, channel_type))
        asked = ("START", name, c.MQCHS_STOPPED)
        return self._database.execute(sql.WANT_UNLESS_STOPPED, asked).rowcount > 0

    def set_state(self, name: str, channel_type: str, state: int, figures: Mapping[str, Value]) -> None:
        """Say how a channel is."""
        self._database.execute(sql.ADD, (name, channel_type))
        self._database.execute(sql.SET_STATE, (state, json.dumps(dict(figures)), name))

    def forget(self, name: str) -> None:
        """The channel was deleted."""
        self._database.execute(sql.FORGET, (name,))


def _status(row: tuple[str, str, str, int, int, str]) -> ChannelStatus:
    name, channel_type, wanted, generation, state, figures = row
    return ChannelStatus(
        name=name,
        channel_type=channel_type,
        wanted=wanted,
        generation=generation,
        state=state,
        figures=json.loads(figures),
    )
