"""Regular expressions of suites: RE2's, whose time is linear in the text, whatever pattern and text are.

The engines of Java and Python try again from every place where they could have gone another way. A pattern such as
`(a+)+$` keeps them busy for longer than anybody waits, on a text of 40 characters that came with one message. RE2 has
no such patterns: what it cannot match in one pass (backreferences, lookaround) it refuses when the suite is read. Arrow
brings it along. Syntax: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

LONGEST = 500
"""Characters of a pattern: RE2's time is that of the text's length times the pattern's."""
_HINT = "; patterns are RE2's, which has no backreference such as \\1, no lookaround such as (?=...), no possessive a++"


def problem_of(pattern: str) -> str:
    """What is wrong with a pattern and what to write instead; "" where RE2 takes it."""
    if len(pattern) > LONGEST:
        return (
            f"must be a regular expression of at most {LONGEST:,} characters (found {len(pattern):,}); make two of it"
        )
    return why_not_re2(pattern)


def why_not_re2(pattern: str) -> str:
    """The same of a pattern however long."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    try:
        compute.match_substring_regex(pa.array([""]), pattern)
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        return f"is not a regular expression: {str(error).removeprefix('Invalid regular expression: ')}{_HINT}"
    return ""


def matches(column: Column, pattern: str) -> Column:
    """Whether the pattern is found somewhere in a text; null for null. Computed in Spark's Python workers."""
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf  # noqa: PLC0415

    def found(texts: Any) -> Any:
        from pyarrow import compute  # noqa: PLC0415

        return compute.match_substring_regex(texts, pattern)

    return arrow_udf(found, "boolean", ArrowUDFType.SCALAR)(column)
