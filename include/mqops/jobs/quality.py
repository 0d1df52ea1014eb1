"""Check a run's snapshot against suites of expectations. Touches no queue and needs no connection."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqops.spark_job import run, session


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, type=Path, help="the run's folder in the lake")
    parser.add_argument("--suite", required=True, action="append", type=Path, help="a file; may be repeated")
    parser.add_argument("--docs", type=Path, help="folder for Data Docs; default: beside the result")
    given = parser.parse_args(arguments)

    from mqops.clock import utc_now  # noqa: PLC0415
    from mqops.quality.check_snapshot import check_snapshot  # noqa: PLC0415
    from mqops.quality.files import QualityFiles  # noqa: PLC0415
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    suites = load_suites(given.suite)  # before the JVM: a broken suite is told at once
    place = QualityFiles.of(given.run, by_workflow=True)
    place = replace(place, docs=given.docs or place.own_docs)
    check_snapshot(place, suites, now=utc_now(), session=lambda: session("mqops quality"))


if __name__ == "__main__":
    sys.exit(run(main))
