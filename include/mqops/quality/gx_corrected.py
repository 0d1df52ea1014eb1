"""Great Expectations' own expectations of which the installed version (1.24) has a fault, without it.

1. Quantiles: numpy's truth values are no JSON, and its store cannot write the result.
2. Pairs in a set: its metric looks at all messages, also where a condition chooses some (`gx_metrics.PairsInSet`).

Imports GX: see `validation.quiet_import`.
"""

from __future__ import annotations

from typing import Any

from great_expectations.expectations.core.expect_column_pair_values_to_be_in_set import (
    ExpectColumnPairValuesToBeInSet as _PairsOfGx,
)
from great_expectations.expectations.core.expect_column_quantile_values_to_be_between import (
    ExpectColumnQuantileValuesToBeBetween as _OfGx,
)

from mqops.quality.gx_metrics import PairsInSet


class ExpectColumnQuantileValuesToBeBetween(_OfGx):
    """The same, with Python's truth values."""

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._validate(metrics, *args, **kwargs)
        each = [bool(one) for one in found["result"]["details"]["success_details"]]
        return {"success": all(each), "result": {**found["result"], "details": {"success_details": each}}}


class ExpectColumnPairValuesToBeInSet(_PairsOfGx):
    """The same, of the chosen messages."""

    map_metric = PairsInSet.condition_metric_name
