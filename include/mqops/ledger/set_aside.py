"""Messages from the ledger queue that are not this lake's: LAKE/<queue manager>/ledger/set_aside.jsonl, private.

A message is on disk, with its MQMD and its body whole, before it is committed off the queue; a crash in between keeps
it twice. No process acts on the content of this file. Move the file away after you have examined it.

When the file has reached `LARGE`, only the first `BEGINNING` bytes of each further body are kept, with its length and
SHA-256: a flood of large messages does not fill the disk.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mqops.counted import counted
from mqops.formats import json_line
from mqops.lake.files import append_lines, lake_errors
from mqops.lake.run_file import Checked
from mqops.ledger.core.received import Stranger, put_by

NAME = "set_aside.jsonl"
LARGE = 64 * 1024 * 1024
"""Bytes of the file from which on bodies are cut."""
BEGINNING = 4096
"""Bytes of a body that are kept then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A message that is set aside: its MQMD, its body, and what `mqops.ledger.core.received` says of it."""

    md: bytes
    body: bytes
    stranger: Stranger

    def line(self, at: str, *, whole: bool) -> bytes:
        """Its line of the file. `body` in base64, `md` in hex; a body that is cut has its `length` and `sha256`."""
        claims = self.stranger.claims
        said = {"run": claims.run, "plan": claims.digest} if claims else {"run": "", "plan": ""}
        record = {"kind": str(self.stranger.kind), "at": at, "why": str(self.stranger), **said, "put": put_by(self.md)}
        kept = self.body if whole else self.body[:BEGINNING]
        content = {"md": self.md.hex(), "body": base64.b64encode(kept).decode()}
        if len(kept) < len(self.body):
            content |= {"length": str(len(self.body)), "sha256": hashlib.sha256(self.body).hexdigest()}
        return json_line(NAME, record | content)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What is counted of a line. Parameters: `kind` of what it was; `run` which it claims, "" where it claims none."""

    kind: str
    run: str


_COUNTED = Checked(_Counted)


def path_in(lake_folder: Path) -> Path:
    """The file of a queue manager. Parameters: `lake_folder` LAKE/<queue manager>."""
    return lake_folder / "ledger" / NAME


def set_aside(lake_folder: Path, messages: Iterable[SetAside], at: str) -> None:
    """Keep messages; returns when they are on disk. The ledger's lock is held.

    Parameters: `at` UTC time, ISO 8601.

    Raises:
        LakeError: the disk refused; the file is as it was.
    """
    path = path_in(lake_folder)
    content, size = b"", path.stat().st_size if path.exists() else 0
    for message in messages:
        content += message.line(at, whole=size + len(content) < LARGE)
    if content:
        append_lines(path, content)


def counts(lake_folder: Path, *, run: str = "") -> Counter[str]:
    """Kind → number of messages that were set aside. Parameters: `run` counts only those that claim this run.

    Raises `LakeError`.
    """
    path = path_in(lake_folder)
    found: Counter[str] = Counter()
    if not path.exists():
        return found
    with lake_errors(path), path.open("rb") as stream:
        for line in stream:
            if (one := _COUNTED.of_line(line, path)) and (not run or one.run == run):
                found[one.kind] += 1
    return found


def remark(lake_folder: Path, *, run: str = "") -> str:
    """A sentence about the messages that were set aside, "" where there are none. Parameters: as for `counts`."""
    found = counts(lake_folder, run=run)
    if not found:
        return ""
    number = found.total()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
    messages = counted(number, "message")
    claim = f" that claim run {run}" if run else ""
    return (
        f"{messages} on MQOPS.LEDGER{claim} did not come from mqops ({kinds}) and were not acted on: kept in "
        f"{path_in(lake_folder)}. Find out who may put on MQOPS.LEDGER"
    )
