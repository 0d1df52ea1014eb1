"""Expectations about several columns of each message, in one process. Null is a value like another one here, and two
nulls are equal, as Great Expectations has it on Spark. Messages without a value in all of the columns are not among
them (`evaluate`)."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc

from mqops.quality.suite import Arguments


def same(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether two columns are equal in each row; two nulls are."""
    nulls = pc.and_(pc.is_null(first), pc.is_null(second))
    return pc.or_(pc.fill_null(pc.equal(first, second), False), nulls)


def all_equal(columns: list[pa.ChunkedArray], _arguments: Arguments) -> pa.ChunkedArray:
    """Of `multicolumn_values_to_be_equal`."""
    return reduce(pc.and_, [same(columns[0], one) for one in columns[1:]])


def all_different(columns: list[pa.ChunkedArray], _arguments: Arguments) -> pa.ChunkedArray:
    """Of `select_column_values_to_be_unique_within_record`."""
    return pc.invert(reduce(pc.or_, [same(*pair) for pair in combinations(columns, 2)]))


def pair_in_set(columns: list[pa.ChunkedArray], arguments: Arguments) -> pa.ChunkedArray:
    """Of `column_pair_values_to_be_in_set`."""
    one_pair = [
        reduce(
            pc.and_, [pc.fill_null(pc.equal(column, value), False) for column, value in zip(columns, pair, strict=True)]
        )
        for pair in arguments["value_pairs_set"]
    ]
    return reduce(pc.or_, one_pair)


def sum_equals(columns: list[pa.ChunkedArray], arguments: Arguments) -> pa.ChunkedArray:
    """Of `multicolumn_sum_to_equal`: null counts as 0."""
    numbers = [pc.fill_null(column.cast(_wide(column.type)), 0) for column in columns]
    return pc.equal(reduce(pc.add, numbers), pa.scalar(arguments["sum_total"]))


def _wide(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()
