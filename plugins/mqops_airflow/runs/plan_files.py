"""The plan of a run, what its pre-flight found, and what is new in it, from the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqops import undo
from mqops.lake.run import RunFolder
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.decide.core.preflight import Preflight
    from mqops.look.compared import Compared


def read_plan(folder: str) -> PlanSummary:
    """The run's plan. Raises `LakeError`."""
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    return PLAN.read(RunFolder(Path(folder)))


def preflight_in(folder: str) -> Preflight | None:
    """The pre-flight of the run's plan, None where none was made. Raises `LakeError`."""
    from mqops.decide.preflight_record import PREFLIGHT  # noqa: PLC0415

    return PREFLIGHT.find(RunFolder(Path(folder)))


def undone_in(folder: str, plan: PlanSummary) -> str:
    """The name of the run that the plan of an undo undoes: by what it is, else its key; "" for another plan."""
    from mqops.look.run_named import run_named  # noqa: PLC0415

    run = RunFolder(Path(folder))
    key = undone_run(plan)
    return (run_named(run.lake_folder.parent, plan.queue_manager, key) or key) if key else ""


def undone_run(plan: PlanSummary) -> str:
    """The key of the run that the plan of an undo undoes, "" for another plan."""
    return plan.table_source.removeprefix(undo.UNDOES) if plan.workflow == Workflow.UNDO else ""


def compared_in(folder: str) -> Compared | None:
    """The run's plan beside the last one, as it was when a person was asked first; None before. Raises `LakeError`."""
    from mqops.look.compared import COMPARED  # noqa: PLC0415

    return COMPARED.find(RunFolder(Path(folder)))


def compare_once(folder: str, digest: str) -> None:
    """Write `compared_in` unless the run has it for this plan. Raises `LakeError`. Parameters: `digest` of the plan."""
    from mqops.look.compared import COMPARED, compare  # noqa: PLC0415

    known = compared_in(folder)
    if known is None or known.plan != digest:
        COMPARED.write(RunFolder(Path(folder)), compare(RunFolder(Path(folder)), digest))
