"""The stops for every lake that this lake took back (`LAKE/<queue manager>/ledger/stops_taken.jsonl`).

Who may browse the ledger queue can keep a copy of a signed stop, and put it there again after it was taken back. No two
stops have the same body, so a stop whose body is here is such a copy: it stops nothing, and is set aside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc_now
from mqops.formats import json_line
from mqops.lake.files import append_lines
from mqops.lake.run_file import Checked

NAME = "stops_taken.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A line. Parameters: `stop` SHA-256 of the body of its message, in hex."""

    stop: str


_TAKEN = Checked(_Taken)


def note_taken(lake_folder: Path, bodies: Iterable[bytes]) -> None:
    """Note that stops were taken back. Parameters: `bodies` of their messages, signed. Raises `LakeError`."""
    at = utc_now()
    if content := b"".join(json_line(NAME, {"at": at, "stop": _digest(body)}) for body in bodies):
        append_lines(lake_folder / "ledger" / NAME, content)


def was_taken(lake_folder: Path, body: bytes) -> bool:
    """Whether a stop was taken back. It was not where the file cannot be read: to stop is the safe direction."""
    digest, path = _digest(body), lake_folder / "ledger" / NAME
    with suppress(OSError), path.open("rb") as lines:
        return any((taken := _TAKEN.of_line(line, path)) and taken.stop == digest for line in lines)
    return False


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
