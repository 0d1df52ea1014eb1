"""Who had queues changed so that they trigger: LAKE/<queue manager>/trigger/changes.jsonl, private, one line a step.

1. A line is on disk before the step that it names is taken. So a command that was run has a line, whatever happened.
2. Lines are added at the end, under a lock. Nothing is changed or removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import filelock

from mqops.clock import utc_now
from mqops.errors import LakeError
from mqops.formats import numbered, refuse_newer
from mqops.lake.files import FILE_MODE, lake_errors, make_folder, refuse_foreign
from mqops.lake.run import folder_of

Step = Literal["asked", "approved", "run", "done", "failed"]
"""`asked`: somebody has seen the plan and asks for it. `approved`: it is carried out. `run`: a command is about to be
sent; `done` or `failed`: what the queue manager answered."""


class ChangeRecord:
    """The record of one queue manager.

    Raises:
        LakeError: another user can change what is there.
        SettingsError: the queue manager has no name.
    """

    def __init__(self, lake: Path, queue_manager: str) -> None:
        self.path = folder_of(lake, queue_manager) / "trigger" / "changes.jsonl"

    def add(self, step: Step, *, by: str, plan: str, queue: str, **more: Any) -> None:
        """Add a line; returns when it is on disk.

        Parameters: `by` user@host; `plan` its digest; `more` what else the step has to say.

        Raises:
            LakeError: it cannot be written.
        """
        make_folder(self.path.parent)
        refuse_foreign(self.path.parent)
        line = numbered(self.path.name, {"at": utc_now(), "step": step, "by": by, "plan": plan, "queue": queue, **more})
        flags = os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
        with (
            lake_errors(self.path),
            filelock.FileLock(self.path.with_suffix(".lock"), mode=FILE_MODE),
            open(os.open(self.path, flags, FILE_MODE), "r+b", buffering=0) as stream,
        ):
            end = stream.seek(0, os.SEEK_END)
            torn = end > 0 and os.pread(stream.fileno(), 1, end - 1) != b"\n"
            stream.write(b"\n" * torn + json.dumps(line).encode() + b"\n")
            os.fsync(stream.fileno())

    def lines(self) -> Iterator[dict[str, object]]:
        """All lines, oldest first; what a crash left half-written is passed over. Raises `LakeError`."""
        if not self.path.exists():
            return
        with lake_errors(self.path):
            content = self.path.read_bytes()
        for number, line in enumerate(content.splitlines(), start=1):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            refuse_newer(self.path.name, self.path, value)
            if not isinstance(value, dict):
                raise LakeError(f"{self.path} line {number} is not what mqops wrote")
            yield value

    def asked_by(self, plan: str) -> str:
        """Who asked for a plan last, "" if nobody did. Raises `LakeError`."""
        found = [
            str(line.get("by", "")) for line in self.lines() if (line.get("step"), line.get("plan")) == ("asked", plan)
        ]
        return found[-1] if found else ""
