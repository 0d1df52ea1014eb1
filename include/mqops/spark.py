"""`spark.read.format("mq")` in a Spark session of your own, after `register`. This is public: names and meaning stay.

1. `load(FOLDER)` or the option `run`: the messages of a snapshot. The rows of a row group of its files are a partition.
   Bodies that are encrypted stay so (`sealed`, and `masked`): everything else needs no key.
2. The option `queues`: the queues as they are now. They are browsed, a partition each, at each action. mqops takes
   nothing; the queue manager discards messages whose lifetime is over when a browse comes by them. The options are
   those of `mqops.observe.spark.datasource`.
3. Spark plans a read in a process of its own that does not see later changes of the environment. So the connection and
   the lake are looked up by `register`, and the connection travels in the pickled class, never in an option, which
   Spark's UI would show.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqops.errors import SettingsError
from mqops.lake.parquet import is_sealed, opened, parts_of
from mqops.lake.run import find_run
from mqops.lake.sealing import SEALED
from mqops.mq.connection import VARIABLE, MqConnection
from mqops.observe.snapshot import find
from mqops.observe.spark.datasource import MqReader
from mqops.observe.spark.schema import SNAPSHOT
from mqops.observe.spark.sealed import ENCRYPTED
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

NAME = "mq"
_ROWS = 10_000
"""Of a batch that a task reads at a time."""


@dataclass(frozen=True)
class RowGroup(InputPartition):
    """Neighbouring messages of a snapshot. Parameters: `group` number of the row group, from 0."""

    part: str
    group: int


class SnapshotReader(DataSourceReader):
    """Reads a snapshot on the executors, which must see its folder. Parameters: `names` of its columns."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._names = folder, tuple(names)

    def partitions(self) -> Sequence[InputPartition]:
        """One a row group; an empty one where there is none, as Spark needs one. Raises `LakeError`."""
        found = []
        for part in parts_of(self._folder):
            with opened(part, [name for name in self._names if name != SEALED]) as file:
                found += [RowGroup(part.name, group) for group in range(file.metadata.num_row_groups)]
        return found or [RowGroup("", 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a row group as record batches. Raises `LakeError`."""
        begin_task()
        assert isinstance(partition, RowGroup)
        if not partition.part:
            return
        with opened(self._folder / partition.part) as file:
            yield from file.batches(_ROWS, self._names, [partition.group])


class MqSource(DataSource):
    """The data source `mq`. `register` makes a class of it with these values."""

    connection: ClassVar[MqConnection | None]
    lake: ClassVar[Path | None]

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return NAME

    def schema(self) -> StructType:
        """The columns of docs/snapshots.md; with encrypted bodies, `sealed` in place of them. Raises as `reader`."""
        folder = self._folder()
        return ENCRYPTED if folder is not None and is_sealed(folder) else SNAPSHOT

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for the options given.

        Raises:
            SettingsError: an option is missing or wrong, or there is no connection or no such run.
            LakeError: the snapshot cannot be read.
        """
        folder = self._folder()
        if folder is not None:
            return SnapshotReader(folder, schema.fieldNames())
        connection = type(self).connection
        if connection is None:
            raise SettingsError(f"To browse queues set {VARIABLE} before `register`, or give `register` a connection")
        return MqReader(connection.to_json(), connection.queue_manager, dict(self.options), None, None)

    def _folder(self) -> Path | None:
        """The folder of the snapshot, None where queues are browsed."""
        chosen = _one_of(self.options)
        if chosen == "queues":
            return None
        return find(Path(self.options["path"]) if chosen == "path" else self._run(self.options["run"]))[1]

    def _run(self, key: str) -> Path:
        lake = self.options.get("lake") or type(self).lake
        if not lake:
            raise SettingsError("The option run needs the lake: say the option lake, or set MQOPS_LAKE or MQOPS_ESTATE")
        return find_run(Path(lake), key=key, queue_manager=self.options.get("queue_manager", "")).path


def _one_of(options: Mapping[str, str]) -> str:
    given = [name for name in ("path", "run", "queues") if options.get(name)]
    if len(given) != 1:
        said = f"not {' and '.join(given)}" if given else "none was said"
        raise SettingsError(f"The data source mq needs one of: load(FOLDER), option run, option queues; {said}")
    return given[0]


def register(spark: SparkSession, *, connection: MqConnection | None = None, lake: str | Path | None = None) -> None:
    """Make `spark.read.format("mq")` known to a session.

    Parameters: `connection` to browse with, None for that of MQOPS_CONNECTION, if it is set; `lake` in which runs are
    looked for, None for that of MQOPS_LAKE, else of the estate in MQOPS_ESTATE.

    Raises:
        SettingsError: MQOPS_CONNECTION or the estate is not valid.
    """
    if connection is None and os.environ.get(VARIABLE):
        connection = MqConnection.from_environment()
    bound = {"connection": connection, "lake": Path(lake) if lake is not None else _lake_here()}
    spark.dataSource.register(type("BoundMqSource", (MqSource,), bound))


def _lake_here() -> Path | None:
    if named := os.environ.get("MQOPS_LAKE"):
        return Path(named)
    if estate := os.environ.get("MQOPS_ESTATE"):
        from mqops.estate import load_usable  # noqa: PLC0415 - loads pydantic

        return load_usable(estate).lake(os.environ)
    return None
