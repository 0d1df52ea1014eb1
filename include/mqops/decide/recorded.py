"""The summary of a run's plan with its digest, RUN/plan.json; from when on a plan is fixed."""

from __future__ import annotations

from mqops.decide.core.summary import PlanSummary
from mqops.errors import PlanChanged
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile

PLAN = RunFile("plan.json", PlanSummary, PlanSummary.to_json)


def refuse_begun(run: RunFolder) -> None:
    """Raise `PlanChanged` where a run was begun: nothing that its plan says may change then."""
    if run.issued_json.exists():
        raise PlanChanged(f"The plan of run {run.run} is being acted on; make a new run for a new plan")
