"""The setting of a backout run: RUN/backout.json."""

from __future__ import annotations

from mqops.backout.core.origin import Setting
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile

BACKOUT = RunFile("backout.json", Setting)


def write_setting(run: RunFolder, setting: Setting) -> None:
    """Write RUN/backout.json; the run's folder is made if it is missing. Raises `LakeError`."""
    run.create()
    BACKOUT.write(run, setting)


def read_setting(run: RunFolder) -> Setting | None:
    """The setting of a run; None if it is not a run over backout queues. Raises `LakeError`."""
    return BACKOUT.find(run)


def backoff(setting: Setting | None) -> tuple[int, ...]:
    """Seconds that a message waits between its replays, for rules without BACKOFF; none outside a run over backout
    queues."""
    return setting.backoff if setting else ()
