"""The summary of a run's plan with its digest, RUN/plan.json."""

from __future__ import annotations

from mqops.decide.core.summary import PlanSummary
from mqops.lake.run_file import RunFile

PLAN = RunFile("plan.json", PlanSummary, PlanSummary.to_json)
