"""The queue manager as commands see it: what MQSC and PCF need of the engine, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from mqlite.attributes import Kind, Value
from mqlite.security.authority import Record
from mqlite.storage.channel_status import StatusFile


class Administration(Protocol):
    """One queue manager, for the life of one command or one script.

    Methods raise CommandError where a command has to fail with one of its conditions.
    """

    @property
    def queue_manager(self) -> str:
        """Its name."""

    @property
    def platform(self) -> str:
        """`unix` or `zos`."""

    @property
    def group(self) -> str:
        """Its queue-sharing group, blank for none."""

    def expiry_intervals(self) -> dict[str, int]:
        """EXPRYINT of each member of the group in seconds, 0 for OFF; empty if all members have the same value."""

    @property
    def channels(self) -> StatusFile:
        """What is wanted of its channels, and how they are."""

    def get(self, kind: Kind, name: str) -> dict[str, Value] | None:
        """The stored attributes of an object, None if there is none."""

    def find(self, kinds: Iterable[Kind]) -> list[tuple[Kind, str, dict[str, Value]]]:
        """Every object of these kinds."""

    def current(self, kind: Kind, name: str, values: Mapping[str, Value]) -> dict[str, Value]:
        """The attributes with those that change by themselves (CURDEPTH, IPPROCS, OPPROCS, NAMCOUNT)."""

    def define(self, kind: Kind, name: str, values: dict[str, Value], *, replace: bool) -> None:
        """Make an object, or with `replace` give the one that is there all these attributes."""

    def alter(self, kind: Kind, name: str, changes: dict[str, Value], *, force: bool) -> None:
        """Change attributes; `force` also where an open handle would see it."""

    def delete(self, kind: Kind, name: str, *, purge: bool, with_authority: bool = True) -> None:
        """Delete an object, with its authority records; a queue with messages only with `purge`."""

    def clear(self, kind: Kind, name: str) -> None:
        """Remove every message of a queue."""

    def discard_expired(self, queues: Iterable[str]) -> None:
        """Discard every expired message of these local queues, with the reports that were asked for."""

    def queue_status(self, queue: str) -> dict[str, Value]:
        """Figures of a local queue by the keywords of DISPLAY QSTATUS."""

    def reset_statistics(self, queue: str) -> dict[str, Value]:
        """Statistics of a local queue by the keywords of RESET QSTATS; the counters are reset to zero."""

    def queue_handles(self, queue: str) -> list[dict[str, Value]]:
        """Open handles of a local queue by the keywords of DISPLAY QSTATUS TYPE(HANDLE)."""

    def manager_status(self) -> dict[str, Value]:
        """By the keywords of DISPLAY QMSTATUS."""

    def connections(self) -> list[tuple[str, dict[str, Value]]]:
        """Connection identifier (hexadecimal) and figures of every connection."""

    def connection_handles(self) -> list[tuple[str, dict[str, Value]]]:
        """Connection identifier (hexadecimal) and figures of every queue that a connection has open."""

    def stop_connection(self, identifier: str) -> None:
        """Break a connection: its unit of work is backed out, its next call fails. Raises CommandError if unknown."""

    def authority_records(self) -> list[Record]:
        """Every authority record."""

    def set_authority(self, records: Iterable[Record]) -> None:
        """Store authority records."""

    def delete_authority(self, records: Iterable[Record]) -> None:
        """Delete authority records."""

    def channel_authentication(self) -> list[dict[str, Value]]:
        """Every channel authentication record, by keyword; PROFILE and TYPE name it."""

    def set_channel_authentication(self, removed: Iterable[str], stored: Mapping[str, Mapping[str, Value]]) -> None:
        """Take channel authentication records away, and store others. Each has a key, by which it is found again."""

    def listener_started(self, name: str) -> dict[str, Value] | None:
        """PID, STARTDA and STARTTI of a listener that runs; None of one that does not."""

    def set_listener(self, name: str, *, running: bool) -> None:
        """A listener was started or stopped."""

    def authorized(self, user: str, object_type: str, name: str, wanted: set[str]) -> bool:
        """Whether a user has all these authorities on an object."""

    def service_running(self) -> bool:
        """True while the service (`mqlite start`) of this queue manager is alive."""

    def ping_channel(self, name: str) -> None:
        """Find the partner of a channel. Raises CommandError if it is not there."""

    def reset_channel(self, name: str, number: int) -> None:
        """The next message of the channel has this sequence number."""

    def resolve_channel(self, name: str, *, commit: bool) -> None:
        """Decide a batch in doubt without its partner."""
