"""The format that a Parquet file of the lake says it has, whether we wrote it or Spark did (`mqops.formats`)."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq

from mqops import formats

KIND = "*.parquet"
"""What `mqops.formats` calls a Parquet file."""
FORMAT = {formats.PARQUET_KEY: str(formats.number_of(KIND))}
"""Metadata of a file that we write."""
SPARK_FORMAT = {formats.PARQUET_KEY: formats.number_of(KIND)}
"""Metadata of a column, by which Spark says the format: it writes no metadata of the file's own."""
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_SPARK_NUMBER = re.compile(f'"{re.escape(formats.PARQUET_KEY)}":([0-9]{{1,9}})'.encode())


def refuse_newer(part: Path, footer: pq.FileMetaData) -> None:
    """Refuse a file that a newer version wrote. Raises `NewerFormat`."""
    said = footer.metadata or {}
    number = said.get(formats.PARQUET_KEY.encode(), b"")
    if not number and (of_spark := _SPARK_NUMBER.search(said.get(_SPARK_SCHEMA, b""))):
        number = of_spark[1]
    if number.isdigit():
        formats.refuse_newer_number(KIND, part, int(number))
