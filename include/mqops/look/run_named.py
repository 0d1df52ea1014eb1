"""What a run is called where only its key is known: its folder says it, and no index is asked."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mqops.errors import MqopsError
from mqops.kept import kept
from mqops.lake.files import SETTLED_NS
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.run_row import run_line
from mqops.look.words.run_name import name_of


def run_named(
    lake: Path, queue_manager: str, run: str, today: str = "", asked: Mapping[str, str] = MappingProxyType({})
) -> str:
    """A run by what it is; "" where the lake has it no more, or it cannot be read.

    Parameters: `today` as of `name_of`; `asked` kind of DAG run → the words for who or what asks for such runs.
    """
    try:
        folder = RunFolder.at(lake, queue_manager, run)
        changed = os.lstat(folder.path).st_mtime_ns
        line = _line(folder, changed) if changed < time.time_ns() - SETTLED_NS else run_line(folder)
    except (MqopsError, OSError):
        return ""
    return name_of(line, today, asked.get(line.requested_by, ""))


@kept(most=4096)
def _line(run: RunFolder, _changed: int) -> RunLine:
    """The line of a run. Each change of its files gives its folder another time (`mqops.look.runs_index`, rule 1)."""
    return run_line(run)
