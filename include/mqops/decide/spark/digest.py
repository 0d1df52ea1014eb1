"""The digest of a plan, computed by Spark (`mqops.decide.core.canonical` has the rules)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType

from mqops.decide.core.canonical import BUCKET_DIGITS, joined_digest
from mqops.decide.spark.schema import PLAN


def digest_of(plan: DataFrame) -> str:
    """The digest of a plan, hex. Of the rows only 256 digests come to the driver."""
    digests = plan.select(row_digest().alias("digest"))
    bucket = F.substring("digest", 1, BUCKET_DIGITS).alias("bucket")
    joined = F.concat_ws("", F.sort_array(F.collect_list("digest")))
    buckets = digests.groupBy(bucket).agg(F.sha2(joined, 256).alias("digest")).collect()
    return joined_digest({row["bucket"]: row["digest"] for row in buckets})


def row_digest() -> Column:
    """A row's digest, from the columns of `PLAN`. One flat concatenation: nested ones copy each text several times."""
    return F.sha2(F.concat(*[part for field in PLAN.fields for part in _field(F.col(field.name), field.dataType)]), 256)


def _field(column: Column, kind: DataType) -> list[Column]:
    if isinstance(kind, StringType):
        length = F.concat(F.octet_length(column).cast("string"), F.lit(":"))
        return [F.coalesce(length, F.lit("-")), F.coalesce(column, F.lit("")), F.lit(",")]
    text = F.hex(column) if isinstance(kind, BinaryType) else column.cast("string")
    return [F.coalesce(text, F.lit("-")), F.lit(",")]
