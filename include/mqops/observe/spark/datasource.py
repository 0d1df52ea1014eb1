"""The PySpark data source `mq`: browses queues into rows of `SNAPSHOT`, losing nothing.

1. One partition a queue. Several browsers of a queue would hide messages from other programs, miss some, and lose the
   order (docs/architecture.md, "One browser for each queue").
2. Credentials are not options (options are shown in the Spark UI): `register` binds the connection to the source, and
   the data key where bodies are encrypted. They travel to the executors inside the pickled reader. Each registration
   has a name of its own: runs of several queue managers share a session of Spark Connect, and a name that two of them
   used would read from the last one's.
3. Options: `queues` names with commas between; `queue_manager` must be the connection's, where given; `limit` most
   messages of each queue, 0 for all; `observed_at` ISO 8601 with time zone, the moment the rows are stamped with;
   `some_may_end` true: a queue that has ended has no more rows, and is no error.
4. What writes the rows where they are read must see the run's folder: else each executor would write to a disk of its
   own, and the snapshot would be empty.
5. Spark makes the source and plans the read in two processes, new ones each time, which import this module and what the
   reader has in it. So nothing that browses is imported above, the reader has the connection as text, and the source
   has its schema: 0.3 to 0.5 s of processor less for each snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqops.errors import SettingsError
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from mqops.lake.sealing import Sealing
    from mqops.mq.connection import MqConnection


@dataclass(frozen=True)
class QueuePartition(InputPartition):
    """One queue."""

    queue: str


class MqReader(DataSourceReader):
    """Browses the queues on the executors. Parameters: `connection` as `MqConnection.to_json` writes it, to
    `queue_manager`, blank for the default one."""

    def __init__(
        self,
        connection: str,
        queue_manager: str,
        options: Mapping[str, str],
        sealing: Sealing | None,
        folder: Path | None,
    ) -> None:
        wanted = options.get("queue_manager", "")
        if wanted and queue_manager and wanted != queue_manager:
            raise SettingsError(f"The connection is for {queue_manager}, the option queue_manager says {wanted}")
        self._connection, self._sealing, self._folder = connection, sealing, folder
        self._queues = tuple(name.strip() for name in options.get("queues", "").split(",") if name.strip())
        self._limit = _limit(options.get("limit", "0"))
        self._observed_at = _moment(options.get("observed_at", ""))
        self._some_may_end = options.get("some_may_end", "").lower() == "true"
        if not self._queues:
            raise SettingsError("The data source mq needs the option queues: names with commas between")

    def partitions(self) -> Sequence[InputPartition]:
        """One a queue."""
        return [QueuePartition(queue) for queue in self._queues]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a queue as record batches. Raises `MQError`, and `LakeError` as `refuse_unseen`."""
        from mqops.lake.run import RunFolder  # noqa: PLC0415 - all of them: rule 5
        from mqops.lake.shared import refuse_unseen  # noqa: PLC0415
        from mqops.lake.step import told_by_task  # noqa: PLC0415
        from mqops.mq.browse import browse, while_there  # noqa: PLC0415
        from mqops.mq.connection import MqConnection, connect  # noqa: PLC0415
        from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
        from mqops.observe.batches import record_batches  # noqa: PLC0415
        from mqops.observe.core.decode import Browsed  # noqa: PLC0415
        from mqops.observe.sealed import sealed  # noqa: PLC0415

        begin_task()
        assert isinstance(partition, QueuePartition)
        if self._folder is not None:
            refuse_unseen(self._folder, made_by="the task")
        with connect(MqConnection.from_json(self._connection)) as session:
            browsed = Browsed(
                queue_manager=queue_manager_name(session), queue=partition.queue, observed_at=self._observed_at
            )
            messages = browse(session, partition.queue, limit=self._limit)
            batches = record_batches(browsed, while_there(messages, may_end=self._some_may_end))
            if self._folder is not None:
                batches = told_by_task(RunFolder(self._folder), batches)
            yield from batches if self._sealing is None else sealed(self._sealing, batches)


class MqDataSource(DataSource):
    """The data source. `register` makes a class of it with these values."""

    connection: ClassVar[str]
    queue_manager: ClassVar[str]
    columns: ClassVar[StructType]
    registered: ClassVar[str]
    sealing: ClassVar[Sealing | None]
    folder: ClassVar[Path | None]

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return cls.registered

    def schema(self) -> StructType:
        """`SNAPSHOT`, or `ENCRYPTED` where bodies are."""
        return type(self).columns

    def reader(self, schema: StructType) -> MqReader:
        """The reader for the options given. Raises `SettingsError`."""
        one = type(self)
        return MqReader(one.connection, one.queue_manager, dict(self.options), one.sealing, one.folder)


def register(
    spark: SparkSession, connection: MqConnection, sealing: Sealing | None = None, *, folder: Path | None = None
) -> str:
    """Make a data source that browses on this connection; returns its name, for `spark.read.format`.

    Parameters: `sealing` encrypts the bodies, before Spark has them; None for no encryption; `folder` of the run that
    the rows are written to, None where they are not.
    """
    from mqops.observe.spark.schema import SNAPSHOT  # noqa: PLC0415 - rule 5
    from mqops.observe.spark.sealed import ENCRYPTED  # noqa: PLC0415

    name = f"mq_{uuid4().hex}"
    bound = {
        **{"connection": connection.to_json(), "queue_manager": connection.queue_manager},
        **{"columns": SNAPSHOT if sealing is None else ENCRYPTED, "registered": name},
        **{"sealing": sealing, "folder": folder},
    }
    spark.dataSource.register(type("BoundMqDataSource", (MqDataSource,), bound))
    return name


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise SettingsError(f"The option limit is {text!r}; it must be a number of messages, 0 for all")
    return int(text)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text) if text else datetime.now(UTC)
    except ValueError:
        raise SettingsError(f"The option observed_at is {text!r}; it must be a time in ISO 8601") from None
    if moment.tzinfo is None:
        raise SettingsError(f"The option observed_at is {text!r}; it needs a time zone")
    return moment
