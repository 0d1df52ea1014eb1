"""Act on a run's plan, or finish what an earlier execution began. The connection comes from MQOPS_CONNECTION; the
people who asked and approved, and what was said then, from MQOPS_ABOUT: for the ledger."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mqops.spark_job import run, session


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, type=Path, help="the run's folder in the lake")
    parser.add_argument("--plan-digest", default="", help="the approved plan's digest; any other plan is refused")
    parser.add_argument("--unit-size", type=int, default=200, help="most messages a unit of work")
    parser.add_argument("--lanes", type=int, default=16, help="how many destinations are served side by side")
    given = parser.parse_args(arguments)

    from mqops.act.spark.act import act  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.ledger.core.marker import VARIABLE, about_from_json  # noqa: PLC0415
    from mqops.mq.connection import MqConnection  # noqa: PLC0415

    act(
        session("mqops act"),
        MqConnection.from_environment(),
        RunFolder(given.run),
        unit_size=given.unit_size,
        lanes=given.lanes,
        approved=given.plan_digest,
        about={"requested_by": "", "approved_by": "", **about_from_json(os.environ.get(VARIABLE, "{}"))},
    )


if __name__ == "__main__":
    sys.exit(run(main))
