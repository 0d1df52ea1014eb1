"""A snapshot in pieces, which Spark's Python workers read themselves, each as `mqops.quality.frame_here` reads a whole
one. Java would read every row, and hand it on to the worker: that takes longer than all that is done with it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from mqops.lake.parquet import is_sealed
from mqops.lake.row_groups import Chunk
from mqops.lake.sealing import Sealing, run_of, sealing_of
from mqops.quality.answers import needs_body
from mqops.quality.columns import COLUMNS, problem_of
from mqops.quality.frame_here import frame_of_piece, no_rows, pieces_of
from mqops.quality.payload import Asked
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 200_000
"""Messages of a piece at most, about, where bodies are not read. A task costs a tenth of a second before it begins."""
ROWS_WITH_BODIES = 50_000
"""The same where they are read, which takes a second: with larger ones the last tasks would not end together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A snapshot in pieces. It travels to Spark's workers pickled, with the data key of its bodies if they are read.

    Attributes: `wanted` and `asked` columns as of `frame_here`; `sealing` None where nothing is decrypted.
    """

    folder: Path
    pieces: tuple[Chunk, ...]
    wanted: frozenset[str]
    asked: tuple[Asked, ...]
    sealing: Sealing | None

    def mapped(self, spark: SparkSession, work: Callable[[pa.Table], pa.Table], schema: pa.Schema) -> DataFrame:
        """What `work` makes of the table of each piece, a task a piece. Parameters: `schema` of what it makes."""
        number = len(self.pieces)
        return spark.range(0, number, 1, max(number, 1)).mapInArrow(_Task(self, work), from_arrow_schema(schema))

    def columns(self, spark: SparkSession, names: Sequence[str]) -> pa.Table:
        """Some of the columns, of all messages. Raises as `spark_errors`."""
        columns = list(dict.fromkeys(names))
        asked = tuple(one for one in self.asked if {one.column.name, problem_of(one.column.name)} & {*columns})
        only = pieces(self.folder, COLUMNS.keys() & {*columns}, asked)
        schema = no_rows(only.wanted, only.asked).select(columns).schema
        return only.mapped(spark, lambda table: table.select(columns), schema).toArrow().combine_chunks()


def pieces(folder: Path, wanted: Iterable[str], asked: tuple[Asked, ...]) -> Pieces:
    """The pieces of a snapshot.

    Raises:
        SettingsError: the Parquet files there are something else, or what is in the place of the keys is not keys.
        LakeError: they cannot be read, or RUN/bodies.json is not there or was changed.
        BodiesLocked: bodies are read, and this process does not have their key.
    """
    names, folder = frozenset(wanted), folder.absolute()  # a worker has a working directory of its own
    bodies = needs_body(names, asked)
    found = pieces_of(folder, ROWS_WITH_BODIES if bodies else ROWS)
    return Pieces(
        folder=folder,
        pieces=found,
        wanted=names,
        asked=asked,
        sealing=sealing_of(run_of(folder)) if bodies and is_sealed(folder) else None,
    )


@dataclass(frozen=True)
class _Task:
    """What a Spark task does: its rows are the numbers of pieces."""

    of: Pieces
    work: Callable[[pa.Table], pa.Table]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        of = self.of
        for batch in batches:
            for number in batch.column(0).to_pylist():
                table = frame_of_piece(of.folder, of.pieces[number], of.wanted, of.asked, of.sealing)
                yield from self.work(table).combine_chunks().to_batches()
