"""Decide what is to become of each message of a run's snapshot: RUN/plan and RUN/plan.json."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mqops.decide.core.pacing import NO_LIMITS, OF_RUN, Pacing
from mqops.spark_job import run, session


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, type=Path, help="the run's folder in the lake")
    parser.add_argument("--rules", required=True, type=Path, help="the rules table")
    parser.add_argument("--workflow", default="dlq_rules", help="what the plan is for")
    parser.add_argument("--limit", type=int, default=0, help="most messages, the first in browse order; 0: all")
    parser.add_argument("--message-id", action="append", default=[], help="only this MsgId (48 hex digits); may repeat")
    for name in OF_RUN:
        default = getattr(NO_LIMITS, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, help="mqops.decide.core.pacing")
    given = parser.parse_args(arguments)

    from mqops.decide.spark.decide import Request, decide, message_id  # noqa: PLC0415
    from mqops.deciders.gate import ask_gate  # noqa: PLC0415
    from mqops.given_file import table_text  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415

    ask_gate(RunFolder(given.run))  # before the JVM: a run that is stopped needs none
    request = Request(
        folder=RunFolder(given.run),
        table_text=table_text(given.rules),
        table_source=given.rules.name,
        workflow=given.workflow,
        limit=given.limit or None,
        message_ids=tuple(message_id(text) for text in given.message_id),
        pacing=Pacing(**{name: getattr(given, name) for name in OF_RUN}),
    )
    decide(session("mqops decide"), request)


if __name__ == "__main__":
    sys.exit(run(main))
