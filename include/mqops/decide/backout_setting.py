"""The setting of a backout run: RUN/backout.json."""

from __future__ import annotations

from mqops.backout.core.origin import Setting
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder


def keep(run: RunFolder, setting: Setting) -> None:
    """Write it into the run's folder, which is made where it is missing. Raises `LakeError`."""
    run.create()
    write_json(run.backout_json, setting.to_json())


def kept(run: RunFolder) -> Setting | None:
    """The setting of a run, None if it is no backout run. Raises `LakeError`."""
    return Setting.from_json(read_json(run.backout_json)) if run.backout_json.exists() else None
