"""`mqops message find` in a large snapshot: Spark looks, and standard error has its progress."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqops.cli.passes import warn
from mqops.cli.spark_log import spark_log_in
from mqops.counted import counted
from mqops.errors import LakeError
from mqops.printable import printable
from mqops.spark_job import session

if TYPE_CHECKING:
    from mqops.lake.parquet import Chunk
    from mqops.look.core.criteria import Criteria
    from mqops.look.find import Counts, CountsOf


@contextmanager
def spark_help(snapshot: Path, wanted: Criteria, queues: Sequence[str]) -> Iterator[CountsOf | None]:
    """What `find_recorded` may ask behind the beginning of a large snapshot; None for a snapshot that is not large.

    Spark is started when it is asked first: in this process, or where SPARK_REMOTE names a Spark Connect server, there.
    If it fails, standard error says why, and this process looks at the rest alone.

    Raises:
        LakeError: the snapshot cannot be read.
    """
    from mqops.lake.parquet import chunks  # noqa: PLC0415
    from mqops.look import find  # noqa: PLC0415

    messages = sum(chunk.rows for chunk in chunks(snapshot, find.CHUNK))
    if messages <= find.LARGE:
        yield None
        return
    with ExitStack() as stack:
        spark: list[Any] = []

        def counts(these: Sequence[Chunk]) -> list[Counts] | None:
            from mqops.look.spark_counts import spark_counts  # noqa: PLC0415

            try:
                if not spark:
                    warn(f"the snapshot has {counted(messages, 'message')}: Spark starts, which takes some seconds")
                    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mqops-"))
                    stack.enter_context(spark_log_in(Path(folder, "spark.log")))
                    spark.append(session("mqops message find"))
                found = spark_counts(spark[0], snapshot, wanted, queues, these)
            except LakeError:
                raise
            except Exception as error:
                why = (str(error).strip() or type(error).__name__).splitlines()[0]
                warn(f"Spark failed: {printable(why)}. This process looks at the rest alone, which takes longer")
                return None
            fitting = sum(one.fitting for one in found)
            warn(f"{sum(chunk.rows for chunk in these):,} more looked at, {fitting:,} of them fit")
            return found

        yield counts
