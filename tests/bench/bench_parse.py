"""What Airflow's DAG processor needs for the DAG files of a large estate: 50, 100 and 200 queue managers, each with
four workflows and a rules table of its own.

Aims: 200 queue managers in 4 s of processor, imports of Airflow not counted; time grows with their number.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import mqops

EXAMPLE = Path(mqops.__file__).with_name("example")
NUMBERS = (50, 100, 200)
ROUNDS = 3
WORKFLOWS = """\
    dlq_rules: {{rules: rules/{name}.rules, schedule: "*/10 * * * *"}}
    backout_reprocess: {{rules: rules/{name}.rules, quarantine: MQOPS.QUARANTINE}}
    expiry_scan: {{interval: 8h}}
    snapshot_quality: {{suites: [expectations/suite.yaml]}}
"""
PARSE = """\
import sys, time
import mqops_airflow.dag_files.of_estate as of_estate
import mqops_airflow.workflows.pipeline
began = time.process_time()
dags = of_estate.estate_dags(sys.argv[1])
print(time.process_time() - began, len(dags))
"""


def estate(folder: Path, number: int) -> Path:
    """An estate file of so many queue managers, with its tables and suite."""
    (folder / "rules").mkdir(parents=True)
    (folder / "expectations").mkdir()
    suite = next(iter(sorted((EXAMPLE / "expectations").glob("*.yaml"))))
    (folder / "expectations" / "suite.yaml").write_text(suite.read_text())
    lines = "lake: lake\nqueue_managers:\n"
    for name in (f"QM{each:03}" for each in range(number)):
        (folder / "rules" / f"{name}.rules").write_text("ACTION(RETRY)\n")
        lines += f"  {name}:\n    connection: mq_{name.lower()}\n{WORKFLOWS.format(name=name)}"
    path = folder / "estate.yaml"
    path.write_text(lines)
    return path


def parsed(path: Path) -> tuple[float, int]:
    """Processor seconds, and how many DAGs there are."""
    environment = {**os.environ, "MQOPS_ESTATE": str(path), "MQOPS_LAKE": str(path.parent / "lake")}
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    seconds, dags = done.stdout.split()[-2:]
    return float(seconds), int(dags)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        paths = {number: estate(Path(folder) / str(number), number) for number in NUMBERS}
        best = dict.fromkeys(paths, (float("inf"), 0))
        for _round in range(ROUNDS):  # in turns
            best = {number: min(best[number], parsed(path)) for number, path in paths.items()}
    for number, (seconds, dags) in best.items():
        print(f"{number} queue managers, {dags} DAGs: {seconds:.2f} s of processor")
    few, *_, many = NUMBERS
    ratio = best[many][0] / best[few][0]
    print(f"{many // few} times as many queue managers take {ratio:.1f} times as long")
    return 0


if __name__ == "__main__":
    sys.exit(main())
