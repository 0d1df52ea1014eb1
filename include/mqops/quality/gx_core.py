"""Which expectations of Great Expectations mqops does not serve, and why. All others of the installed package are in
`vocabulary` under their own names, computed in one process and by Great Expectations on Spark; a test compares both
lists with the installed package."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_ONLY_SQL = "Great Expectations has it for databases only, not for Spark"
_LIKE = f"{_ONLY_SQL}; use column_values_to_match_regex, or where with like"
_FIXED = "the columns of a snapshot are always the same, and a suite that names another one is not valid"
_ORDER = "it compares a row with the one before it, and the messages of several queues have no order among each other"
_KIND = "a column has its kind always; a value of a payload that is of another kind fails the check that it is readable"

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "column_values_to_match_like_pattern",
                "column_values_to_match_like_pattern_list",
                "column_values_to_not_match_like_pattern",
                "column_values_to_not_match_like_pattern_list",
            ),
            _LIKE,
        ),
        **dict.fromkeys(
            (
                "column_to_exist",
                "table_column_count_to_be_between",
                "table_column_count_to_equal",
                "table_columns_to_match_ordered_list",
                "table_columns_to_match_set",
            ),
            _FIXED,
        ),
        **dict.fromkeys(
            ("column_type_to_be", "column_values_to_be_of_type", "column_values_to_be_in_type_list"), _KIND
        ),
        **dict.fromkeys(("column_values_to_be_increasing", "column_values_to_be_decreasing"), _ORDER),
        "column_values_to_be_dateutil_parseable": (
            "it guesses the form of a date, and has no Spark; use column_values_to_match_strftime_format"
        ),
        "column_values_to_match_json_schema": "use payload_to_match_json_schema, whose schema is a file of its own",
        "multicolumn_values_to_be_unique": (
            "Great Expectations has no metric for it; use select_column_values_to_be_unique_within_record"
        ),
        "column_kl_divergence_to_be_less_than": (
            "its distribution, a weight for each value, would stand in the suite; use "
            "column_quantile_values_to_be_between, column_distinct_values_to_be_in_set or column_values_to_be_as_before"
        ),
        "query_results_to_match_comparison": "it runs SQL; use the expectations between queues and files",
        "table_row_count_to_equal_other_table": f"{_ONLY_SQL}; use table_row_count_to_equal_queue or ..._file",
    }
)
"""Name of an expectation without `expect_` → why a suite cannot use it, and what to use instead."""
