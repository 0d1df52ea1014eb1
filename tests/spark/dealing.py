"""Dealing the rows of a plan by Spark, for tests."""

from __future__ import annotations

from mqops.act.core.deal import home_lanes
from mqops.act.spark.act import _acted, _in_order, _with_lanes


def dealt_by_spark(plan, lanes, pacing):
    """The rows of a plan with their lanes and positions, dealt in three tasks."""
    tasks = [lane % 3 for lane in range(home_lanes(lanes, pacing))]
    return _with_lanes(_in_order(_acted(plan, repeated=True), tasks), lanes, pacing)
