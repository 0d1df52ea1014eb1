"""Which key a DAG run gets in the lake: one folder a run, never one that already holds a run's snapshot (law 4)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from mqops.lake.run import RunFolder

LONGEST = 80


def run_key(dag_id: str, run_id: str) -> str:
    """A name that tells the run and is unlike every other run's."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dag_id}.{run_id}")[:LONGEST].strip(".-")
    return f"{readable}-{hashlib.sha256(f'{dag_id} {run_id}'.encode()).hexdigest()[:8]}"


def unused(lake: Path, queue_manager: str, key: str) -> RunFolder:
    """The folder of run `key`, or of `key.2` and so on where that run has left files (cleared, it runs again)."""
    folder, number = RunFolder.at(lake, queue_manager, key), 1
    while folder.path.is_dir() and any(folder.path.iterdir()):
        number += 1
        folder = RunFolder.at(lake, queue_manager, f"{key}.{number}")
    return folder
