"""Great Expectations' own metrics for regular expressions, on Spark matched by RE2 and not by Java (`quality.regex`).

Importing this module puts them in the place of GX's, in this process. It imports GX: see `validation.quiet_import`.
"""

from __future__ import annotations

from typing import Any

from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex import ColumnValuesMatchRegex
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex import (
    ColumnValuesNotMatchRegex,
)
from great_expectations.expectations.metrics.map_metric_provider.column_condition_partial import (
    column_condition_partial,
)
from pyspark.sql import Column

from mqops.quality.regex import matches


class MatchRegex(ColumnValuesMatchRegex):
    """Of `column_values_to_match_regex`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:
        return matches(column, regex)


class NotMatchRegex(ColumnValuesNotMatchRegex):
    """Of `column_values_to_not_match_regex`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:
        return ~matches(column, regex)
