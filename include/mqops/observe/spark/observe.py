"""Observe with Spark: queues browsed by the executors, written as Parquet, brought to disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mqops.clock import utc_now
from mqops.lake.files import written_anew
from mqops.lake.parquet import SPARK_FORMAT, SPARK_ROW_GROUPS
from mqops.lake.run import RunFolder
from mqops.lake.step import Step
from mqops.ledger.file import LedgerFile
from mqops.model import ObserveSummary
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import base_queue_if_known, gone_of, queue_manager_name, settled_queues, still_settled
from mqops.mq.named_queue import usable_dead_letter_queue
from mqops.observe import snapshot
from mqops.observe.expired import discarded, known_depth, states_of
from mqops.observe.sealed import sealing_for
from mqops.observe.spark.datasource import register
from mqops.observe.spark.schema import SNAPSHOT
from mqops.observe.statistics import count_puts_and_gets
from mqops.observe.unseen import unseen
from mqops.spark_job import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def observe(
    spark: SparkSession,
    connection: MqConnection,
    run: RunFolder,
    queues: Sequence[str] = (),
    *,
    limit: int = 0,
    some_may_end: bool = False,
) -> ObserveSummary:
    """Take a run's snapshot; writes RUN/snapshot and RUN/observe.json.

    Parameters: `queues` names, none for the queue manager's DEADQ; `limit` most messages of each queue, 0 for all;
    `some_may_end` whether nobody named the queues, so that one that has ended since is passed over.

    Raises:
        MQError: the queue manager or a queue cannot be reached. Nothing was changed.
        LakeError, SettingsError: the snapshot cannot be kept.
    """
    snapshot.begin(run)
    observed_at = utc_now()
    with connect(connection) as session:
        name = queue_manager_name(session)
        count_puts_and_gets(session, run.lake_folder.parent, name)
        names = tuple(queues) or (usable_dead_letter_queue(session),)
        at_first = gone_of(session, names) if some_may_end else ()
        for queue in names:  # an error here is one line, an executor's is a page
            if queue not in at_first:
                session.close(session.open(queue, OPEN_OPTIONS))
        before, settled = states_of(session, names), settled_queues(session, names)
    source = register(spark, connection, sealing_for(run), folder=run.path)
    options: dict[str, str | int] = {
        "queues": ",".join(names),
        "limit": limit,
        "observed_at": observed_at,
        "some_may_end": some_may_end,
    }
    write_snapshot(spark, run, source, options, expected=known_depth(before, limit))
    with connect(connection) as session:
        expired = discarded(before, states_of(session, names))
        settled = still_settled(session, settled)
        gone = gone_of(session, names) if some_may_end else ()
        return snapshot.finish(
            run,
            name,
            names,
            observed_at,
            whole=not limit,
            expired=expired,
            gone=gone,
            settled=settled,
            ledger=LedgerFile(run.lake_folder),
            unseen=partial(unseen, session),
            base=partial(base_queue_if_known, session),
        )


def write_snapshot(
    spark: SparkSession, run: RunFolder, source: str, options: Mapping[str, str | int], *, expected: int
) -> None:
    """Write RUN/snapshot, which `snapshot.finish` makes durable.

    Parameters: `source` name of a data source that gives rows of `SNAPSHOT` for these options; `expected` messages, 0
    where that is not known.

    Raises:
        MqopsError: what the source raised.
        LakeError: the disk refused.
    """
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # INT96 has no zone
    rows = spark.read.format(source).options(**options).load()
    told = Step(run, "observe", expected)
    with written_anew(run.snapshot) as place, spark_errors(run.snapshot), told, told.heard_from_tasks():
        noted = rows.withMetadata(SNAPSHOT.names[0], SPARK_FORMAT)  # known: to ask Spark for it is to analyze twice
        noted.write.options(compression="zstd", **SPARK_ROW_GROUPS).parquet(str(place))
