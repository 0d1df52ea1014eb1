"""A Spark job that does a little of everything that mqops' jobs do, so that its classes get into the archive."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main() -> None:
    spark = SparkSession.builder.appName("warm up").getOrCreate()
    columns = ["id", "(id % 7) as k", "cast(cast(id as string) as binary) as b", "sha2(cast(id as string), 256) as h"]
    with tempfile.TemporaryDirectory() as folder:
        spark.range(1000).selectExpr(*columns).write.mode("overwrite").parquet(folder)
        rows = spark.read.parquet(folder)
        numbered = rows.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy("id")))
        counted = rows.groupBy("k").agg(F.count("*").alias("c"), F.min("h").alias("h"), F.collect_list("id")).persist()
        counted.join(numbered, "k", "left").orderBy(F.desc("c"), "n").limit(10).collect()
        rows.select("id", "k").repartition(2, "k").sortWithinPartitions("id").mapInArrow(
            same, "id long, k long"
        ).collect()
    spark.stop()


if __name__ == "__main__":
    main()
