"""A snapshot as Spark reads it, for a quality run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.errors import LakeError, SettingsError
from mqops.lake.parquet import refuse_newer_folder
from mqops.quality.answers import needs_body
from mqops.quality.suite import Suite, asked_by, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqops.quality.files import QualityFiles


def frame_for(spark: SparkSession, files: QualityFiles, suites: Sequence[Suite]) -> DataFrame:
    """The rows that suites are about, not cached. Raises as `read_snapshot`."""
    from mqops.quality.frame import frame_of  # noqa: PLC0415

    spark.conf.set("spark.sql.session.timeZone", "UTC")
    columns, asked = columns_of(suites), asked_by(suites)
    snapshot = read_snapshot(spark, files.snapshot, needs_body=needs_body(columns, asked))
    return frame_of(snapshot, columns, asked)


def read_snapshot(spark: SparkSession, folder: Path, *, needs_body: bool = True) -> DataFrame:
    """The snapshot in a folder.

    Parameters: `needs_body` whether the bodies are read; without them no key is needed.

    Raises:
        SettingsError: the Parquet files there are something else.
        LakeError: they cannot be read, or decrypted.
    """
    from mqops.observe.spark import sealed  # noqa: PLC0415

    with unreadable(folder):
        there = {field.name: field.dataType for field in spark.read.parquet(str(folder)).schema}
    refuse_newer_folder(folder)
    stored = sealed.schema_of(there)
    wrong = [field.name for field in stored if there.get(field.name) != field.dataType]
    if wrong:
        raise SettingsError(
            f"{folder} is not a snapshot of this version of mqops: missing or of another type: {', '.join(wrong)}"
        )
    return sealed.read_snapshot(spark, folder, ["body"] if needs_body else [])


@contextmanager
def unreadable(folder: Path) -> Iterator[None]:
    """Turn Spark's errors of reading files into `LakeError`; others stay as they are."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if "FAILED_READ_FILE" not in str(error) and "UNABLE_TO_INFER_SCHEMA" not in str(error):
            raise
        raise LakeError(f"The snapshot {folder} cannot be read; restore its files, or take a new one") from error
