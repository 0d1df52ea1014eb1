"""The plan: the action for each message of the frozen set, as values. Pure: no file, no clock, no Spark.

`canonical` owns the form of a row that the digest is computed over, `summary` what people and the next steps see of it,
`mask` how a message is shown without showing what it says.
"""

from __future__ import annotations

from mqops.decide.core.canonical import plan_digest
from mqops.decide.core.summary import PlanCount, PlanSummary, RuleCount, Sample

__all__ = [
    "PlanCount",
    "PlanSummary",
    "RuleCount",
    "Sample",
    "plan_digest",
]
