"""Great Expectations' own expectation of quantiles, whose result its store can write: numpy's truth values, which it
gives (1.24), are no JSON. Imports GX: see `validation.quiet_import`."""

from __future__ import annotations

from typing import Any

from great_expectations.expectations.core.expect_column_quantile_values_to_be_between import (
    ExpectColumnQuantileValuesToBeBetween as _OfGx,
)


class ExpectColumnQuantileValuesToBeBetween(_OfGx):
    """The same, with Python's truth values."""

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._validate(metrics, *args, **kwargs)
        each = [bool(one) for one in found["result"]["details"]["success_details"]]
        return {"success": all(each), "result": {**found["result"], "details": {"success_details": each}}}
