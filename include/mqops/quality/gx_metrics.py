"""Metrics in the place of Great Expectations' own, in this process, once this module is imported.

1. Regular expressions are matched by RE2 on Spark, and not by Java (`quality.regex`).
2. Pairs in a set are of the messages that the condition of the expectation chooses, and that have one of the two
   values. GX (1.24) looks at all messages, so this one has another name (`gx_corrected`).

It imports GX: see `validation.quiet_import`.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex import ColumnValuesMatchRegex
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex_list import (
    ColumnValuesMatchRegexList,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex import (
    ColumnValuesNotMatchRegex,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex_list import (
    ColumnValuesNotMatchRegexList,
)
from great_expectations.expectations.metrics.column_pair_map_metrics.column_pair_values_in_set import (
    ColumnPairValuesInSet,
)
from great_expectations.expectations.metrics.map_metric_provider.column_condition_partial import (
    column_condition_partial,
)
from great_expectations.expectations.metrics.map_metric_provider.column_pair_condition_partial import (
    column_pair_condition_partial,
)
from pyspark.sql import Column
from pyspark.sql import functions as F

from mqops.quality.regex import matches


class MatchRegex(ColumnValuesMatchRegex):
    """Of `column_values_to_match_regex`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:
        return matches(column, regex)


class MatchRegexList(ColumnValuesMatchRegexList):
    """Of `column_values_to_match_regex_list`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], match_on: str = "any", **_: Any) -> Column:
        every = [matches(column, regex) for regex in regex_list]
        return reduce(and_ if match_on == "all" else or_, every)


class NotMatchRegexList(ColumnValuesNotMatchRegexList):
    """Of `column_values_to_not_match_regex_list`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], **_: Any) -> Column:
        return ~reduce(or_, [matches(column, regex) for regex in regex_list])


class NotMatchRegex(ColumnValuesNotMatchRegex):
    """Of `column_values_to_not_match_regex`."""

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:
        return ~matches(column, regex)


class PairsInSet(ColumnPairValuesInSet):
    """Of `column_pair_values_to_be_in_set`."""

    condition_metric_name = "column_pair_values.in_set_of_chosen"
    condition_domain_keys = (*ColumnPairValuesInSet.condition_domain_keys, "row_condition", "condition_parser")  # type: ignore[assignment]

    @column_pair_condition_partial(engine=SparkDFExecutionEngine)  # type: ignore[untyped-decorator]
    def _spark(cls, column_A: Column, column_B: Column, value_pairs_set: list[list[Any]], **_: Any) -> Column:
        one_pair = [column_A.eqNullSafe(first) & column_B.eqNullSafe(second) for first, second in value_pairs_set]
        return F.when(column_A.isNotNull() | column_B.isNotNull(), reduce(or_, one_pair))
