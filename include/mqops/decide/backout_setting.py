"""The setting of a backout run: RUN/backout.json."""

from __future__ import annotations

from mqops.backout.core.origin import Setting
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder


def write_setting(run: RunFolder, setting: Setting) -> None:
    """Write RUN/backout.json; the run's folder is made if it is missing. Raises `LakeError`."""
    run.create()
    write_json(run.backout_json, setting.to_json())


def read_setting(run: RunFolder) -> Setting | None:
    """The setting of a run; None if it is not a run over backout queues. Raises `LakeError`."""
    return Setting.from_json(read_json(run.backout_json)) if run.backout_json.exists() else None
