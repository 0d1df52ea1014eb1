"""The partner of a channel: the queue manager whose receiver has the channel's name.

CONNAME says where to look. An absolute path is another folder of queue managers, with `(NAME)` behind it one queue
manager of it; anything else (`host(1414)`) stands for this folder. Of several receivers of one name, the one counts
whose queue manager has a LISTENER on CONNAME's port, else the one that is named like the transmission queue.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mqlite.attributes import Value
from mqlite.channels.port import Port
from mqlite.storage import service_lock
from mqlite.storage.channel_status import StatusFile

PATH = re.compile(r"(?P<home>/[^()]*)(\((?P<name>[^()]+)\))?")
PORT = re.compile(r".*\((?P<port>\d+)\)")


class PartnerMissing(Exception):
    """The other end of the channel is not there, or does not take calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A queue manager that might be the partner. ports: those of its listeners."""

    folder: Path
    name: str
    ports: frozenset[int] = frozenset()


def where(home: Path, conname: str) -> tuple[Path, str]:
    """The folder of queue managers a CONNAME stands for, and the queue manager it names (empty: any)."""
    found = PATH.fullmatch(conname.strip())
    if found is None:
        return home, ""
    return Path(found["home"]), found["name"] or ""


def choose(candidates: list[Candidate], conname: str, transmission_queue: str) -> Candidate:
    """The partner among the queue managers that have the receiver. Raises PartnerMissing if that is not one."""
    if not candidates:
        raise PartnerMissing("AMQ9520E: no queue manager here has the receiving end of the channel")
    if len(candidates) == 1:
        return candidates[0]
    found = PORT.fullmatch(conname.strip())
    port = int(found["port"]) if found else 0
    for chosen in (
        [candidate for candidate in candidates if port in candidate.ports],
        [candidate for candidate in candidates if candidate.name == transmission_queue],
    ):
        if len(chosen) == 1:
            return chosen[0]
    names = ", ".join(candidate.name for candidate in candidates)
    raise PartnerMissing(f"AMQ9520E: several queue managers have the receiving end: {names}; give one a LISTENER PORT")


@dataclass(slots=True, kw_only=True)
class Ends:
    """The two connected ends of a channel."""

    sender: Port
    receiver: Port
    receiver_values: dict[str, Value]
    receiver_status: StatusFile
    receiver_folder: Path
    channel: str

    def check(self) -> None:
        """Raises PartnerMissing when the partner has ended or its receiver was stopped."""
        if not service_lock.holder(self.receiver_folder):
            raise PartnerMissing(f"AMQ9558E: queue manager {self.receiver.queue_manager} has ended")
        status = self.receiver_status.read(self.channel)
        if status is not None and status.wanted == "STOP":
            raise PartnerMissing("AMQ9558E: the receiving end of the channel was stopped")

    def close(self) -> None:
        """Disconnect both; what is not committed is backed out."""
        for end in (self.receiver, self.sender):
            end.close()
        self.receiver_status.close()
