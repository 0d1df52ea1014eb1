"""Take a run's snapshot. The connection comes from MQOPS_CONNECTION."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mqops.spark_job import run, session


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, type=Path, help="the run's folder in the lake")
    parser.add_argument("--queue-manager", default="", help="must be the connection's, where given")
    parser.add_argument("--queue", action="append", default=[], help="a queue; may be repeated; none: DEADQ")
    parser.add_argument("--limit", type=int, default=0, help="most messages of each queue; 0: all")
    parser.add_argument("--some-may-end", action="store_true", help="pass over queues that have ended")
    given = parser.parse_args(arguments)

    from mqops.errors import SettingsError  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.mq.connection import MqConnection  # noqa: PLC0415
    from mqops.observe.spark.observe import observe  # noqa: PLC0415

    connection = MqConnection.from_environment()
    if given.queue_manager and given.queue_manager != connection.queue_manager:
        raise SettingsError(f"The connection is for {connection.queue_manager}, not for {given.queue_manager}")
    options = {"limit": given.limit, "some_may_end": given.some_may_end}
    observe(session("mqops observe"), connection, RunFolder(given.run), given.queue, **options)


if __name__ == "__main__":
    sys.exit(run(main))
