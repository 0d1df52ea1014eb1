"""The plan of a run and what its pre-flight found, from the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqops.lake.run import RunFolder

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.decide.core.preflight import Preflight


def read_plan(folder: str) -> PlanSummary:
    """The run's plan. Raises `LakeError`."""
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    return PLAN.read(RunFolder(Path(folder)))


def preflight_in(folder: str) -> Preflight | None:
    """The pre-flight of the run's plan, None where none was made. Raises `LakeError`."""
    from mqops.decide.preflight_record import read_preflight  # noqa: PLC0415

    return read_preflight(RunFolder(Path(folder)))
