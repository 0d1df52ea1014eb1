"""The plan in Spark's terms: what decide gives to act."""

from __future__ import annotations

from mqops.observe.spark.schema import struct_of
from mqops.plan_row import PLAN_COLUMNS

PLAN = struct_of(PLAN_COLUMNS)
"""One row a message of the frozen set (`mqops.plan_row.PlanRow`)."""
