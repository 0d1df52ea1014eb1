"""Browse queues so that the queue manager discards what has expired: RUN/expiry.json."""

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
    parser.add_argument("--queue", action="append", required=True, help="a queue; may be repeated")
    given = parser.parse_args(arguments)

    from mqops.errors import SettingsError  # noqa: PLC0415
    from mqops.expiry.spark.expiry import scan  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.mq.connection import MqConnection  # noqa: PLC0415

    connection = MqConnection.from_environment()
    if given.queue_manager and given.queue_manager != connection.queue_manager:
        raise SettingsError(f"The connection is for {connection.queue_manager}, not for {given.queue_manager}")
    scan(session("mqops expiry"), connection, RunFolder(given.run), given.queue)


if __name__ == "__main__":
    sys.exit(run(main))
